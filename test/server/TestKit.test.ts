// The contract suite of the test kit on the real service, with its jobs and a database, over the same chain by `TestChain.access`. The service
// works by the clock of the machine, and so the chain makes its blocks by it.
import { layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { Networks, Outbound, Services, SignerBackends } from "../../src/index.ts"
import { evm } from "../../src/networks/evm/index.ts"
import { solana } from "../../src/networks/solana/index.ts"
import { stellar } from "../../src/networks/stellar/index.ts"
import { TestChain } from "../../src/testkit/index.ts"
import type { TestNetwork } from "../../src/testkit/index.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { statementsOn } from "../testkit/host/Contract.ts"

/** The real service on the chain of a network, which a host program has created. */
const hostOf = (network: TestNetwork) => {
  const services = Services.layerNoDeps({
    networks: [evm, solana, stellar],
    masterKey: Redacted.make(TestApi.masterKey),
    healthCheckInterval: "1 hour"
  }).pipe(
    Layer.provide([TestChain.access, SignerBackends.layer]),
    Layer.provideMerge(TestChain.layer(network)),
    Layer.provide(Outbound.layer()),
    Layer.provide(TestDatabase.layer)
  )
  const withNetwork = Layer.effectDiscard(
    Effect.gen(function* () {
      yield* (yield* Networks).create(yield* TestChain.createNetwork)
    })
  )
  return withNetwork.pipe(Layer.provideMerge(services), Layer.provideMerge(Logger.layer([])))
}

const networks = [
  TestChain.evm({ blockTime: "1 second", confirmations: 1 }),
  // A blockhash dies within four seconds.
  TestChain.solana({ blockTime: "20 millis" }),
  TestChain.stellar({ blockTime: "1 second" })
] as const

for (const network of networks) {
  layer(hostOf(network), { excludeTestServices: true })(
    `the contract of the test kit, on the real service with ${network.type}`,
    (it) => {
      for (const [name, statement] of statementsOn(network.type)) it.effect(name, () => statement)
    }
  )
}
