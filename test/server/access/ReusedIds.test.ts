// A key that is limited to some relayers, when one of them is deleted and its id is used again.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey, prepare, receiver, send, transactions } from "../transactions/Fixtures.ts"

const relayer = { id: "sender", name: "sender", network_type: "evm", network: "nowhere", paused: false }

const deleteSender = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  yield* call(`${transactions}/pending`, { method: "DELETE" })
  const { status, text } = yield* call("/api/v1/relayers/sender", { method: "DELETE" })
  assert.strictEqual(status, 200, text)
})

/** Another relayer with the id, and another signer. */
const createAgain = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  yield* call("/api/v1/signers", { body: { id: "cold", type: "plain", config: { key: "05".repeat(32) } } })
  const { status, text } = yield* call("/api/v1/relayers", { body: { ...relayer, signer_id: "cold" } })
  assert.strictEqual(status, 201, text)
})

interface Key {
  readonly id: string
  readonly name: string
  readonly relayer_ids?: ReadonlyArray<string>
}

const keyNamed = (name: string) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) => call("/api/v1/api-keys")),
    ({ json }) => (json.data as ReadonlyArray<Key>).find((key) => key.name === name) ?? assert.fail(name)
  )

/** Waits until older transactions of other tests on the same server have ended, which hold events back. */
const eventsOf = (key: string, last: string) =>
  awaited(
    Effect.map(
      Effect.flatMap(TestApi.TestApi, ({ call }) => call("/api/v1/events", { key })),
      ({ json }) => (json.data as ReadonlyArray<{ readonly type: string }>).map(({ type }) => type)
    ),
    (types) => types.includes(last)
  )

layerEach(TestApi.layer())("a key that names a deleted relayer", (it) => {
  it.effect("loses it, and keeps an empty list, which allows nothing, also if the id is used again", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const scopes = ["relayers:*", "transactions:*", "events:read"]
      const both = yield* makeKey(scopes, { name: "both", relayer_ids: ["sender", "other"] })
      const one = yield* makeKey(scopes, { name: "one", relayer_ids: ["sender"] })
      yield* deleteSender
      assert.deepStrictEqual((yield* keyNamed("both")).relayer_ids, ["other"])
      assert.deepStrictEqual((yield* keyNamed("one")).relayer_ids, [])
      yield* createAgain
      for (const key of [both, one]) {
        assert.strictEqual((yield* call("/api/v1/relayers/sender", { key })).status, 403)
        assert.strictEqual((yield* send({ to: receiver }, { key })).status, 403)
      }
      const { json } = yield* call("/api/v1/relayers", { key: one })
      assert.deepStrictEqual(json.data, [])
      assert.deepStrictEqual((yield* call("/api/v1/events", { key: one })).json.data, [])
      assert.strictEqual((yield* call("/api/v1/transactions", { key: one })).status, 200)
    })
  )

  it.effect("can still be changed, and the loss is in the audit log", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      yield* makeKey(["relayers:read"], { name: "one", relayer_ids: ["sender"] })
      yield* deleteSender
      const { id } = yield* keyNamed("one")
      const { status, json, text } = yield* call(`/api/v1/api-keys/${id}`, {
        method: "PATCH",
        body: { name: "renamed" }
      })
      assert.strictEqual(status, 200, text)
      assert.deepInclude(json.data, { name: "renamed", relayer_ids: [] })
      const { json: audit } = yield* call("/api/v1/audit?action=key.updated")
      const changes = audit.data as ReadonlyArray<{ readonly before: Key; readonly after: Key }>
      assert.deepStrictEqual(
        changes.map(({ before, after }) => [before.relayer_ids, after.relayer_ids]),
        [
          [[], []],
          [["sender"], []]
        ]
      )
    })
  )
})

layerEach(TestApi.layer())("a new key that is limited to an id which was used before", (it) => {
  it.effect("sees the events and deliveries of the present relayer only", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const notification = { id: "hook", type: "webhook", url: "https://hooks.example.com/x" }
      const made = yield* call("/api/v1/notifications", { body: notification })
      assert.strictEqual(made.status, 201, made.text)
      yield* prepare()
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { notification_id: "hook" } })
      yield* send({ to: receiver, value: 7, external_id: "secret" })
      yield* deleteSender
      yield* createAgain
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { notification_id: "hook" } })
      const key = yield* makeKey(["events:read", "notifications:read"], { relayer_ids: ["sender"] })
      const types = yield* eventsOf(key, "relayer.updated")
      assert.deepStrictEqual(types, ["relayer.created", "relayer.updated"])
      const { status, json, text } = yield* call("/api/v1/notifications/hook/deliveries", { key })
      assert.strictEqual(status, 200, text)
      const deliveries = json.data as ReadonlyArray<{ readonly type: string }>
      assert.deepStrictEqual(
        deliveries.map(({ type }) => type),
        ["relayer.updated"]
      )
    })
  )
})
