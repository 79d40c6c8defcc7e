// Processes that die in the middle of a step, and several that share the lanes. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { ledgerTables } from "../../../src/server/ledger/Claims.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { accept, becomes, read, receiver, relayerAt } from "./fixtures.ts"
import * as Processes from "./Processes.ts"

/** The API without jobs: only processes of the test send. */
const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

const points = [
  { at: "signed", signed: 0 },
  { at: "committed", signed: 1 },
  { at: "sent", signed: 1 },
  { at: "seen", signed: 1 }
] as const

layer(api, { excludeTestServices: true })("a process that dies", (it) => {
  it.effect.each(points)("at `$at` loses nothing, and nothing is executed twice", ({ at, signed }) =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const first = yield* Processes.start(at)
      const [id] = yield* accept(account)
      yield* first.reached
      assert.lengthOf((yield* read(id)).attempts, signed)
      yield* first.end
      yield* Processes.start()
      const { attempts, nonce } = yield* becomes(id, "confirmed")
      assert.strictEqual(nonce, 0)
      assert.lengthOf(attempts, 1)
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x1")
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x1")
    })
  )
})

layer(api, { excludeTestServices: true })("a process that dies", (it) => {
  it.effect("between the wake of a lane and its step loses nothing, and nothing is executed twice", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const first = yield* Processes.start("woken")
      const ids: Array<TransactionId> = []
      const acceptOne = Effect.tap(accept(account), (accepted) => Effect.sync(() => ids.push(...accepted)))
      // A poll that is due may find the transaction first: then the next one is accepted.
      const acceptNext = Effect.flatMap(Effect.uninterruptible(acceptOne), ([id]) => becomes(id, "confirmed"))
      yield* Effect.raceFirst(first.reached, Effect.forever(acceptNext))
      yield* first.end
      yield* Processes.start()
      for (const id of ids) assert.lengthOf((yield* becomes(id, "confirmed")).attempts, 1)
      const count = `0x${ids.length.toString(16)}`
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), count)
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), count)
    })
  )
})

layer(api, { excludeTestServices: true })("two processes", (it) => {
  it.effect("share lanes: each effect happens once, and nonces have no holes", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const accounts = yield* Effect.forEach(Array.from({ length: 6 }), () => relayerAt(node))
      const first = yield* Processes.start()
      yield* Processes.start()
      const accepted = Effect.forEach(accounts, (account) => accept(account, 20), { concurrency: 3 })
      const early = yield* accepted
      const [late] = yield* Effect.all([accepted, first.end], { concurrency: 2 })
      for (const id of [...early, ...late].flat()) yield* becomes(id, "confirmed")
      for (const { address } of accounts) {
        assert.strictEqual(yield* node.call("eth_getTransactionCount", [address, "latest"]), "0x28")
      }
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0xf0")
    })
  )
})
