// The modes of the console: read-only, off, and not built.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const files = ConsolePage.files
const relayers = "/api/v1/relayers"

layerEach(TestApi.layer({ console: { files, readOnly: true } }))("a console that is read-only", (it) => {
  it.effect("makes every session read-only, also one that began before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const session = yield* ConsolePage.signIn(TestApi.apiKey, { body: { read_only: false } })
      yield* sql`UPDATE console_sessions SET read_only = false`
      assert.strictEqual(yield* ConsolePage.statusOf(session, "/api/v1/signers", { body: signer }), 403)
      const { json } = yield* ConsolePage.call(session, "/session")
      assert.strictEqual((json.data as { readonly read_only: boolean }).read_only, true)
      assert.strictEqual((yield* TestApi.call("/api/v1/signers", { body: signer })).status, 201)
    })
  )
})

layer(TestApi.layer())("a service without a console", (it) => {
  it.effect("has no route below /console, no session, and no link to it", () =>
    Effect.gen(function* () {
      for (const path of ["/console", "/console/", "/console/session", "/console/api/v1/relayers"]) {
        assert.strictEqual((yield* TestApi.call(path)).status, 404, path)
      }
      assert.strictEqual((yield* ConsolePage.trySignIn(TestApi.apiKey)).status, 404)
      const sql = yield* SqlClient.SqlClient
      assert.isEmpty(yield* sql`SELECT id FROM console_sessions`)
      assert.notInclude((yield* TestApi.call("/", { key: null })).text, "console")
    })
  )
})

layer(TestApi.layer({ console: { files: new Map() } }))("a console that is not built", (it) => {
  it.effect("says in one sentence how to build it, and the API works", () =>
    Effect.gen(function* () {
      const page = yield* TestApi.call("/console/relayers", { key: null })
      assert.strictEqual(page.status, 503)
      assert.include(page.text, "npm run console")
      assert.strictEqual((yield* TestApi.call(relayers)).status, 200)
    })
  )
})
