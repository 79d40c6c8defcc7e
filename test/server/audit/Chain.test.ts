// The chain of the audit log: each hash covers its record and the hash before it.
import { assert, describe, it } from "@effect/vitest"
import * as Chain from "../../../src/server/audit/Chain.ts"

const row = (id: string): Chain.ChainedRow => ({
  id,
  at_micros: "1",
  key_id: "administrator",
  action: "relayer.created",
  resource: "relayer",
  resource_id: id,
  request_id: null,
  client_address: null,
  before: null,
  after: "{}"
})

const linked = (rows: ReadonlyArray<Chain.ChainedRow>) => {
  const links = Chain.chain(rows)
  return rows.map((one, index) => ({ ...one, ...(links[index] ?? Chain.origin) }))
}

const rows = ["a", "b", "c"].map(row)

describe("the chain of the audit log", () => {
  it("has a position and a hash of its own for each record", () => {
    const links = Chain.chain(rows)
    assert.deepStrictEqual(
      links.map(({ position }) => position),
      [1, 2, 3]
    )
    assert.strictEqual(Chain.firstBroken(linked(rows)), undefined)
    assert.strictEqual(Chain.firstBroken(linked(rows).slice(1), links[0]), undefined)
  })

  it("is broken at a record that was changed, and behind one that was rewritten with a hash of its own", () => {
    const [first, second, third] = linked(rows)
    if (first === undefined || second === undefined || third === undefined) return assert.fail("no rows")
    assert.strictEqual(Chain.firstBroken([first, { ...second, after: "{ }" }, third]), 2)
    const [, rewritten] = linked([row("a"), { ...row("b"), after: "{ }" }])
    if (rewritten === undefined) return assert.fail("no row")
    assert.strictEqual(Chain.firstBroken([first, rewritten, third]), 3)
  })
})
