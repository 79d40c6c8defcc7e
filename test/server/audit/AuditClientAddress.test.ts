// The client's address in the audit log and on API keys, behind a proxy.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeTrustedProxies } from "../../../src/server/responses/CurrentRequest.ts"
import * as Server from "../../../src/server/Server.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { signer } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const trustedProxies = makeTrustedProxies(["127.0.0.0/8"])

layer(TestApi.layer({ server: { ...Server.defaults, trustedProxies } }))("behind a trusted proxy", (it) => {
  it.effect("records and API keys have the address of the client, not that of the proxy", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const headers = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" }
      const created = yield* call("/api/v1/api-keys", { headers, body: { name: "x", scopes: ["signers:write"] } })
      const { id, key } = created.json.data as { readonly id: string; readonly key: string }
      assert.strictEqual((yield* call("/api/v1/signers", { key, headers, body: signer })).status, 201)
      const { json } = yield* call("/api/v1/audit")
      const found = json.data as ReadonlyArray<{ readonly action: string; readonly client_address: string }>
      assert.deepStrictEqual(
        found.map(({ action, client_address }) => [action, client_address]),
        [
          ["signer.created", "198.51.100.7"],
          ["key.created", "198.51.100.7"]
        ]
      )
      const sql = yield* SqlClient.SqlClient
      const used = sql<{ from: string | null }>`SELECT last_used_from AS from FROM api_keys WHERE id = ${id}`
      // The use is stored after the response.
      const [row] = yield* awaited(used, ([row]) => row?.from !== null)
      assert.strictEqual(row?.from, "198.51.100.7")
    })
  )
})
