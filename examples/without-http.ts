// Calls the services without HTTP: creates a signer and a relayer, lists the relayers, and ends.
//
//   npm run example examples/without-http.ts
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { Relayers, Services, Signers, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"

export const program = Effect.gen(function* () {
  const signers = yield* Signers
  const relayers = yield* Relayers

  const signer = yield* signers.create({ type: "plain" })
  const { value: relayer } = yield* relayers.create({
    name: "Payouts",
    network: "sepolia",
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
  // This program ends before a background job would have anything to do.
  const services = Services.layerNoAuthentication({
    networks: [evm, solana, stellar],
    masterKey: Redacted.make(new Uint8Array(32).fill(1)),
    jobs: false
  })
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/without-http" })
  program.pipe(Effect.provide(Layer.provide(services, database)), NodeRuntime.runMain)
}
