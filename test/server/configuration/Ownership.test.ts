// Ownership of objects: what a configuration deletes, takes over and replaces, and which keys apply it.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { actionsOf, applied, call, document, planned, refusedPlan, treasury } from "./requests.ts"

layerEach(TestApi.layer())("ownership of objects", (it) => {
  it.effect("prune touches no object that the configuration does not own", () =>
    Effect.gen(function* () {
      yield* applied(document)
      yield* applied({ version: 1, name: "other", notifications: { theirs: { url: "https://hooks.example.com/x" } } })
      yield* call("/api/v1/notifications", { body: { id: "nobodys", url: "https://hooks.example.com/x" } })
      const empty = { version: 1, name: "payments", api_keys: {}, relayers: {}, notifications: {} }
      yield* applied(empty, { prune: true })
      const { json } = yield* call("/api/v1/notifications")
      assert.deepStrictEqual(
        (json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        ["theirs", "nobodys"]
      )
      assert.strictEqual((yield* call("/api/v1/signers/treasury-key")).status, 200, "the section is absent")
    })
  )

  it.effect("a key that exists only in the service is deleted only by destroy_keys, with its relayers", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const empty = { version: 1, name: "payments", api_keys: {}, relayers: {}, signers: {} }
      assert.include(yield* refusedPlan(empty, { prune: true }), "--destroy-key treasury-key")
      yield* applied(empty, { prune: true, destroy_keys: ["treasury-key"] })
      assert.strictEqual((yield* call("/api/v1/signers/treasury-key")).status, 404)
    })
  )

  it.effect("a network that an object of another configuration uses is not deleted", () =>
    Effect.gen(function* () {
      yield* applied({ version: 1, name: "base", networks: { "evm:acme": { from: "sepolia" } } })
      yield* applied({ version: 1, name: "child", networks: { "evm:child": { from: "acme" } } })
      const refused = yield* refusedPlan({ version: 1, name: "base", networks: {} }, { prune: true })
      assert.include(refused, "networks.evm:acme: cannot be deleted: it is used by networks.evm:child")
    })
  )

  it.effect("an object of another configuration is moved only by take_over", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const other = { version: 1, name: "other", notifications: { ops: document.notifications.ops } }
      assert.include(
        yield* refusedPlan(other),
        "notifications.ops: belongs to the configuration payments; --take-over moves it to other"
      )
      yield* applied(other, { take_over: true })
      assert.deepStrictEqual((yield* applied(other)).changed, [])
      const { json } = yield* call("/api/v1/configuration")
      assert.deepStrictEqual(
        (json.data as ReadonlyArray<{ name: string; objects: number }>).map(({ name, objects }) => [name, objects]),
        [
          ["other", 1],
          ["payments", 5]
        ]
      )
    })
  )

  it.effect("another signer needs replace, and the new relayer continues the account", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const other = {
        ...treasury({ signer_id: "second" }),
        signers: { ...document.signers, second: { type: "plain" } }
      }
      assert.include(
        yield* refusedPlan(other),
        "relayers.treasury.signer_id: cannot be changed; --replace relayers.treasury"
      )
      yield* applied(other, { replace: ["relayers.treasury"] })
      const { json } = yield* call("/api/v1/relayers/treasury")
      assert.deepInclude(json.data, { signer_id: "second" })
      const key = yield* call("/api/v1/api-keys/dashboard")
      assert.deepInclude(key.json.data, { relayer_ids: ["treasury"] })
    })
  )

  it.effect("a configuration is applied by its keys, and by others only after take_over", () =>
    Effect.gen(function* () {
      const create = Effect.fnUntraced(function* (id: string) {
        const { json } = yield* call("/api/v1/api-keys", {
          body: { id, name: id, scopes: ["notifications:*", "relayers:read"] }
        })
        return (json.data as { key: string }).key
      })
      const [one, two] = [yield* create("one"), yield* create("two")]
      const given = (url: string) => ({
        version: 1,
        name: "n",
        notifications: { n: { url: `https://h.example.com/${url}` } }
      })
      yield* applied(given("a"), {}, { key: one })
      assert.include(yield* refusedPlan(given("b"), {}, { key: two }), "--take-over")
      yield* applied(given("b"), { take_over: true }, { key: two })
      yield* applied(given("c"), {}, { key: two })
      yield* applied(given("d"), {}, { key: one })
      yield* applied(given("e"))
    })
  )

  it.effect("an object that is deleted and created again by the API has no owner", () =>
    Effect.gen(function* () {
      yield* applied(document)
      yield* call("/api/v1/api-keys/dashboard", { method: "DELETE" })
      yield* call("/api/v1/relayers/treasury", { method: "DELETE" })
      assert.include(actionsOf(yield* planned(document)), "create relayers.treasury")
      const { treasury } = document.relayers
      yield* call("/api/v1/relayers", { body: { id: "treasury", ...treasury, paused: false } })
      assert.include(actionsOf(yield* planned(document)), "adopt relayers.treasury")
    })
  )
})
