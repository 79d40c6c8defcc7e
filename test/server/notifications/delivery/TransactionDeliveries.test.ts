// Deliveries about transactions: whose they are, and how a list finds them.
import { assert } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send } from "../../transactions/Fixtures.ts"

interface Shown {
  readonly id: string
  readonly type: string
  readonly event_id?: number
  readonly relayer_id?: string
  readonly body?: string
}

const api = Effect.map(TestApi.TestApi, ({ call }) => call)

/** Two relayers with one notification, each with a transaction. Nothing answers at its URL. */
const prepared = Effect.gen(function* () {
  yield* prepare()
  const call = yield* api
  const body = { id: "hooks", url: "http://127.0.0.1:1/hook" }
  assert.strictEqual((yield* call("/api/v1/notifications", { body })).status, 201)
  for (const id of ["sender", "other"]) {
    const patched = yield* call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { notification_id: "hooks" } })
    assert.strictEqual(patched.status, 200, patched.text)
  }
  const { id } = dataOf(yield* send({ to: receiver, value: 1 }))
  yield* call("/api/v1/relayers/other/transactions", { body: { to: receiver, value: 1 } })
  return id
})

const list = (query = "", key?: string) =>
  Effect.flatMap(api, (call) =>
    call(`/api/v1/notifications/hooks/deliveries${query}`, key === undefined ? {} : { key })
  ).pipe(
    Effect.map(({ status, text, json }) => {
      assert.strictEqual(status, 200, text)
      return json.data as ReadonlyArray<Shown>
    })
  )

const created = "?type=transaction.created"

layerEach(TestApi.layer())("a delivery about a transaction", (it) => {
  it.effect("names the relayer of the transaction", () =>
    Effect.gen(function* () {
      const id = yield* prepared
      const deliveries = yield* list(created)
      assert.deepStrictEqual(
        deliveries.map(({ relayer_id }) => relayer_id),
        ["other", "sender"]
      )
      assert.include(deliveries.at(-1)?.body ?? "", id)
    })
  )

  it.effect("exists for a key that is limited to the relayer, and for no other limited key", () =>
    Effect.gen(function* () {
      yield* prepared
      const narrow = yield* makeKey(["notifications:read"], { relayer_ids: ["sender"] })
      const seen = yield* list("", narrow)
      assert.include(
        seen.map(({ type }) => type),
        "transaction.created"
      )
      assert.deepStrictEqual([...new Set(seen.map(({ relayer_id }) => relayer_id))], ["sender"])
      const [foreign] = yield* list("?relayer_id=other")
      const call = yield* api
      const { status, json } = yield* call(`/api/v1/notifications/hooks/deliveries/${foreign?.id}`, { key: narrow })
      assert.deepStrictEqual([status, json.message], [404, "Delivery not found"])
    })
  )

  it.effect("is found by its type, its relayer and its event, also with a cursor, and alone by its id", () =>
    Effect.gen(function* () {
      yield* prepared
      const all = yield* list()
      for (const relayer of ["sender", "other"]) {
        assert.deepStrictEqual(
          yield* list(`?relayer_id=${relayer}`),
          all.filter(({ relayer_id }) => relayer_id === relayer)
        )
      }
      const one = all.find(({ type }) => type === "transaction.created") ?? assert.fail("no delivery")
      assert.deepStrictEqual(yield* list(`?event_id=${one.event_id}`), [one])
      assert.deepStrictEqual(yield* list("?relayer_id=nobody"), [])
      const call = yield* api
      const alone = yield* call(`/api/v1/notifications/hooks/deliveries/${one.id}`)
      assert.deepStrictEqual(alone.json.data, one)
      const page = yield* call("/api/v1/notifications/hooks/deliveries?relayer_id=sender&limit=1")
      const cursor = /cursor=([^>&]*)/.exec(page.headers.get("link") ?? "")?.[1] ?? ""
      const other = yield* call(`/api/v1/notifications/hooks/deliveries?relayer_id=other&cursor=${cursor}`)
      assert.strictEqual(other.status, 400, other.text)
    })
  )

  it.effect("has no body in a list that leaves bodies out", () =>
    Effect.gen(function* () {
      yield* prepared
      const all = yield* list()
      assert.deepStrictEqual(
        yield* list("?body=false"),
        all.map((delivery) => Struct.omit(delivery, ["body"]))
      )
      const call = yield* api
      const wrong = yield* call("/api/v1/notifications/hooks/deliveries?body=no")
      assert.deepStrictEqual([wrong.status, wrong.json.error?.startsWith("body: ")], [400, true])
    })
  )
})
