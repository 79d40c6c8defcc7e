// Uploads of keystores that are costly to decrypt, and whose clients disconnect.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { maxOfCaller } from "../../../src/server/signers/backends/LocalKey.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as keystores from "../../../testkit/keystores.ts"
import { keystore, passphrase, signers } from "./fixtures.ts"

/** Disconnects when it is interrupted. */
const upload = (baseUrl: string, key: string, config: object) =>
  Effect.promise((signal) =>
    fetch(`${baseUrl}${signers}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "local", config }),
      signal
    })
  )

layer(TestApi.layer())("a caller that uploads keystores", (it) => {
  it.effect("gets 503 with Retry-After beyond its share, and has it again when its clients disconnect", () =>
    Effect.gen(function* () {
      const { baseUrl, call } = yield* TestApi.TestApi
      const created = yield* call("/api/v1/api-keys", { body: { name: "uploads", scopes: ["signers:write"] } })
      const { key } = created.json.data as { readonly key: string }
      const costly = upload(baseUrl, key, { keystore: keystores.byScrypt, passphrase: "wrong" })
      // The first response disconnects the other clients.
      const first = yield* Effect.raceAllFirst(Array.from({ length: maxOfCaller + 1 }, () => costly))
      assert.deepStrictEqual([first.status, first.headers.get("retry-after")], [503, "1"])
      const again = Effect.map(upload(baseUrl, key, { keystore, passphrase }), ({ status }) => status)
      assert.strictEqual(yield* Effect.repeat(again, { while: (status) => status === 503 }), 201)
    })
  )
})
