// The page as the service sends it, for browsers without JavaScript.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

const origins = ["https://relayers.example.com"]

const files = new Map([
  ["index.html", { body: Buffer.from("<code>%API_URL%</code>"), contentType: "text/html; charset=utf-8" }]
])

layer(TestApi.layer({ console: { origins, files } }))("a page of the console", (it) => {
  it.effect("has the URL of the API that answers the same, at the origin that the browser uses", () =>
    Effect.gen(function* () {
      for (const [host, path, url] of [
        ["127.0.0.1:8080", "/console", "http://127.0.0.1:8080/api/v1/relayers"],
        ["127.0.0.1:8080", "/console/keys/ops", "http://127.0.0.1:8080/api/v1/api-keys/ops"],
        ["127.0.0.1:8080", "/console/index.html", "http://127.0.0.1:8080/api/v1/relayers"],
        ["relayers.example.com", "/console/events?type=x", "https://relayers.example.com/api/v1/events"],
        [
          "localhost:1",
          "/console/transactions/4f1c?relayer=payouts",
          "http://localhost:1/api/v1/relayers/payouts/transactions/4f1c"
        ],
        ["localhost:1", "/console/relayers/$(id)", "http://localhost:1/api/v1/relayers"]
      ] as const) {
        const { text, headers } = yield* TestApi.call(path, { key: null, headers: { host } })
        assert.strictEqual(text, `<code>${url}</code>`, path)
        assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
      }
    })
  )
})
