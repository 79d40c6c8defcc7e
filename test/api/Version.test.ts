// The version in the source and of the packages.
import { assert, it } from "@effect/vitest"
import { version } from "../../src/api/Version.ts"
import manifest from "../../package.json" with { type: "json" }
import client from "../../packages/client/package.json" with { type: "json" }
import signer from "../../packages/signer-pkcs11/package.json" with { type: "json" }

it("the version in the source is the version of all packages, and the service names the one of its signers", () => {
  assert.strictEqual(version, manifest.version)
  assert.strictEqual(version, client.version)
  assert.strictEqual(version, signer.version)
  assert.strictEqual(version, manifest.peerDependencies["@effect-relayer/signer-pkcs11"])
})
