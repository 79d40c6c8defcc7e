// Keeps the private keys of `plain` signers in a store of the host program. The service stores only the name of a key there.
//
//   npm run example examples/own-signer.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { ChainAccess, Outbound, Services, SignerBackends, SignerUnavailable, Signers, Sql } from "effect-relayer"
import type { SignerKind } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"
import { BadRequest } from "effect-relayer/domain"
import { randomBytes, randomUUID } from "node:crypto"

/** A real host program asks its key management here. */
const store = new Map<string, Redacted.Redacted>()

const missing = new SignerUnavailable({ reason: "not_found", message: "the key store has no such key" })

/** The backend `plain` signs with the key that it gets, so this example only changes where the key is stored. */
const inStore = (plain: SignerKind<"plain">): SignerKind<"plain"> => ({
  column: "key",
  worksOutside: true,
  prepare: (config) =>
    config?.key === undefined
      ? Effect.sync(() => {
          const name = randomUUID()
          store.set(name, Redacted.make(randomBytes(32).toString("hex")))
          return { config: {}, secret: Redacted.make(name) }
        })
      : Effect.fail(new BadRequest({ error: "config.key: keys are made in the key store; leave it out" })),
  open: ({ secret: name }) => {
    const opened = Effect.suspend(() => {
      const secret = store.get(Redacted.value(name))
      return secret === undefined ? Effect.fail(missing) : Effect.succeed(plain.open({ config: {}, secret }))
    })
    return {
      curves: ["secp256k1", "ed25519"],
      publicKey: (curve) => Effect.flatMap(opened, (key) => key.publicKey(curve)),
      sign: (curve, message) => Effect.flatMap(opened, (key) => key.sign(curve, message))
    }
  }
})

const signers = Layer.effect(
  SignerBackends,
  Effect.map(SignerBackends, (backends) => SignerBackends.of({ ...backends, plain: inStore(backends.plain) }))
).pipe(Layer.provide(SignerBackends.layer))

/** Requires a database. */
export const services = (masterKey: Services.Options["masterKey"]) =>
  Services.layerNoDeps({ networks: [evm, solana, stellar], masterKey, jobs: false }).pipe(
    Layer.provide([ChainAccess.layer, signers]),
    Layer.provide(Outbound.layer())
  )

/** Returns what it has printed. */
export const program = Effect.gen(function* () {
  const signers = yield* Signers
  const { id } = yield* signers.create({ type: "plain" })
  const before = yield* signers.verify(id)
  store.clear()
  const after = yield* signers.verify(id)
  const lines = [`verified: ${before.verified}`, `without its key: ${after.steps[0]?.message}`]
  for (const line of lines) yield* Console.log(line)
  return lines
})

if (import.meta.main) {
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-signer" })
  const layer = services(Redacted.make(new Uint8Array(32).fill(1))).pipe(Layer.provide(database))
  program.pipe(Effect.provide(layer), NodeRuntime.runMain)
}
