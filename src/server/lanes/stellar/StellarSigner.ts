// Signs for stellar lanes. The guard reads the final bytes. If it refuses them, nothing is signed.
import { Clock, Effect, Result } from "effect"
import { leftOf } from "../../../domain/transaction/stellar/Channels.ts"
import type { Envelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import { workRefusal } from "../../../domain/transaction/stellar/GuardChannels.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { ChannelWork, Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { channelInnerFee } from "../../../domain/transaction/stellar/StellarOffers.ts"
import { onChannel, workOf } from "../../chains/stellar/StellarChannels.ts"
import { decodeWith } from "../../chains/stellar/StellarDecoding.ts"
import type { Unsigned as UnsignedEnvelope } from "../../chains/stellar/StellarEncoding.ts"
import { bumped, withSignatures } from "../../chains/stellar/StellarEnvelopes.ts"
import type { Signature } from "../../chains/stellar/StellarEnvelopes.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library, textOf } from "../../chains/stellar/StellarLibrary.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import { isSignedBy, networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { wrongKey } from "../LaneNetwork.ts"
import type { LaneKeys, SignedBytes, Unsigned } from "../LaneNetwork.ts"
import type { ChannelKeys } from "./ChannelKeys.ts"
import { unsignedOf } from "./StellarBuilding.ts"
import type { StellarContext } from "./StellarContext.ts"
import { modeOf } from "./StellarPreparing.ts"

type Signing = Unsigned<Stellar>

interface Parts extends Pick<StellarContext, "address" | "ownAccounts"> {
  /** The key of the relayer. */
  readonly own: LaneKeys
  readonly channelKeys: ChannelKeys
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The guard allowed the draft before the decision. A refusal here is a defect: the final bytes differ from the draft. */
const refused = ({ code }: Refusal) => Effect.die(new Error(`is not signed: ${code}`))

const bytesOf = (lib: Library, { envelope, hash }: UnsignedEnvelope, signatures: ReadonlyArray<Signature>) => ({
  hash: hexOf(hash),
  raw: withSignatures(lib, envelope, signatures).toXdr()
})

export const make = ({ address, channelKeys, own, ownAccounts }: Parts) => {
  const byRelayer = Effect.fnUntraced(function* ({ relayer }: Signing, hash: Uint8Array) {
    const { signature, isChecked } = yield* own.sign(relayer.signerId, hash)
    if (!isChecked && !isSignedBy(address, hash, signature)) return yield* wrongKey()
    return { address, signature } satisfies Signature
  })

  /** The envelope, with the accounts of the service that it names. */
  const read = Effect.fnUntraced(function* (lib: Library, { relayer }: Signing, text: string) {
    const accounts = yield* ownAccounts({ text })
    const networkId = networkIdOf(relayer.target.network.passphrase)
    return { accounts, decoded: decodeWith(lib, text, { networkId, known: accounts }) }
  })

  /** `text`: the envelope for the guard. `channel`: the channel whose sequence it uses. Absent: it uses that of the relayer. */
  const check = Effect.fnUntraced(function* (lib: Library, signing: Signing, text: string, channel?: string) {
    const { place, relayer, request = {}, sign } = signing
    const { accounts, decoded } = yield* read(lib, signing, text)
    const terms = {
      ...termsOf(lib, {
        target: relayer.target,
        own: accounts,
        maxFee: request.max_fee,
        now: yield* Clock.currentTimeMillis
      }),
      ...present("channel", channel)
    }
    const guarded = Result.flatMap(decoded, (envelope: Envelope) =>
      guard(modeOf(request, place.sequence === undefined), envelope, terms)
    )
    if (Result.isFailure(guarded)) return yield* refused(guarded.failure)
    if (sign.offer.fee > terms.cap) return yield* Effect.die(new Error("is not signed: its fee is above the cap"))
  })

  const build = ({ place, relayer, request = {}, sign: { offer } }: Signing) =>
    unsignedOf(address, request, place, offer, networkIdOf(relayer.target.network.passphrase))

  /** An envelope of the relayer's own account, or a fee bump around a guest's envelope. The guard reads what the guest signed. */
  const signOwn = Effect.fnUntraced(function* (lib: Library, signing: Signing) {
    const { place, request = {} } = signing
    const unsigned = yield* build(signing)
    yield* check(lib, signing, place.sequence === undefined ? (request.transaction_xdr ?? "") : unsigned.envelope)
    return bytesOf(lib, unsigned, [yield* byRelayer(signing, unsigned.hash)])
  })

  /** The channel is the source of the inner envelope. The relayer acts in its operations, and pays with a fee bump around it. */
  const signOnChannel = Effect.fnUntraced(function* (lib: Library, signing: Signing) {
    const { relayer, sign } = signing
    const { offer } = sign
    const channel = signing.place.account
    const networkId = networkIdOf(relayer.target.network.passphrase)
    const { envelope } = yield* build(signing)
    const fee = (operations: number) => channelInnerFee(operations, offer.resourceFee ?? 0n)
    const inner = onChannel(lib, envelope, { relayer: address, channel, fee }, networkId)
    yield* check(lib, signing, inner.envelope, channel)
    const signatures = [
      yield* channelKeys.sign(channel, inner.hash),
      ...(inner.needsRelayer ? [yield* byRelayer(signing, inner.hash)] : [])
    ]
    const signed = textOf(withSignatures(lib, inner.envelope, signatures))
    const outer = bumped(lib, signed, { feeSource: address, fee: offer.fee }, networkId)
    const bytes = bytesOf(lib, outer, [yield* byRelayer(signing, outer.hash)])
    return { ...bytes, offer: { ...offer, innerHash: hexOf(inner.hash) } }
  })

  /**
   * Each channel signs before the relayer. The relayer is a signer of the channel: if it signed first, the channel's signature
   * would be superfluous, and nodes refuse an envelope with a superfluous signature.
   */
  const signWork = Effect.fnUntraced(function* (lib: Library, signing: Signing, work: ChannelWork) {
    const { place, relayer, sign } = signing
    const { fee, maxTime } = sign.offer
    const networkId = networkIdOf(relayer.target.network.passphrase)
    const given = { sequence: place.sequence ?? 0n, fee, maxTime: BigInt(maxTime) }
    const unsigned = workOf(lib, address, work, given, networkId)
    const { decoded } = yield* read(lib, signing, unsigned.envelope)
    const broken = Result.match(decoded, {
      onFailure: (refusal) => refusal,
      onSuccess: (envelope) => workRefusal(envelope, work, address)
    })
    if (broken !== undefined) return yield* refused(broken)
    const signatures = yield* Effect.forEach(work.addresses, (channel) => channelKeys.sign(channel, unsigned.hash))
    return bytesOf(lib, unsigned, [...signatures, yield* byRelayer(signing, unsigned.hash)])
  })

  return Effect.fn("StellarLane.sign")(function* (signing: Signing) {
    const { lane, place, request } = signing
    const lib = yield* library
    const work = request?.channels
    if (work !== undefined) return (yield* signWork(lib, signing, leftOf(work, lane))) satisfies SignedBytes<Stellar>
    const isOnChannel = place.sequence !== undefined && place.account !== address
    const signed: SignedBytes<Stellar> = yield* isOnChannel ? signOnChannel(lib, signing) : signOwn(lib, signing)
    return signed
  })
}
