// Calls the services, with no HTTP between: makes a signer and a relayer, lists the relayers, and ends.
// Yours imports from "effect-relayer" what comes from "../src/index.ts" here, and from "effect-relayer/domain/network/Network"
// what comes from "../src/domain/network/Network.ts".
//
//   node examples/without-http.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { NetworkName } from "../src/domain/network/Network.ts"
import { Relayers, Services, Signers, Sql } from "../src/index.ts"

export const program = Effect.gen(function* () {
  const signers = yield* Signers
  const relayers = yield* Relayers

  const signer = yield* signers.create({ type: "plain" })
  const { value: relayer } = yield* relayers.create({
    name: "Payouts",
    network: NetworkName.make("sepolia"),
    network_type: "evm",
    paused: false,
    signer_id: signer.id,
    policies: { min_balance: 10n ** 18n }
  })

  const { items, total } = yield* relayers.list({ page: 1, per_page: 10 })
  yield* Console.log(`${total} relayers, of which the first ${items.length}:`)
  for (const { id, network, address } of items) yield* Console.log(`  ${id} on ${network}: ${address}`)
  return relayer
})

if (import.meta.main) {
  // It ends before there is anything to do in the background.
  const services = Services.layerNoAuthentication({
    masterKey: Redacted.make(new Uint8Array(32).fill(1)),
    workers: false
  })
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/without-http" })
  program.pipe(Effect.provide(Layer.provide(services, database)), NodeRuntime.runMain)
}
