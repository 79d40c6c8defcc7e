// Changes and deletion of a relayer at the version that If-Match names.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { etag, get, patch, path, setUp } from "./Patched.ts"

layerEach(Prepared.layer(setUp))("a relayer", (it) => {
  it.effect("a patch with If-Match needs the latest version", () =>
    Effect.gen(function* () {
      yield* patch({ paused: true })
      const current = (yield* etag) ?? ""
      for (const stale of [current.replace(".2", ".1"), `W/${current}`, "nonsense", '"99"', ""]) {
        const answer = yield* patch({ name: "stale" }, { "if-match": stale })
        assert.strictEqual(answer.status, 412, stale)
        assert.deepStrictEqual(answer.json, { data: null, message: "Precondition Failed", success: false })
      }
      assert.strictEqual(yield* etag, current)
      assert.strictEqual((yield* patch({ name: "A" }, { "if-match": `"1", ${current}` })).status, 200)
      assert.strictEqual((yield* patch({ name: "B" }, { "if-match": "*" })).status, 200)
    })
  )

  it.effect("one of several concurrent conditional patches succeeds, and the others fail with 412", () =>
    Effect.gen(function* () {
      const current = (yield* etag) ?? ""
      const answers = yield* Effect.forEach(
        Array.from({ length: 6 }, (_, n) => `writer ${n}`),
        (name) => patch({ name }, { "if-match": current }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
    })
  )

  it.effect("a relayer is deleted once; a delete with If-Match needs the latest version", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const remove = (headers: Record<string, string> = {}) => api.call(path, { method: "DELETE", headers })
      yield* patch({ paused: true })
      assert.strictEqual((yield* remove({ "if-match": '"1"' })).status, 412)
      const deleted = yield* remove({ "if-match": (yield* etag) ?? "" })
      assert.deepStrictEqual(
        [deleted.status, deleted.json],
        [200, { success: true, data: "Relayer deleted successfully" }]
      )
      assert.strictEqual((yield* get()).status, 404)
      assert.strictEqual((yield* remove()).status, 404)
      assert.strictEqual((yield* api.call("/api/v1/relayers", { body: evmRelayer })).status, 201)
    })
  )
})
