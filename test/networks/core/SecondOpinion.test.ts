// When one provider decides alone what is final.
import { assert, describe, it } from "@effect/vitest"
import { stalledAfter } from "../../../src/domain/chain/Rpc.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { aloneAfter, verdictOf } from "../../../src/networks/core/Rows.ts"
import type { FinalityNumbers, Opinion } from "../../../src/networks/core/Rows.ts"

const hour = 3_600_000
const now = 10 * hour
const numbers: FinalityNumbers = { blockTime: 1000, required: 12, finalityByOne: hour }

const agrees: Opinion = { _tag: "Agrees" }
const contradicts: Opinion = { _tag: "Contradicts", host: "https://other.example" }
const behind: Opinion = { _tag: "Behind", host: "https://late.example" }
const silentFor = (millis: number): Opinion => ({
  _tag: "Silent",
  host: "https://dead.example",
  since: now - millis,
  error: "no answer"
})
const silent = silentFor(stalledAfter(numbers.blockTime))

const mined = { cause: cause("mined_waiting"), causeSince: 0 }
const missingFor = (millis: number) => ({ cause: cause("second_provider_missing"), causeSince: now - millis })

const tagOf = (opinions: ReadonlyArray<Opinion>, transaction = mined, over: Partial<FinalityNumbers> = {}) =>
  verdictOf(opinions, transaction, { ...numbers, ...over }, now)._tag

describe("what one provider shows", () => {
  it.each<readonly [string, ReadonlyArray<Opinion>, string]>([
    ["is final if there is no other", [], "Agreed"],
    ["is final if one other agrees, whatever the rest says", [contradicts, silent, agrees], "Agreed"],
    ["is disputed if one contradicts and none agrees", [silent, contradicts, behind], "Disputed"],
    ["waits for a provider that is only behind", [silent, behind], "Waiting"],
    ["waits for a provider that did not answer once", [silentFor(0)], "Waiting"],
    ["lacks an opinion if all others are silent", [silent, silent], "Missing"]
  ])("%s", (_, opinions, expected) => {
    assert.strictEqual(tagOf(opinions), expected)
  })

  it("is decided by one provider after the time of finality_by_one, and never before", () => {
    assert.strictEqual(tagOf([silent], missingFor(hour - 1)), "Missing")
    assert.strictEqual(tagOf([silent], missingFor(hour)), "Alone")
  })

  it("is never decided by time if the network says so, or if others contradict", () => {
    assert.strictEqual(tagOf([silent], missingFor(1000 * hour), { finalityByOne: "never" }), "Missing")
    assert.strictEqual(tagOf([silent, contradicts], missingFor(1000 * hour)), "Disputed")
    assert.strictEqual(tagOf([silent, behind], missingFor(1000 * hour)), "Waiting")
  })

  it("is not decided by an instance that has not seen the silence itself", () => {
    assert.strictEqual(tagOf([silentFor(0)], missingFor(hour)), "Missing")
  })

  it("names the provider, its error, and when the decision is made", () => {
    const verdict = verdictOf([silent], missingFor(60_000), numbers, now)
    assert.deepStrictEqual(verdict, {
      _tag: "Missing",
      figures: { host: "https://dead.example", error: "no answer", decides_at: now - 60_000 + hour }
    })
  })

  it("takes ten times the time until a block is final, if that is longer", () => {
    assert.strictEqual(aloneAfter({ ...numbers, required: 100, blockTime: 12_000 }), 12_000_000)
    assert.isUndefined(aloneAfter({ ...numbers, finalityByOne: "never" }))
  })
})
