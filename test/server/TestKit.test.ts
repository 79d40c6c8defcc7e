// The contract suite of the test kit on the real service, with its jobs and a database, over the same chain by `TestChain.access`. The service
// works by the clock of the machine, and so the chain makes its blocks by it.
import { layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { Networks, Outbound, Services, SignerBackends } from "../../src/index.ts"
import { evm } from "../../src/networks/evm/index.ts"
import { TestChain } from "../../src/testkit/index.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { statements } from "../testkit/host/Contract.ts"

const services = Services.layerNoDeps({
  networks: [evm],
  masterKey: Redacted.make(TestApi.masterKey),
  healthCheckInterval: "1 hour"
}).pipe(
  Layer.provide([TestChain.access, SignerBackends.layer]),
  Layer.provideMerge(TestChain.layer(TestChain.evm({ blockTime: "1 second", confirmations: 1 }))),
  Layer.provide(Outbound.layer()),
  Layer.provide(TestDatabase.layer)
)

/** The network of the chain, as a host program creates it. */
const withNetwork = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* (yield* Networks).create(yield* TestChain.createNetwork)
  })
)

const host = withNetwork.pipe(Layer.provideMerge(services), Layer.provideMerge(Logger.layer([])))

layer(host, { excludeTestServices: true })("the contract of the test kit, on the real service", (it) => {
  for (const [name, statement] of statements) it.effect(name, () => statement)
})
