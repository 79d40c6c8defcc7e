// Networks over HTTP: how they are created, inherited, listed and deleted.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { builtin } from "../../../src/server/networks/builtin.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork, shownRpc, solanaNetwork, stellarNetwork } from "./fixtures.ts"
import { data, networks } from "./requests.ts"
import type { Shown } from "./requests.ts"

const evmChild = { name: "child", network_type: "evm", from: "our-chain", chain_id: 7, tags: ["rollup", "mine"] }

const create = (body: object) => Prepared.create("networks", body)

layerEach(TestApi.layer())("networks over HTTP", (it) => {
  it.effect("a network of each type is returned as it was sent, with masked RPC URLs", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const expected = [
        { ...evmNetwork, id: "evm:our-chain", source: "own", rpc_urls: shownRpc },
        {
          ...solanaNetwork,
          id: "solana:our-validator",
          source: "own",
          is_testnet: false,
          rpc_urls: [{ url: "https://solana.example.com/***", weight: 100 }]
        },
        {
          ...stellarNetwork,
          id: "stellar:our-stellar",
          source: "own",
          is_testnet: false,
          rpc_urls: [{ url: "https://stellar.example.com/***", weight: 100 }]
        }
      ]
      for (const [index, body] of [evmNetwork, solanaNetwork, stellarNetwork].entries()) {
        const created = yield* api.call(networks, { body })
        assert.strictEqual(created.status, 201, created.text)
        assert.deepStrictEqual(created.json, { success: true, data: expected[index] })
        const location = created.headers.get("location") ?? ""
        assert.strictEqual(decodeURIComponent(location), `${networks}/${expected[index]?.id}`)
        assert.strictEqual((yield* api.call(location)).text, created.text)
      }
    })
  )

  it.effect("a name of a built-in or an own network is taken, for its network type only", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* create(evmNetwork)
      const taken = { success: false, data: null, message: "Network with this ID already exists" }
      for (const name of ["our-chain", "sepolia"]) {
        const answer = yield* api.call(networks, { body: { ...evmNetwork, name } })
        assert.strictEqual(answer.status, 409)
        assert.deepStrictEqual(answer.json, taken)
      }
      const other = yield* api.call(networks, { body: { ...solanaNetwork, name: "our-chain" } })
      assert.strictEqual(other.status, 201, other.text)
    })
  )

  it.effect("a child inherits the values that it does not set, and has the labels of both", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* create(evmNetwork)
      const created = yield* api.call(networks, { body: evmChild })
      assert.deepStrictEqual(data(created), {
        ...evmNetwork,
        id: "evm:child",
        name: "child",
        from: "our-chain",
        source: "own",
        chain_id: 7,
        tags: ["rollup", "mine"],
        rpc_urls: shownRpc
      })
      const body = { name: "grandchild", network_type: "evm", from: "child", rpc_urls: ["https://a.example.com"] }
      const grandchild = yield* api.call(networks, { body: { ...body, features: ["blobs"] } })
      assert.deepStrictEqual(data(grandchild), {
        ...data(created),
        id: "evm:grandchild",
        name: "grandchild",
        from: "child",
        features: ["eip1559", "blobs"],
        rpc_urls: [{ url: "https://a.example.com", weight: 100 }]
      })
    })
  )

  it.effect("an inherited value changes with the parent", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* create(evmNetwork)
      yield* create(evmChild)
      yield* create({ name: "grandchild", network_type: "evm", from: "child" })
      yield* api.call(`${networks}/evm:our-chain`, { method: "PATCH", body: { symbol: "NEW", tags: ["first"] } })
      const child = data(yield* api.call(`${networks}/evm:grandchild`))
      assert.strictEqual(child.symbol, "NEW")
      assert.deepStrictEqual(child.tags, ["first", "rollup", "mine"])
    })
  )

  it.effect("a child of a built-in network needs no values of its own", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const created = yield* api.call(networks, { body: { name: "s", network_type: "stellar", from: "testnet" } })
      const parent = builtin.find(({ id }) => id === "stellar:testnet")
      assert.deepStrictEqual(data(created), {
        ...parent,
        id: "stellar:s",
        name: "s",
        from: "testnet",
        source: "own"
      })
    })
  )

  it.effect("a deleted network is not found, and its name is free", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const body = { ...solanaNetwork, name: "short-lived" }
      const path = `${networks}/solana:short-lived`
      for (let turn = 0; turn < 2; turn++) {
        assert.strictEqual((yield* api.call(networks, { body })).status, 201)
        const deleted = yield* api.call(path, { method: "DELETE" })
        assert.strictEqual(deleted.status, 200)
        assert.deepStrictEqual(deleted.json, { success: true, data: "Network deleted successfully" })
        for (const call of [{}, { method: "DELETE" }, { method: "PATCH", body: { symbol: "X" } }]) {
          const missing = yield* api.call(path, call)
          assert.strictEqual(missing.status, 404)
          assert.deepStrictEqual(missing.json, { success: false, data: null, message: "Network not found" })
        }
      }
    })
  )

  it.effect("pages have each network once: built-in ones first, then own ones in the order of creation", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const body of [evmNetwork, solanaNetwork, stellarNetwork, evmChild]) yield* create(body)
      const all = yield* api.call(`${networks}?per_page=1000`)
      const ids = (all.json.data as ReadonlyArray<Shown>).map(({ id }) => id)
      const own = ids.slice(builtin.length)
      assert.deepStrictEqual(
        ids.slice(0, builtin.length),
        builtin.map(({ id }) => id)
      )
      assert.deepStrictEqual(own, ["evm:our-chain", "solana:our-validator", "stellar:our-stellar", "evm:child"])
      for (const per_page of [1, 5, 7, builtin.length, builtin.length + 2]) {
        const seen: Array<Shown> = []
        const pages = Math.ceil(ids.length / per_page)
        for (let page = 1; page <= pages + 1; page++) {
          const answer = yield* api.call(`${networks}?per_page=${per_page}&page=${page}`)
          assert.deepStrictEqual(answer.json.pagination, { current_page: page, per_page, total_items: ids.length })
          seen.push(...(answer.json.data as ReadonlyArray<Shown>))
        }
        assert.deepStrictEqual(seen, all.json.data)
      }
      const total = yield* api.call(`${networks}?per_page=0`)
      assert.deepStrictEqual(total.json.data, [])
      assert.deepStrictEqual(total.json.pagination, { current_page: 1, per_page: 0, total_items: ids.length })
    })
  )

  it.effect("a list shows each network as a read does", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* create(evmNetwork)
      yield* api.call(`${networks}/evm:celo`, { method: "PATCH", body: { symbol: "C" } })
      const all = yield* api.call(`${networks}?per_page=1000`)
      for (const network of all.json.data as ReadonlyArray<Shown>) {
        assert.deepStrictEqual(data(yield* api.call(`${networks}/${encodeURIComponent(network.id)}`)), network)
      }
    })
  )
})
