// The keys of channels. The service makes them and stores them sealed; the holder of the lane opens them.
import { Effect, Option, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { accountOf } from "../../../domain/transaction/stellar/StrKey.ts"
import type { LaneLedger } from "../../ledger/LaneLedger.ts"
import * as LocalKey from "../../signers/backends/LocalKey.ts"
import type { SignerBackend } from "../../signers/backends/SignerBackend.ts"
import { SigningFailed } from "../LaneNetwork.ts"

const seedLength = 32

const addressOf = (backend: SignerBackend) => Effect.orDie(Effect.map(backend.publicKey("ed25519"), accountOf))

/** A new key, and the address of its account. */
export const generate = Effect.fnUntraced(function* ({ randomBytes }: SecureRandom.SecureRandom["Service"]) {
  const seed = Redacted.make(Hex.encode(yield* randomBytes(seedLength)))
  return { address: yield* addressOf(LocalKey.make(seed)), seed }
})

const unusable = (address: string) =>
  new SigningFailed({
    code: "row_changed",
    message: `the key of the channel ${address} is not what the service stored`
  })

/** Keeps opened keys as long as this process holds the lane. */
export const make = ({ channelSeed }: Pick<LaneLedger["Service"], "channelSeed">) => {
  const opened = new Map<string, SignerBackend>()

  const open = Effect.fnUntraced(function* (address: string) {
    const seed = yield* channelSeed(address)
    if (Option.isNone(seed)) return yield* unusable(address)
    const backend = LocalKey.make(seed.value)
    if ((yield* addressOf(backend)) !== address) return yield* unusable(address)
    opened.set(address, backend)
    return backend
  })

  const sign = Effect.fn("ChannelKeys.sign")(function* (address: string, hash: Uint8Array) {
    const backend = opened.get(address) ?? (yield* open(address))
    return { address, signature: yield* Effect.orDie(backend.sign("ed25519", hash)) }
  })

  return { sign }
}
export type ChannelKeys = ReturnType<typeof make>
