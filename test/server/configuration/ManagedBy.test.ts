// Responses name the configuration that owns a resource, in reads, lists and changes, and name none while there is no owner.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { applied, call, createAll, document } from "./requests.ts"

/** An object of each kind, with a change of it. Signers are not changed by a PATCH. */
const objects: ReadonlyArray<readonly [list: string, id: string, patch: object | undefined]> = [
  ["networks", "evm:acme", { tags: ["t"] }],
  ["notifications", "ops", { paused: true }],
  ["signers", "treasury-key", undefined],
  ["relayers", "treasury", { name: "Changed" }],
  ["api-keys", "dashboard", { name: "Changed" }]
]

interface Owned {
  readonly id: string
  readonly managed_by?: string
  readonly source?: string
}

const read = (path: string) => Effect.map(call(`/api/v1/${path}`), ({ json }) => json.data as Owned)

/** The owners of the object in its read, in its list, and in the response to a change. */
const ownersOf = Effect.fnUntraced(function* (list: string, id: string, patch: object | undefined) {
  const items = (yield* call(`/api/v1/${list}?per_page=100`)).json.data as ReadonlyArray<Owned>
  const changed =
    patch === undefined
      ? []
      : [(yield* call(`/api/v1/${list}/${id}`, { method: "PATCH", body: patch })).json.data as Owned]
  const listed = items.filter((item) => item.id === id)
  return [yield* read(`${list}/${id}`), ...listed, ...changed].map((found) => found.managed_by ?? "nobody")
})

layerEach(TestApi.layer())("the owner of a resource", (it) => {
  it.effect("is in every response about it, and absent while no configuration owns it", () =>
    Effect.gen(function* () {
      yield* createAll
      for (const [list, id, patch] of objects) {
        assert.deepStrictEqual([...new Set(yield* ownersOf(list, id, patch))], ["nobody"], list)
      }
      yield* applied(document)
      for (const [list, id, patch] of objects) {
        assert.deepStrictEqual([...new Set(yield* ownersOf(list, id, patch))], ["payments"], list)
      }
    })
  )

  it.effect("does not make a change of a patch without effect", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const before = yield* call("/api/v1/notifications/ops")
      const body = { url: document.notifications.ops.url }
      const after = yield* call("/api/v1/notifications/ops", { method: "PATCH", body })
      assert.strictEqual(after.headers.get("etag"), before.headers.get("etag"))
    })
  )

  it.effect("is that of the last configuration that took the resource over", () =>
    Effect.gen(function* () {
      yield* applied(document)
      yield* applied(
        { version: 1, name: "other", notifications: { ops: document.notifications.ops } },
        { take_over: true }
      )
      assert.strictEqual((yield* read("notifications/ops")).managed_by, "other")
      assert.strictEqual((yield* read("relayers/treasury")).managed_by, "payments")
    })
  )

  it.effect("is shown for a built-in network of which nothing is changed", () =>
    Effect.gen(function* () {
      const base = { version: 1, name: "base", networks: { "evm:base": {} } }
      yield* applied(base)
      assert.deepInclude(yield* read("networks/evm:base"), { source: "builtin", managed_by: "base" })
      const { json } = yield* call("/api/v1/networks?per_page=100")
      const owned = (json.data as ReadonlyArray<Owned>).filter(({ managed_by }) => managed_by !== undefined)
      assert.deepStrictEqual(
        owned.map(({ id }) => id),
        ["evm:base"]
      )
      yield* applied({ ...base, networks: {} }, { prune: true })
      assert.notProperty(yield* read("networks/evm:base"), "managed_by")
    })
  )

  it.effect("changes the version of the resource, so that a client with the version before reads it again", () =>
    Effect.gen(function* () {
      yield* createAll
      const versioned = objects.filter(([list]) => list !== "signers")
      const tags: Array<string> = []
      for (const [list, id] of versioned) {
        tags.push((yield* call(`/api/v1/${list}/${id}`)).headers.get("etag") ?? "")
      }
      yield* applied(document)
      for (const [index, [list, id]] of versioned.entries()) {
        const again = yield* call(`/api/v1/${list}/${id}`, { headers: { "if-none-match": tags[index] ?? "" } })
        assert.strictEqual(again.status, 200, list)
      }
    })
  )

  it.effect("cannot be changed by a request", () =>
    Effect.gen(function* () {
      yield* createAll
      for (const [list, id, patch] of objects) {
        if (patch === undefined) continue
        const answer = yield* call(`/api/v1/${list}/${id}`, { method: "PATCH", body: { managed_by: "mine" } })
        assert.strictEqual(answer.status, 400, list)
        assert.include(answer.text, "managed_by: ", list)
      }
    })
  )
})
