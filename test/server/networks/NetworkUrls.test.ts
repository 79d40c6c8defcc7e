// RPC URLs of networks are secrets: they are sealed in the database, masked in responses, and open only for RPC calls.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { NetworkId } from "../../../src/domain/network/Network.ts"
import { builtin } from "../../../src/server/networks/builtin.ts"
import { Networks } from "../../../src/server/networks/Networks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork, rpc } from "./fixtures.ts"

const path = "/api/v1/networks"
const secret = "s3cr3t-path"
const url = `https://user:${secret}@rpc.example.com/v1/${secret}?key=${secret}#${secret}`

const rpcUrls = (id: string) =>
  Effect.flatMap(Networks, (networks) => Effect.map(networks.callable(NetworkId.make(id)), ({ urls }) => urls))

const publicUrls = (id: string) => builtin.find((network) => network.id === id)?.rpc_urls

const stored = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ definition: string; rpc_urls_sealed: Uint8Array | null }>`
    SELECT definition::text AS definition, rpc_urls_sealed FROM networks WHERE id = ${id}`
  return row
})

const patch = Effect.fnUntraced(function* (id: string, body: unknown) {
  const api = yield* TestApi.TestApi
  const answer = yield* api.call(`${path}/${id}`, { method: "PATCH", body })
  assert.strictEqual(answer.status, 200, answer.text)
  return answer
})

/** `evm:secret` with `url`, its child `evm:child`, and `evm:base` overridden with `url`. */
const setUp = Effect.gen(function* () {
  yield* Prepared.create("networks", { ...evmNetwork, name: "secret", rpc_urls: [url] })
  yield* Prepared.create("networks", { name: "child", network_type: "evm", from: "secret" })
  yield* patch("evm:base", { rpc_urls: [url] })
})

layerEach(Prepared.layer(setUp))("RPC URLs of networks", (it) => {
  it.effect("responses, records and columns show only their scheme, host and port", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const headers = { "x-relayer-debug": "true" }
      const child = { name: "second-child", network_type: "evm", from: "secret" }
      const answers = [
        yield* api.call(path, { headers, body: { ...evmNetwork, name: "another", rpc_urls: [url] } }),
        yield* api.call(path, { headers, body: child }),
        yield* api.call(`${path}/evm:secret`, { headers, method: "PATCH", body: { rpc_urls: [{ url, weight: 1 }] } }),
        yield* api.call(`${path}/evm:base`, { headers, method: "PATCH", body: { rpc_urls: [url] } }),
        yield* api.call(`${path}/evm:secret`, { headers }),
        yield* api.call(`${path}/evm:child`, { headers }),
        yield* api.call(`${path}/evm:base`, { headers }),
        yield* api.call(`${path}?per_page=1000`, { headers }),
        yield* api.call("/api/v1/audit?resource=network", { headers })
      ]
      for (const answer of answers) {
        assert.include([200, 201], answer.status, answer.text)
        assert.include(answer.text, "https://rpc.example.com/***")
        assert.notInclude(answer.text, secret)
      }
      for (const id of ["evm:secret", "evm:base"]) {
        const row = yield* stored(id)
        assert.include(row?.definition, "https://rpc.example.com/***")
        assert.notInclude(row?.definition, secret)
        assert.isAbove(row?.rpc_urls_sealed?.length ?? 0, url.length)
        assert.isFalse(Buffer.from(row?.rpc_urls_sealed ?? []).includes(secret))
      }
    })
  )

  it.effect("those of a built-in network are public and shown as they are", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { json } = yield* api.call(`${path}/evm:avalanche`)
      const expected = [{ url: "https://api.avax.network/ext/bc/C/rpc", weight: 100 }]
      assert.deepStrictEqual((json.data as { rpc_urls: unknown }).rpc_urls, expected)
      assert.deepStrictEqual(yield* rpcUrls("evm:avalanche"), expected)
    })
  )

  it.effect("RPC calls get the open URLs of the nearest network that has some", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rpcUrls("evm:secret"), [{ url, weight: 100 }])
      assert.deepStrictEqual(yield* rpcUrls("evm:child"), [{ url, weight: 100 }])
      assert.deepStrictEqual(yield* rpcUrls("evm:base"), [{ url, weight: 100 }])
      yield* patch("evm:child", { rpc_urls: [rpc] })
      assert.deepStrictEqual(yield* rpcUrls("evm:child"), [rpc])
      const error = yield* Effect.flip(rpcUrls("evm:nowhere"))
      assert.strictEqual(error._tag, "NetworkNotFound")
    })
  )

  it.effect("a patch that does not name them keeps them, and null removes them", () =>
    Effect.gen(function* () {
      const before = yield* stored("evm:base")
      yield* patch("evm:base", { symbol: "B" })
      assert.deepStrictEqual((yield* stored("evm:base"))?.rpc_urls_sealed, before?.rpc_urls_sealed)
      assert.deepStrictEqual(yield* rpcUrls("evm:base"), [{ url, weight: 100 }])
      yield* patch("evm:base", { rpc_urls: null })
      assert.isNull((yield* stored("evm:base"))?.rpc_urls_sealed)
      assert.deepStrictEqual(yield* rpcUrls("evm:base"), publicUrls("evm:base"))
    })
  )

  it.effect("in a patch, a masked URL stands for the stored URL with that mask", () =>
    Effect.gen(function* () {
      yield* patch("evm:mainnet", { rpc_urls: [url, { url: "https://rpc.example.com/second", weight: 5 }] })
      const masked = "https://rpc.example.com/***"
      yield* patch("evm:mainnet", {
        rpc_urls: [{ url: masked, weight: 7 }, "https://other.example", { url: masked, weight: 8 }]
      })
      assert.deepStrictEqual(yield* rpcUrls("evm:mainnet"), [
        { url, weight: 7 },
        { url: "https://other.example", weight: 100 },
        { url: "https://rpc.example.com/second", weight: 8 }
      ])
      yield* patch("evm:mainnet", { rpc_urls: null })
    })
  )

  it.effect("a child of an overridden network inherits its URLs until it is reset", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call(path, { body: { name: "heir", network_type: "evm", from: "linea" } })
      yield* patch("evm:linea", { rpc_urls: [url] })
      assert.deepStrictEqual(yield* rpcUrls("evm:heir"), [{ url, weight: 100 }])
      yield* api.call(`${path}/evm:linea`, { method: "DELETE" })
      assert.deepStrictEqual(yield* rpcUrls("evm:heir"), publicUrls("evm:linea"))
    })
  )

  it.effect("a URL is accepted alone and with its weight", () =>
    Effect.gen(function* () {
      const forms = [
        "https://a.example.com",
        { url: "https://b.example.com" },
        { url: "https://c.example.com", weight: 0 }
      ]
      const { json } = yield* patch("evm:child", { rpc_urls: forms })
      assert.deepStrictEqual((json.data as { rpc_urls: unknown }).rpc_urls, [
        { url: "https://a.example.com", weight: 100 },
        { url: "https://b.example.com", weight: 100 },
        { url: "https://c.example.com", weight: 0 }
      ])
    })
  )

  it.effect("a host on the allow list may be private", () =>
    Effect.gen(function* () {
      yield* patch("evm:localhost-anvil", { rpc_urls: ["http://127.0.0.1:18545"] })
      assert.deepStrictEqual(yield* rpcUrls("evm:localhost-anvil"), [{ url: "http://127.0.0.1:18545", weight: 100 }])
    })
  )
})
