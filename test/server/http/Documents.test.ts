// The documents of the API: access without a key, caching and compression.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import * as TestApi from "../../../testkit/TestApi.ts"

const documents = { "/openapi.json": "application/json", "/openapi.yaml": "application/yaml", "/docs": "text/html" }

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
})
