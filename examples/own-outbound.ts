// Restricts which hosts URLs of users may point to: webhooks, RPC URLs and Vault only reach hosts of this company.
//
//   npm run example examples/own-outbound.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { ChainAccess, Notifications, Outbound, Services, SignerBackends, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"

/** The policy of the service still applies: addresses that are not public are refused. */
const outbound = Outbound.layerRestricted((url) =>
  url.hostname.endsWith(".example.com") ? undefined : "points to a host that is not ours"
).pipe(Layer.provide(Outbound.layer()))

/** Requires a database. */
export const services = (masterKey: Services.Options["masterKey"]) =>
  Services.layerNoDeps({ networks: [evm, solana, stellar], masterKey, jobs: false }).pipe(
    Layer.provide([ChainAccess.layer, SignerBackends.layer]),
    Layer.provide(outbound)
  )

/** Returns what it has printed. */
export const program = Effect.gen(function* () {
  const notifications = yield* Notifications
  const create = (url: string) =>
    notifications.create({ type: "webhook", url }).pipe(
      Effect.map(() => `created for ${url}`),
      Effect.catch((error) => Effect.succeed(error.message)),
      Effect.tap(Console.log)
    )
  return [yield* create("https://hooks.example.com/relayer"), yield* create("https://hooks.example.org/relayer")]
})

if (import.meta.main) {
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-outbound" })
  const layer = services(Redacted.make(new Uint8Array(32).fill(1))).pipe(Layer.provide(database))
  program.pipe(Effect.provide(layer), NodeRuntime.runMain)
}
