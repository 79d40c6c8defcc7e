// The responses about transactions of solana, and their webhooks, are what openapi.json documents.
// The cluster makes blocks by the clock of the machine.
import { DateTime, Duration, Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import * as Documented from "../../../../testkit/Documented.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { memo } from "../lane/World.ts"
import { api, dataOf, relayerAt } from "./Relayers.ts"

const inRelayer = "/api/v1/relayers/{relayer_id}"

const isDocumented = (name: string, answer: TestApi.Answer) => {
  assert.strictEqual(answer.status, 200, `${name}: ${answer.text}`)
  assert.deepStrictEqual(Documented.faultsOf(name, answer), [], name)
}

layer(api, { excludeTestServices: true })("a solana relayer", (it) => {
  it.effect("answers about transactions as openapi.json says, from their acceptance to their end", () =>
    Effect.gen(function* () {
      const { becomes, call, path, post, relayer, send } = yield* relayerAt()
      const sent = yield* send(memo("documented"))
      isDocumented(`post ${inRelayer}/transactions`, sent)
      const { id } = dataOf(sent)
      yield* becomes(id, "confirmed")
      isDocumented(`get ${inRelayer}/transactions/{transaction_id}`, yield* call(`${path}/${id}`))
      isDocumented(`get ${inRelayer}/transactions/{transaction_id}/explain`, yield* call(`${path}/${id}/explain`))
      const later = {
        ...memo("later"),
        not_before: DateTime.formatIso(DateTime.addDuration(yield* DateTime.now, Duration.hours(1)))
      }
      const batch = yield* post("/transactions/batch", { transactions: [later, later, later] })
      isDocumented(`post ${inRelayer}/transactions/batch`, batch)
      isDocumented(`get ${inRelayer}/transactions`, yield* call(path))
      isDocumented("get /api/v1/transactions", yield* call("/api/v1/transactions"))
      const waiting = (yield* call(`${path}?status=pending`)).json.data as ReadonlyArray<{ readonly id: string }>
      assert.lengthOf(waiting, 3)
      const [first, second] = waiting.map((one) => `${path}/${one.id}`)
      const one = `${inRelayer}/transactions/{transaction_id}`
      isDocumented(`put ${one}`, yield* call(first ?? "", { method: "PUT", body: memo("replaced") }))
      isDocumented(`delete ${one}`, yield* call(second ?? "", { method: "DELETE" }))
      const canceled = yield* call(`${path}/pending`, { method: "DELETE" })
      isDocumented(`delete ${inRelayer}/transactions/pending`, canceled)
      isDocumented(`post ${inRelayer}/transactions/simulate`, yield* post("/transactions/simulate", memo("x")))
      isDocumented(`get ${inRelayer}/status`, yield* call(`${relayer}/status`))
    })
  )

  it.effect("publishes webhooks about a transaction up to its confirmation, as openapi.json says", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const { becomes, call, id: relayerId, relayer, send } = yield* relayerAt()
      const { id: notification_id } = yield* Prepared.create("notifications", {
        id: relayerId,
        type: "webhook",
        url: receiver.url
      })
      assert.strictEqual((yield* call(relayer, { method: "PATCH", body: { notification_id } })).status, 200)
      const { id } = dataOf(yield* send(memo("published")))
      yield* becomes(id, "confirmed")
      const about = () => receiver.seen.filter(({ body }) => body.includes(id))
      const types = () => about().map(({ headers }) => headers["webhook-event-type"])
      yield* until(
        "transaction.confirmed",
        Effect.sync(() => (types().includes("transaction.confirmed") ? true : undefined))
      )
      assert.includeMembers(types(), ["transaction.created", "transaction.submitted", "transaction.confirmed"])
      for (const webhook of about()) {
        assert.deepStrictEqual(Documented.webhookFaultsOf("transaction", webhook), [])
      }
    })
  )
})
