// Changes of networks: required scopes, idempotency keys, and records in the audit log.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiClient } from "../../../src/client/ApiClient.ts"
import { networkId, NetworkInUse, NetworkName } from "../../../src/domain/network/Network.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork, solanaNetwork } from "./fixtures.ts"

const path = "/api/v1/networks"

const makeKey = Effect.fnUntraced(function* (...scopes: ReadonlyArray<string>) {
  const api = yield* TestApi.TestApi
  const { json } = yield* api.call("/api/v1/api-keys", { body: { name: "test", scopes } })
  return (json.data as { readonly key: string }).key
})

interface Recorded {
  readonly action: string
  readonly before: string | null
  readonly after: string | null
}

const records = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Recorded>`
    SELECT action, before::text AS before, after::text AS after FROM audit WHERE resource_id = ${id} ORDER BY id`
  return rows.map(({ action, before, after }) => ({
    action,
    before: JSON.parse(before ?? "null"),
    after: JSON.parse(after ?? "null")
  }))
})

layer(TestApi.layer())("access to networks", (it) => {
  it.effect("a key reads and changes them as far as its scopes go", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const calls = {
        list: [path, {}],
        get: [`${path}/evm:our-chain`, {}],
        create: [path, { body: evmNetwork }],
        update: [`${path}/evm:our-chain`, { method: "PATCH", body: { symbol: "X" } }],
        delete: [`${path}/evm:our-chain`, { method: "DELETE" }]
      } as const
      const statuses = Effect.fnUntraced(function* (key: string | null) {
        const found: Record<string, number> = {}
        for (const name of ["create", "list", "get", "update", "delete"] as const) {
          const [to, call] = calls[name]
          found[name] = (yield* api.call(to, { ...call, key })).status
        }
        return found
      })
      const withoutKey = { create: 401, list: 401, get: 401, update: 401, delete: 401 }
      assert.deepStrictEqual(yield* statuses(null), withoutKey)
      const none = { create: 403, list: 403, get: 403, update: 403, delete: 403 }
      assert.deepStrictEqual(yield* statuses(yield* makeKey("relayers:*", "signers:*")), none)
      const reader = yield* makeKey("networks:read")
      assert.deepStrictEqual(yield* statuses(reader), { ...none, list: 200, get: 404 })
      const writer = yield* makeKey("networks:write")
      const changes = { create: 201, list: 403, get: 403, update: 200, delete: 200 }
      assert.deepStrictEqual(yield* statuses(writer), changes)
    })
  )

  it.effect("a create that is sent again with its idempotency key gets the same answer", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const call = { headers: { "idempotency-key": "once" }, body: solanaNetwork }
      const first = yield* api.call(path, call)
      const second = yield* api.call(path, call)
      assert.strictEqual(first.status, 201)
      assert.strictEqual(second.status, 201)
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers.get("location"), first.headers.get("location"))
      assert.strictEqual((yield* api.call(path, { body: solanaNetwork })).status, 409)
      assert.lengthOf(yield* records("solana:our-validator"), 1)
    })
  )

  it.effect("every change is recorded as it was shown, and nothing that was refused", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const to = `${path}/evm:recorded`
      const created = yield* api.call(path, { body: { ...evmNetwork, name: "recorded" } })
      const updated = yield* api.call(to, { method: "PATCH", body: { is_testnet: false } })
      yield* api.call(to, { method: "PATCH", body: { from: "recorded" } })
      yield* api.call(to, { method: "DELETE" })
      yield* api.call(to, { method: "DELETE" })
      assert.deepStrictEqual(yield* records("evm:recorded"), [
        { action: "network.created", before: null, after: created.json.data },
        { action: "network.updated", before: created.json.data, after: updated.json.data },
        { action: "network.deleted", before: updated.json.data, after: null }
      ])
    })
  )

  it.effect("a reset is recorded as a change, for the network is still there", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const to = `${path}/evm:mantle`
      const before = (yield* api.call(to)).json.data
      const overridden = (yield* api.call(to, { method: "PATCH", body: { symbol: "X" } })).json.data
      yield* api.call(to, { method: "DELETE" })
      assert.deepStrictEqual(yield* records("evm:mantle"), [
        { action: "network.updated", before, after: overridden },
        { action: "network.updated", before: overridden, after: before }
      ])
    })
  )

  it.effect("the typed client gets the same values, and errors as classes", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      const name = NetworkName.make("typed")
      const network_id = networkId("evm", name)
      const params = { network_id }
      const missing = yield* Effect.flip(client.networks.get({ params }))
      assert.strictEqual(missing._tag, "NetworkNotFound")
      const payload = { name, network_type: "evm", from: NetworkName.make("mainnet") } as const
      const created = yield* client.networks.create({ query: {}, payload })
      assert.strictEqual(created.data.from, "mainnet")
      const taken = yield* Effect.flip(client.networks.create({ query: {}, payload }))
      assert.strictEqual(taken._tag, "NetworkIdTaken")
      const rpc_urls = [{ url: "https://a.example.com/key", weight: 7 }]
      const updated = yield* client.networks.update({ params, headers: {}, payload: { rpc_urls, symbol: null } })
      assert.deepStrictEqual(updated.data.rpc_urls, [{ url: "https://a.example.com/***", weight: 7 }])
      const child = { name: NetworkName.make("heir"), network_type: "evm", from: name } as const
      yield* client.networks.create({ query: {}, payload: child })
      const inUse = yield* Effect.flip(client.networks.delete({ params, headers: {} }))
      assert.deepStrictEqual(inUse, new NetworkInUse({ error: "used by networks: evm:heir" }))
      const deleted = yield* client.networks.delete({
        params: { network_id: networkId("evm", child.name) },
        headers: {}
      })
      assert.strictEqual(deleted.data, "Network deleted successfully")
    })
  )
})
