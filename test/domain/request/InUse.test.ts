// The users of a resource that the error of a refused delete names.
import { assert, it } from "@effect/vitest"
import type { Caller } from "../../../src/domain/access/Caller.ts"
import { maxNamed, usedBy } from "../../../src/domain/request/InUse.ts"

const administrator: Caller = { id: "administrator" }
const reader: Caller = { id: "reader", scopes: ["relayers:read"] }
const writer: Caller = { id: "writer", scopes: ["signers:*"] }
const narrowed: Caller = { id: "narrowed", scopes: ["*"], relayerIds: ["b"] }

it("names only what the caller may read", () => {
  assert.strictEqual(usedBy(administrator, "relayers", ["a", "b"]), "used by relayers: a, b")
  assert.strictEqual(usedBy(reader, "relayers", ["a", "b"]), "used by relayers: a, b")
  assert.strictEqual(usedBy(reader, "networks", ["a"]), "used by networks that this API key may not read")
  assert.strictEqual(usedBy(writer, "relayers", ["a", "b"]), "used by relayers that this API key may not read")
  assert.strictEqual(
    usedBy(narrowed, "relayers", ["a", "b"]),
    "used by relayers: b, and others that this API key may not read"
  )
  assert.strictEqual(usedBy(narrowed, "relayers", ["a"]), "used by relayers that this API key may not read")
})

it("names at most ten", () => {
  const ids = Array.from({ length: maxNamed + 1 }, (_, index) => `r${index}`)
  assert.strictEqual(
    usedBy(reader, "relayers", ids),
    `used by relayers: ${ids.slice(0, maxNamed).join(", ")}, and more`
  )
})
