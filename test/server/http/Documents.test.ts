// The documents of the API: access without a key, caching and compression.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { get } from "node:http"
import type { IncomingMessage } from "node:http"
import { buffer } from "node:stream/consumers"
import { parse } from "yaml"
import { version } from "../../../src/api/Version.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const documents = {
  "/openapi.json": "application/json",
  "/openapi.yaml": "application/yaml",
  "/docs": "text/html",
  "/favicon.ico": "image/svg+xml"
}

/** A response as it is on the wire. */
const transferred = async (url: string) => {
  const [response] = (await once(get(url, { headers: { "accept-encoding": "br" } }), "response")) as [IncomingMessage]
  return { headers: response.headers, bytes: (await buffer(response)).length }
}

const open = (path: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(path, { key: null, headers }))

layer(TestApi.layer())("the documents", (it) => {
  for (const [path, type] of Object.entries(documents)) {
    it.effect(`${path} is open to everyone, and a cache must revalidate it`, () =>
      Effect.gen(function* () {
        const { status, headers } = yield* open(path)
        assert.strictEqual(status, 200)
        assert.isTrue(headers.get("content-type")?.startsWith(type))
        assert.strictEqual(headers.get("cache-control"), "no-cache")
        assert.strictEqual(headers.get("vary"), "Accept-Encoding")
        assert.match(headers.get("etag") ?? "", /^W\/"[\w-]{22}"$/)
      })
    )

    it.effect(`${path} is not sent again to a client that has it`, () =>
      Effect.gen(function* () {
        const etag = (yield* open(path)).headers.get("etag") ?? ""
        for (const known of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
          const again = yield* open(path, { "if-none-match": known })
          assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag])
          assert.isNull(again.headers.get("content-type"))
        }
        assert.strictEqual((yield* open(path, { "if-none-match": '"other"' })).status, 200)
      })
    )
  }

  it.effect("the YAML document is the JSON document", () =>
    Effect.gen(function* () {
      const { json } = yield* open("/openapi.json")
      assert.deepStrictEqual(parse((yield* open("/openapi.yaml")).text), json as unknown)
    })
  )

  it.effect("the page loads nothing from other hosts", () =>
    Effect.gen(function* () {
      const { text } = yield* open("/docs")
      assert.notMatch(text, /<(script|link)[^>]*(src|href)="https?:/)
    })
  )

  it.effect("the pages and the document need at most a megabyte on the wire", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      for (const path of ["/", "/docs", "/openapi.json"]) {
        const { headers, bytes } = yield* Effect.promise(() => transferred(`${baseUrl}${path}`))
        assert.strictEqual(headers["content-encoding"], "br")
        assert.isAtMost(bytes, 1_000_000, path)
      }
    })
  )
})

layer(TestApi.layer())("the start page", (it) => {
  it.effect("shows version and readiness, and its links lead to what they name", () =>
    Effect.gen(function* () {
      const { status, headers, text } = yield* open("/")
      assert.strictEqual(status, 200)
      assert.match(headers.get("content-type") ?? "", /^text\/html/)
      assert.strictEqual(headers.get("cache-control"), "no-store")
      assert.include(headers.get("content-security-policy") ?? "", "default-src 'none'")
      assert.include(text, `effect-relayer ${version}`)
      assert.include(text, `<strong class="healthy">healthy</strong>`)
      const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link]) => link ?? "")
      assert.isAbove(links.length, 5)
      for (const link of links) assert.strictEqual((yield* open(link)).status, 200, link)
    })
  )

  it.effect("refuses other methods with Allow", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { status, headers } = yield* call("/", { method: "POST", key: null })
      assert.strictEqual(status, 405)
      assert.strictEqual(headers.get("allow"), "GET, HEAD, OPTIONS")
    })
  )
})
