// Reads of a transaction that wait: they answer when it has got so far, and many of them cost no more than those that are woken.
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { get } from "node:http"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { Draining } from "../../../src/server/lifecycle/Lifecycle.ts"
import { Transactions } from "../../../src/server/transactions/Transactions.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as LiveApi from "../events/LiveApi.ts"
import { asTimePasses, listening, soon } from "../events/LiveApi.ts"
import { claimOne, signAll } from "../ledger/Fixtures.ts"
import { dataOf, prepare, receiver, send, transactions } from "./Fixtures.ts"

const sent = Effect.map(send({ to: receiver, gas_price: 1, gas_limit: 21_000 }), dataOf)

const waiting = (id: string, wait: string) => TestApi.call(`${transactions}/${id}?wait=${wait}`)

const cancel = (id: string) => TestApi.call(`${transactions}/${id}`, { method: "DELETE" })

/** Reads of transactions by id so far, in all tests of this file. */
const reads = Effect.map(TestApi.call("/metrics/database_query_seconds", { key: null }), ({ text }) =>
  Number(/_count\{query="TransactionsRepo.find"\} (\d+)/.exec(text)?.[1] ?? 0)
)

layerEach(LiveApi.layer())("a read that waits", (it) => {
  it.effect("answers when the transaction has got so far, or has ended in another way", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      for (const wait of ["hash", "mined", "confirmed"]) {
        const { id: other } = yield* sent
        const read = yield* Effect.forkChild(waiting(other, wait))
        yield* listening
        yield* cancel(other)
        const answer = yield* soon(Fiber.join(read))
        assert.deepStrictEqual([answer.status, dataOf(answer).status], [200, "canceled"], wait)
        assert.strictEqual(dataOf(yield* waiting(other, wait)).status, "canceled", "it is final already")
      }
      const read = yield* Effect.forkChild(waiting(id, "hash"))
      yield* listening
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const answer = yield* soon(Fiber.join(read))
      assert.strictEqual(dataOf(answer).status, "sent")
      assert.property(answer.json.data, "hash")
      assert.strictEqual(dataOf(yield* waiting(id, "hash")).status, "sent", "it has a hash already")
    })
  )

  it.effect("ends when the instance drains, with the transaction as it is", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      const read = yield* Effect.forkChild(waiting(id, "confirmed"))
      yield* listening
      yield* (yield* Draining).begin
      const answer = yield* soon(Fiber.join(read))
      assert.deepStrictEqual([answer.status, dataOf(answer).status], [200, "pending"])
    })
  )

  it.effect("ends within the time of its request, with the transaction as it is", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      const read = yield* Effect.forkChild(waiting(id, "mined"))
      yield* listening
      const answer = yield* asTimePasses(Fiber.join(read))
      assert.deepStrictEqual([answer.status, dataOf(answer).status], [200, "pending"])
    })
  )

  it.effect("names an unknown transaction and an unknown state, and waits for neither", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      assert.strictEqual((yield* waiting("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b", "mined")).status, 404)
      for (const wait of ["final", "", "true"]) {
        const refused = yield* waiting(id, wait)
        assert.strictEqual(refused.status, 400, wait)
        assert.match(refused.json.error ?? "", /^wait: /)
      }
    })
  )

  it.effect("costs nothing while others change, however many wait", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      const service = yield* Transactions
      const before = yield* reads
      const count = 500
      const waiters = yield* Effect.forEach(Array.from({ length: count }), () =>
        Effect.forkChild(service.get(RelayerId.make("sender"), TransactionId.make(id), "confirmed"))
      )
      // Each has read once before it waits, and once after it has registered.
      yield* soon(awaited(reads, (now) => now - before >= 2 * count))
      for (let index = 0; index < 20; index++) yield* Effect.flatMap(sent, (other) => cancel(other.id))
      yield* cancel(id)
      const answers = yield* soon(Effect.forEach(waiters, Fiber.join))
      assert.isTrue(answers.every(({ status }) => status === "canceled"))
      // One read more when the end woke it, one for the answer, and one if its creation was seen late.
      assert.isAtMost((yield* reads) - before, 5 * count + 100)
    })
  )

  it.effect("ends when its caller closes the connection", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = yield* sent
      const { baseUrl } = yield* TestApi.TestApi
      const headers = { authorization: `Bearer ${TestApi.apiKey}` }
      // An aborted `fetch` keeps its connection for a minute.
      const read = get(`${baseUrl}${transactions}/${id}?wait=mined`, { headers }).on("error", () => undefined)
      const served = Effect.map(TestApi.call("/metrics/in_flight_requests", { key: null }), ({ text }) =>
        Number(/^in_flight_requests (\d+)/m.exec(text)?.[1])
      )
      // The request for the metric is served as well.
      yield* awaited(served, (count) => count === 2)
      yield* listening
      read.destroy()
      yield* awaited(served, (count) => count === 1)
    })
  )
})
