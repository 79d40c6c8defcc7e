import { assert, describe, it } from "@effect/vitest"
import { judged } from "../../bench/transactions/evm/Goals.ts"
import { judged as judgedOfStellar } from "../../bench/transactions/stellar/Goals.ts"
import { ratios } from "../../bench/transactions/Report.ts"
import type { Results, Row } from "../../bench/transactions/Results.ts"
import { resultsOf } from "./resultsOf.ts"

const verdicts = (given: Results) =>
  Object.fromEntries(judged(given).map(({ about, measured, met }) => [about, `${measured} ${met}`]))

const changed = { changedRelayer: 1000, changedNetwork: 1001 }

/** Verdicts of a run whose second part has history. `accepted`: transactions per second that this part accepts; the first accepts 900. */
const withHistory = (rows: ReadonlyArray<Row>, accepted = 900) =>
  verdicts(
    resultsOf(rows, {
      acceptances: [
        { stored: 0, accepted: 900, created: 1000, ...changed },
        { stored: 1_000_000, accepted, created: 1000, ...changed }
      ]
    })
  )

const blast: Row = { case: "blast", stored: 0, acceptedPerSecond: 1000, perSecond: 500 }

describe("goals of transactions", () => {
  it("a rate is compared to what the blast of the same part of the run confirms", () => {
    const found = verdicts(
      resultsOf([
        blast,
        { ...blast, stored: 1_000_000, perSecond: 100 },
        { case: "one lane", stored: 0, acceptedPerSecond: 400, perSecond: 100 }
      ])
    )
    assert.strictEqual(found["accepted while all is sent, one lane, to blast"], "0.80 × true")
    assert.strictEqual(found["one lane, end to end, to blast"], "0.20 × false")
  })

  it("a case that was not measured has no goal", () => {
    assert.deepStrictEqual(verdicts(resultsOf([blast])), { "RPC calls about idle relayers": "0 calls true" })
  })

  it("a command that waits for the next poll misses its goal", () => {
    const found = verdicts(resultsOf([{ case: "commands", stored: 0, toReplace: 30, toCancel: 900 }]))
    assert.strictEqual(found["PUT to a node when idle, median"], "30 ms true")
    assert.strictEqual(found["DELETE to a node when idle, median"], "900 ms false")
  })

  it("a command that waits for the load beside it misses its goal", () => {
    const found = verdicts(resultsOf([{ case: "commands at 50/s", stored: 0, toReplace: 251, toCancel: 250 }]))
    assert.strictEqual(found["PUT to a node at 50/s, median"], "251 ms false")
    assert.strictEqual(found["DELETE to a node at 50/s, median"], "250 ms true")
  })

  it("a change that waits for acceptances longer than a second misses its goal", () => {
    const found = withHistory([])
    assert.strictEqual(found["change of a relayer while as much as possible is accepted, slowest"], "1000 ms true")
    assert.strictEqual(found["change of a network while as much as possible is accepted, slowest"], "1001 ms false")
  })

  it("statements at an even rate are judged by lanes, and those of one lane apart", () => {
    const found = verdicts(
      resultsOf([
        { case: "50/s in one lane", stored: 0, statements: 3.2 },
        { case: "50/s in twenty lanes", stored: 0, statements: 4.4, alone: 0.031 }
      ])
    )
    assert.strictEqual(found["statements per transaction at 50/s in one lane"], "3.20 statements false")
    assert.strictEqual(found["statements per transaction at 50/s in twenty lanes"], "4.40 statements true")
    assert.strictEqual(
      found["statements per transaction at 50/s in twenty lanes that write for one lane"],
      "0.031 statements false"
    )
  })

  it("a lower rate with history is worse", () => {
    const found = withHistory([
      { case: "one lane", stored: 0, perSecond: 300 },
      { case: "one lane", stored: 1_000_000, perSecond: 200 }
    ])
    assert.strictEqual(
      found["worst figure with 1,000,000 final, mean over the cases (end to end), worse by"],
      "1.50 × false"
    )
  })

  it("the worst figure with history is named, and is the mean over its cases", () => {
    const found = withHistory([
      { case: "single", stored: 0, toBroadcast: 20, toEvent: 300 },
      { case: "one lane", stored: 0, toBroadcast: 20, perSecond: 300 },
      { case: "single", stored: 1_000_000, toBroadcast: 80, toEvent: 300 },
      { case: "one lane", stored: 1_000_000, toBroadcast: 20, perSecond: 200 }
    ])
    assert.strictEqual(
      found["worst figure with 1,000,000 final, mean over the cases (request to broadcast), worse by"],
      "2.00 × false"
    )
  })

  it("a lower rate of acceptance with history is worse", () => {
    const found = withHistory([], 450)
    assert.strictEqual(found["acceptance while nothing is sent, with 1,000,000 final, worse by"], "2.00 × false")
  })
})

describe("goals of transactions of stellar", () => {
  const found = Object.fromEntries(
    judgedOfStellar(
      resultsOf([
        { case: "raw sender", stored: 0, perSecond: 1000 },
        { case: "one account", stored: 0, perBlock: 0.94, toEvent: 200 },
        { case: "few channels", stored: 0, perBlock: 45, toEvent: 400, calls: 3.1 },
        { case: "many channels of two relayers", stored: 0, perBlock: 160 },
        { case: "calls by few channels", stored: 0, calls: 4 },
        { case: "fee bumps", stored: 0, perSecond: 300 },
        { case: "drain", stored: 0, lastToEvent: 2100 }
      ])
    ).map(({ about, measured, met }) => [about, `${measured} ${met}`])
  )

  it("compare transactions per ledger with the accounts that can send", () => {
    assert.strictEqual(found["one account, transactions per ledger"], "0.94  false")
    assert.strictEqual(found["few channels, to 50 per ledger"], "0.90 × true")
    assert.strictEqual(found["many channels of two relayers, to 200 per ledger"], "0.80 × false")
  })

  it("compare fee bumps with the raw sender, and judge calls and times", () => {
    assert.strictEqual(found["fee bumps, end to end, to raw sender"], "0.30 × true")
    assert.strictEqual(found["RPC calls per transaction, few channels"], "3.10 calls false")
    assert.strictEqual(found["RPC calls per transaction, calls by few channels"], "4.00 calls true")
    assert.strictEqual(found["ledger to event, one account, median"], "0.20 s true")
    assert.strictEqual(found["ledger to event, few channels, median"], "0.40 s false")
    assert.strictEqual(found["last event after its ledger, 2,000 in flight"], "2.10 s false")
  })
})

describe("ratios of transactions", () => {
  const row: Row = { case: "one lane", stored: 0, perSecond: 300, serverMs: 1.5 }

  it("compare the figures of a case with those of the other checkout", () => {
    const before = {
      rows: [{ ...row, perSecond: 200, serverMs: 2 }],
      acceptances: [{ stored: 0, accepted: 1000, created: 800, ...changed }]
    }
    const now = { acceptances: [{ stored: 0, accepted: 900, created: 1000, ...changed }], before }
    assert.deepStrictEqual(ratios(resultsOf([row], now)), [
      "one lane, 0 final before: perSecond 1.50 ×, serverMs 0.75 ×",
      "nothing is sent, 0 final before: accepted 0.90 ×, created 1.25 ×"
    ])
  })

  it("leave out what only one of the checkouts measured", () => {
    const before = {
      rows: [
        { ...row, case: "drain" },
        { case: "one lane", stored: 0, calls: 2 }
      ],
      acceptances: []
    }
    assert.deepStrictEqual(ratios(resultsOf([row], { before })), [])
    assert.deepStrictEqual(ratios(resultsOf([row])), [])
  })
})
