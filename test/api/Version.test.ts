// The version in the source and of both packages.
import { assert, it } from "@effect/vitest"
import { version } from "../../src/api/Version.ts"
import manifest from "../../package.json" with { type: "json" }
import client from "../../packages/client/package.json" with { type: "json" }

it("the version in the source is the version of both packages", () => {
  assert.strictEqual(version, manifest.version)
  assert.strictEqual(version, client.version)
})
