// Makes a payment on the chain of the network type that the query of its URL names, so that everything that such a test needs is loaded.
import { Effect } from "effect"
import { TestChain, TestRelayer, Transactions } from "../../../src/testkit/index.ts"
import { payments } from "./Programs.ts"

const networks = { evm: TestChain.evm(), solana: TestChain.solana(), stellar: TestChain.stellar() }
const type = new URL(import.meta.url).search.slice(1)
const network = type === "solana" || type === "stellar" ? networks[type] : networks.evm

const program = Effect.gen(function* () {
  const { address, id: relayer } = yield* TestRelayer.make()
  const chain = yield* TestChain
  const { id } = yield* (yield* Transactions).send(relayer, chain.bodyOf(address, payments[network.type]))
  const { status } = yield* chain.mineUntilFinal(relayer, id)
  if (status !== "confirmed") throw new Error(`the payment is ${status}`)
})

await Effect.runPromise(Effect.provide(program, TestRelayer.layer({ network })))
