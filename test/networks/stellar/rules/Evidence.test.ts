// What one provider proves about envelopes, and what two of them prove together.
import { assert, describe, it } from "@effect/vitest"
import { contradict, evidenceOf, provenTogether, rangeOf } from "../../../../src/networks/stellar/rules/StellarSeen.ts"
import type { Applied, Evidence, Testimony, Watched } from "../../../../src/networks/stellar/rules/StellarSeen.ts"

const sequence = 257_698_037_760_000_001n
const first: Watched = { hash: "aa", maxTime: 1000n, seenLedger: 50 }
const second: Watched = { hash: "bb", innerHash: "cc", maxTime: 1060n, seenLedger: 55 }
const both = [first, second]

const at = (closeTime: number, shown: bigint | undefined, number = 70, seqLedger?: number): Testimony => ({
  account: {
    ledger: { number, closeTime },
    ...(shown === undefined ? {} : { sequence: shown }),
    ...(seqLedger === undefined ? {} : { seqLedger })
  }
})

const used = (...hashes: [string, ...Array<string>]): Testimony => ({ scan: { use: { hashes } } })

const kindOf = (testimony: Testimony, watched = both) => evidenceOf(sequence, watched, testimony).kind

const applied: Applied = {
  hash: "aa",
  ledger: 60,
  isSuccess: true,
  result: "AAAA",
  code: "txSuccess",
  operations: ["paymentSuccess"],
  fee: 100n
}

describe("the evidence of one provider", () => {
  it("is applied if it finds an envelope, whatever else it says", () => {
    assert.strictEqual(kindOf({ ...at(2000, sequence - 1n), found: applied }), "applied")
  })

  it("is dead only if the account is behind at a ledger past every maxTime", () => {
    assert.deepStrictEqual(
      [1000, 1060, 1061].map((closeTime) => kindOf(at(closeTime, sequence - 1n))),
      ["alive", "alive", "dead"]
    )
    assert.strictEqual(kindOf(at(1001, sequence - 1n), [first]), "dead")
  })

  it("is dead by maxLedger at the ledger before it, because the next one is too late", () => {
    const bounded = [{ ...first, maxLedger: 72 }]
    assert.deepStrictEqual(
      [70, 71].map((number) => kindOf(at(900, sequence - 1n, number), bounded)),
      ["alive", "dead"]
    )
  })

  it("is unknown without the account, and without envelopes", () => {
    assert.strictEqual(kindOf({}), "unknown")
    assert.strictEqual(kindOf(used("zz")), "unknown")
    assert.strictEqual(kindOf(at(2000, sequence - 1n), []), "unknown")
  })

  it("is taken only if a transaction is shown that used the sequence and is not ours", () => {
    const account = at(2000, sequence + 3n)
    assert.deepStrictEqual(evidenceOf(sequence, both, { ...account, ...used("zz", "yy") }), {
      kind: "taken",
      ledger: 70,
      sequence: sequence + 3n,
      foreign: "zz"
    })
    for (const hash of ["aa", "bb", "cc"]) assert.strictEqual(kindOf({ ...account, ...used(hash) }), "unseen")
    assert.strictEqual(kindOf({ ...account, ...used("zz", "cc") }), "unseen")
  })

  it("is unseen while no transaction is shown that used the sequence, whatever was read", () => {
    for (const shown of [sequence, sequence + 3n, undefined]) {
      assert.strictEqual(kindOf(at(2000, shown)), "unseen")
      assert.strictEqual(kindOf({ ...at(2000, shown), scan: {}, oldestLedger: 1 }), "unseen")
    }
  })

  it("is read in one ledger only if the entry names the ledger of exactly this sequence", () => {
    const { account } = at(2000, sequence, 70, 64)
    const { account: later } = at(2000, sequence + 1n, 70, 64)
    if (account === undefined || later === undefined) throw new Error("there is no account")
    assert.deepStrictEqual(rangeOf(sequence, both, account), { from: 64, to: 64 })
    assert.deepStrictEqual(rangeOf(sequence, both, later), { from: 51, to: 70 })
  })

  it("treats an account that does not exist as one that used the sequence: the ledgers decide", () => {
    const evidence = evidenceOf(sequence, both, { ...at(2000, undefined), ...used("dd") })
    assert.deepStrictEqual(evidence, { kind: "taken", ledger: 70, foreign: "dd" })
  })

  it("is unproven if the ledgers are older than the store, or have too many transactions, and nothing is shown", () => {
    assert.strictEqual(kindOf({ ...at(2000, sequence), oldestLedger: 52 }), "unproven")
    assert.strictEqual(kindOf({ ...at(2000, sequence), oldestLedger: 51 }), "unseen")
    assert.strictEqual(kindOf({ ...at(2000, sequence), scan: { isCut: true } }), "unproven")
    assert.strictEqual(kindOf({ ...at(2000, sequence), oldestLedger: 52, ...used("dd") }), "taken")
  })
})

describe("the evidence of two providers", () => {
  const dead: Evidence = { kind: "dead", ledger: 70, sequence: sequence - 1n }
  const taken: Evidence = { kind: "taken", ledger: 70, sequence, foreign: "dd" }
  const unseen: Evidence = { kind: "unseen", ledger: 70 }
  const unproven: Evidence = { kind: "unproven", ledger: 70 }
  const alive: Evidence = { kind: "alive", ledger: 58, sequence: sequence - 1n }
  const found: Evidence = { kind: "applied", applied }

  it("holds if both prove it, in any order", () => {
    for (const one of [dead, taken, unproven, alive, found]) assert.deepStrictEqual(provenTogether(one, one), one)
    assert.deepStrictEqual([provenTogether(taken, unproven), provenTogether(unproven, taken)], [unproven, unproven])
    assert.strictEqual(provenTogether(dead, alive).kind, "unknown")
    assert.strictEqual(provenTogether(found, dead).kind, "unknown")
    for (const one of [dead, taken, unproven, found]) assert.strictEqual(provenTogether(one, unseen).kind, "unknown")
    assert.strictEqual(
      provenTogether(found, { kind: "applied", applied: { ...applied, result: "BBBB" } }).kind,
      "unknown"
    )
  })

  it("is contradicted by another result, or by an account that is behind at a ledger that is not", () => {
    const other: Evidence = { kind: "applied", applied: { ...applied, ledger: 61 } }
    assert.isTrue(contradict(found, other))
    assert.isTrue(contradict(found, dead))
    assert.isTrue(contradict(taken, found))
    assert.isFalse(contradict(found, alive))
    assert.isFalse(contradict(dead, alive))
    assert.isFalse(contradict(found, unseen))
    assert.isFalse(contradict(found, found))
  })
})
