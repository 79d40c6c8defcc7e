// Decisions about the work on channels, and how many transactions ask about the free ones.
import { assert, describe, it } from "@effect/vitest"
import { plan, totalsOf } from "../../../../src/networks/core/Queue.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { ChannelStage, ChannelWork, Stellar } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { placeOf } from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import { check, entry, lane, look, n, now, pending, prepared, ready, seen, situation } from "./Situations.ts"

const both = () => seen([look(n - 1n), look(n - 1n)])

const channelAt = (stage: ChannelStage, address = "channel", isTaken = false) => ({
  ...ready(isTaken),
  address,
  counters: { stage }
})

const work = (kind: ChannelWork["kind"]): Transaction<Stellar> => ({
  ...pending,
  origin: "channel",
  versions: [{ channels: { kind, addresses: ["channel"] } }]
})

const poor = { ...entry, balance: 30_000_000n }

describe("work on channels", () => {
  check([
    [
      "asks for what its signature needs",
      situation(work("create"), both(), { lane: lane(false, [channelAt("creating")]) }),
      "Ask prepare"
    ],
    [
      "is signed by the relayer's own account",
      situation(work("create"), prepared({ operations: 4 }), { lane: lane(false, [channelAt("creating")]) }),
      "Sign original 600"
    ],
    [
      "waits for the own account",
      situation(work("create"), both(), { lane: lane(true, [channelAt("creating")]) }),
      "Hold lane_window_full"
    ],
    [
      "ends when others have made the channel",
      situation(work("create"), both(), { lane: lane(false, [channelAt("ready")]) }),
      "Finish canceled canceled"
    ],
    [
      "ends when the channel has ended",
      situation(work("merge"), both(), { lane: lane(false, []) }),
      "Finish canceled canceled"
    ],
    [
      "waits for what was sent with a channel that is to end",
      situation(work("merge"), both(), {
        lane: lane(false, [channelAt("draining", "channel", true)]),
        rest: { survey: { taken: new Map([["channel", 0]]), guests: 0, hasPendingGuests: false } }
      }),
      "Hold waits_for_predecessors"
    ],
    [
      "waits for funds",
      situation(work("create"), prepared({ out: 15_000_000n }, [look(n - 1n, { payer: poor })]), {
        lane: lane(false, [channelAt("creating")])
      }),
      "Hold insufficient_funds"
    ]
  ])

  it("holds up no transaction of a caller, neither without a place nor without funds", () => {
    for (const [view, isTaken] of [
      [both(), true],
      [prepared({ out: 15_000_000n }, [look(n - 1n, { payer: poor })]), false]
    ] as const) {
      const held = situation(work("create"), view, { lane: lane(isTaken, [channelAt("creating")]) })
      const [command] = stellarRules.decide(held)
      assert.deepInclude(command, { _tag: "Hold", scope: "transaction" })
    }
  })
})

const used = (address: string, number: number) => ({
  ...ready(),
  address,
  ...(number === 0 ? {} : { chainBlock: { number, hash: "" } })
})

describe("the place of a transaction that may use channels", () => {
  const terms = { usesChannels: true }

  it("is the channel whose last use is the oldest", () => {
    const channels = [used("a", 30), used("b", 10), used("c", 20)]
    assert.strictEqual(placeOf(lane(false, channels), pending, terms)?.account, "b")
    assert.strictEqual(placeOf(lane(false, [...channels, used("new", 0)]), pending, terms)?.account, "new")
  })

  it("is never one that is being made or ended, and the own account only while no channel is ready", () => {
    const [own] = lane().accounts
    const unready = [channelAt("creating", "a"), channelAt("draining", "b")]
    assert.strictEqual(placeOf(lane(false, unready), pending, terms)?.account, own.address)
    assert.isUndefined(placeOf(lane(false, [channelAt("ready", "c", true), ...unready]), pending, terms))
  })

  it("is the own account if it requires a sequence", () => {
    const [own] = lane().accounts
    const required = { ...pending, requiredSequence: n }
    assert.strictEqual(placeOf(lane(false, [used("a", 1)]), required, terms)?.account, own.address)
  })
})

it("as many transactions ask the chain as there are free channels", () => {
  const {
    terms,
    transaction: _,
    rest: __,
    view: ___,
    now: ____,
    ...base
  } = situation(pending, both(), {
    lane: lane(false, [used("a", 1), used("b", 2), channelAt("ready", "c", true)])
  })
  const candidates = Array.from({ length: 10 }, (_, index) => ({
    transaction: { ...pending, number: index },
    terms: { ...terms, usesChannels: true },
    view: both(),
    providers: ""
  }))
  const totals = totalsOf(stellarRules, [], { lastSignedAt: undefined, quietSince: undefined })
  const { questions } = plan(stellarRules, candidates, base, totals, now, 64)
  assert.deepStrictEqual(
    questions.map(({ transaction }) => transaction.number),
    [0, 1]
  )
})
