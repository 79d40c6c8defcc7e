import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { get } from "node:http"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import * as TestApi from "../../../testkit/TestApi.ts"

/** Does not use `fetch`, which requests compression and decompresses on its own. */
const read = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}) {
  const { baseUrl } = yield* TestApi.TestApi
  return yield* Effect.callback<{ readonly headers: NodeJS.Dict<string | Array<string>>; readonly body: Buffer }>(
    (resume) => {
      const request = get(
        `${baseUrl}${path}`,
        { headers: { authorization: `Bearer ${TestApi.apiKey}`, ...headers } },
        (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("end", () => resume(Effect.succeed({ headers: response.headers, body: Buffer.concat(chunks) })))
        }
      )
      return Effect.sync(() => request.destroy())
    }
  )
})

const networks = "/api/v1/networks?per_page=50"

const decoders = { br: brotliDecompressSync, gzip: gunzipSync }

layer(TestApi.layer())("a response", (it) => {
  for (const [coding, decode] of Object.entries(decoders)) {
    it.effect(`is compressed with ${coding} if the client accepts it`, () =>
      Effect.gen(function* () {
        const plain = yield* read(networks)
        assert.isUndefined(plain.headers["content-encoding"])
        const { headers, body } = yield* read(networks, { "accept-encoding": coding })
        assert.strictEqual(headers["content-encoding"], coding)
        assert.strictEqual(headers["vary"], "Accept-Encoding")
        assert.isBelow(body.length, plain.body.length / 3)
        assert.strictEqual(decode(body).toString(), plain.body.toString())
      })
    )
  }

  it.effect("is not compressed if the client refuses that", () =>
    Effect.gen(function* () {
      for (const accept of ["identity", "gzip;q=0, br;q=0", "zstd"]) {
        const { headers } = yield* read(networks, { "accept-encoding": accept })
        assert.isUndefined(headers["content-encoding"], accept)
      }
    })
  )

  it.effect("of up to 1 kB is not compressed", () =>
    Effect.gen(function* () {
      const { headers, body } = yield* read("/api/v1/relayers", { "accept-encoding": "gzip" })
      assert.isUndefined(headers["content-encoding"])
      assert.isBelow(body.length, 1024)
    })
  )

  it.effect("with a strong entity tag is not compressed, so that If-Match takes the tag", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const whitelist = Array.from({ length: 40 }, (_, n) => `0x${String(n).padStart(40, "0")}`)
      const policies = { whitelist_receivers: whitelist }
      yield* call("/api/v1/signers", { body: { type: "plain", id: "s" } })
      const body = {
        id: "long",
        name: "x",
        network: "sepolia",
        network_type: "evm",
        paused: false,
        signer_id: "s",
        policies
      }
      assert.strictEqual((yield* call("/api/v1/relayers", { body })).status, 201)
      const found = yield* read("/api/v1/relayers/long", { "accept-encoding": "gzip" })
      assert.isAbove(found.body.length, 1024)
      assert.isUndefined(found.headers["content-encoding"])
      const ifMatch = { "if-match": String(found.headers["etag"]) }
      const patched = yield* call("/api/v1/relayers/long", { method: "PATCH", body: { name: "y" }, headers: ifMatch })
      assert.strictEqual(patched.status, 200)
    })
  )
})
