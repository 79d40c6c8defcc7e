// The list of metrics, which concatenates the lists of the features.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { signer } from "../../testkit/fixtures.ts"
import * as TestApi from "../../testkit/TestApi.ts"

layer(TestApi.layer({ jobs: true }))("the list of metrics", (it) => {
  it.effect("contains every metric that the service updates, once", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call("/api/v1/signers", { body: signer })
      const names: ReadonlyArray<string> = JSON.parse((yield* api.call("/metrics", { key: null })).text)
      assert.lengthOf(new Set(names), names.length)
      const { text } = yield* api.call("/debug/metrics/scrape", { key: null })
      const updated = [...text.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name ?? "")
      assert.isAbove(updated.length, 5)
      assert.includeMembers([...names], updated)
    })
  )
})
