// Private RPC URLs of networks: they have all rules of the other ones, and are a list of their own.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { NetworkId } from "../../../src/domain/network/Network.ts"
import { Networks } from "../../../src/server/networks/Networks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork, solanaNetwork } from "./fixtures.ts"

const path = "/api/v1/networks"
const secret = "s3cr3t-path"
const url = `https://private.example.com/v1/${secret}`
const masked = [{ url: "https://private.example.com/***", weight: 100 }]

const callable = (id: string) => Effect.flatMap(Networks, (networks) => networks.callable(NetworkId.make(id)))

const privateUrls = (id: string) => Effect.map(callable(id), (found) => found.privateUrls)

const patch = Effect.fnUntraced(function* (id: string, body: unknown, status = 200) {
  const api = yield* TestApi.TestApi
  const answer = yield* api.call(`${path}/${id}`, { method: "PATCH", body })
  assert.strictEqual(answer.status, status, answer.text)
  return answer
})

/** `evm:secret` with a private URL, and its child `evm:child`. */
const setUp = Effect.gen(function* () {
  yield* Prepared.create("networks", { ...evmNetwork, name: "secret", private_rpc_urls: [url] })
  yield* Prepared.create("networks", { name: "child", network_type: "evm", from: "secret" })
})

layerEach(Prepared.layer(setUp))("Private RPC URLs of a network", (it) => {
  it.effect("are masked in responses, and sealed in a column of their own", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      for (const id of ["evm:secret", "evm:child"]) {
        const { json, text } = yield* api.call(`${path}/${id}`)
        assert.deepStrictEqual((json.data as { private_rpc_urls: unknown }).private_rpc_urls, masked)
        assert.notInclude(text, secret)
      }
      const [row] = yield* sql<{ definition: string; sealed: Uint8Array; key: string | null }>`
        SELECT definition::text AS definition, private_rpc_urls_sealed AS sealed,
          private_rpc_urls_sealed_key_id AS key FROM networks WHERE id = 'evm:secret'`
      assert.notInclude(row?.definition, secret)
      assert.isFalse(Buffer.from(row?.sealed ?? []).includes(secret))
      assert.isString(row?.key)
    })
  )

  it.effect("are those of the nearest network that names some, and none beside its other URLs", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* privateUrls("evm:secret"), [{ url, weight: 100 }])
      assert.deepStrictEqual(yield* privateUrls("evm:child"), [{ url, weight: 100 }])
      assert.deepStrictEqual(yield* privateUrls("evm:mainnet"), [])
      const own = "https://own.example.com/key"
      yield* patch("evm:child", { private_rpc_urls: [own] })
      assert.deepStrictEqual(yield* privateUrls("evm:child"), [{ url: own, weight: 100 }])
      assert.deepStrictEqual((yield* callable("evm:child")).urls, (yield* callable("evm:secret")).urls)
      yield* patch("evm:child", { private_rpc_urls: null })
      assert.deepStrictEqual(yield* privateUrls("evm:child"), [{ url, weight: 100 }])
    })
  )

  it.effect("stay when their masks are sent back, and when other fields change", () =>
    Effect.gen(function* () {
      yield* patch("evm:secret", { private_rpc_urls: [{ url: "https://private.example.com/***", weight: 1 }] })
      assert.deepStrictEqual(yield* privateUrls("evm:secret"), [{ url, weight: 1 }])
      yield* patch("evm:secret", { rpc_urls: ["https://other.example.com/key"] })
      assert.deepStrictEqual(yield* privateUrls("evm:secret"), [{ url, weight: 1 }])
      const { text } = yield* patch("evm:secret", { private_rpc_urls: ["https://unknown.example.com/***"] }, 400)
      assert.include(text, "private_rpc_urls.0.url: is masked")
    })
  )

  it.effect("whose endpoints publish what they get are refused, and nothing changes", () =>
    Effect.gen(function* () {
      const rpc = "https://rpc.flashbots.net/?hint=hash"
      for (const [given, name] of [
        [`${rpc}&useMempool=true`, "useMempool"],
        [`${rpc}&mempoolRPC=https%3A%2F%2Frpc.example.com`, "mempoolRPC"]
      ] as const) {
        const { text } = yield* patch("evm:secret", { private_rpc_urls: [rpc, given] }, 400)
        assert.include(text, `private_rpc_urls.1.url: has ${name}, with which the endpoint publishes transactions`)
      }
      assert.deepStrictEqual(yield* privateUrls("evm:secret"), [{ url, weight: 100 }])
      yield* patch("evm:secret", { private_rpc_urls: [`${rpc}&useMempool=false`] })
    })
  )

  it.effect("belong to evm alone", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const answer = yield* api.call(path, { body: { ...solanaNetwork, name: "other", private_rpc_urls: [url] } })
      assert.strictEqual(answer.status, 400, answer.text)
    })
  )
})
