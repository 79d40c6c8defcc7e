// The version in the source and in package.json.
import { assert, it } from "@effect/vitest"
import { version } from "../../src/api/Version.ts"
import manifest from "../../package.json" with { type: "json" }

it("the version in the source is the version of package.json", () => assert.strictEqual(version, manifest.version))
