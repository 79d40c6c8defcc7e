// Which hosts of an imported configuration have to be in OUTBOUND_ALLOW: those that the service refuses without it.
import { assert, it } from "@effect/vitest"
import { privateHostOf } from "../../packages/import/src/Source.ts"

it.each([
  ["http://10.1.2.3:8545", "10.1.2.3"],
  ["http://[::1]:8545", "::1"],
  ["http://[::ffff:10.0.0.1]/", "::ffff:a00:1"],
  ["http://198.18.0.1/", "198.18.0.1"],
  ["http://anvil:8545", "anvil"],
  ["http://vault.internal/", "vault.internal"],
  ["http://node.localhost/", "node.localhost"],
  ["https://rpc.example.com/", undefined],
  ["https://8.8.8.8/", undefined],
  ["no URL", undefined]
])("of %s: %s", (url, host) => {
  assert.strictEqual(privateHostOf(url), host)
})
