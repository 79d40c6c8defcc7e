// How many channels a lane gets, which of them are made and ended, and what a poll makes of them.
import { assert, describe, it } from "@effect/vitest"
import { lockedBy } from "../../../../src/domain/relayer/Policy.ts"
import type { ChannelStage } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { publicSettings } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import {
  leftOf,
  preparationOfWork,
  stageAfter,
  upkeepOf,
  usesChannels,
  wantedBy
} from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import type { ChannelState } from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import { lane, now, ready } from "./Situations.ts"

const named = (stage: ChannelStage, count: number) =>
  Array.from({ length: count }, (_, index) => ({ address: `${stage}-${index}`, stage }))

const upkeep = (wanted: number, channels: ChannelState["channels"], over: Partial<ChannelState> = {}) =>
  upkeepOf({ wanted, channels, isWorking: false, now, ...over })

const rows: ReadonlyArray<
  readonly [what: string, given: ReturnType<typeof upkeep>, expected: ReturnType<typeof upkeep>]
> = [
  ["nothing is wanted and nothing is there", upkeep(0, []), { _tag: "Nothing" }],
  ["as many are ready as are wanted", upkeep(3, named("ready", 3)), { _tag: "Nothing" }],
  ["some are missing", upkeep(5, named("ready", 2)), { _tag: "Create", again: [], fresh: 3 }],
  ["more are missing than one envelope makes", upkeep(100, []), { _tag: "Create", again: [], fresh: 10 }],
  [
    "a process died before it sent the envelope that makes them",
    upkeep(3, [...named("ready", 1), ...named("creating", 2)]),
    { _tag: "Create", again: ["creating-0", "creating-1"], fresh: 0 }
  ],
  [
    "some were not made and more are wanted",
    upkeep(20, named("creating", 4)),
    { _tag: "Create", again: ["creating-0", "creating-1", "creating-2", "creating-3"], fresh: 6 }
  ],
  [
    "fewer are wanted: the newest ones end",
    upkeep(1, named("ready", 3)),
    { _tag: "Merge", addresses: ["ready-2", "ready-1"] }
  ],
  [
    "fewer are wanted: those end first that were not made yet",
    upkeep(2, [...named("ready", 2), ...named("creating", 1)]),
    { _tag: "Merge", addresses: ["creating-0"] }
  ],
  [
    "more are to end than one envelope ends",
    upkeep(0, named("ready", 12)),
    {
      _tag: "Merge",
      addresses: named("ready", 12)
        .toReversed()
        .slice(0, 10)
        .map(({ address }) => address)
    }
  ],
  [
    "one is still to end, although more are wanted",
    upkeep(9, [...named("ready", 1), ...named("draining", 1)]),
    { _tag: "Merge", addresses: ["draining-0"] }
  ],
  ["work is open", upkeep(5, [], { isWorking: true }), { _tag: "Nothing" }],
  ["work failed a moment ago", upkeep(5, [], { failedAt: now - 299_000 }), { _tag: "Nothing" }],
  ["work failed five minutes ago", upkeep(5, [], { failedAt: now - 300_000 }), { _tag: "Create", again: [], fresh: 5 }]
]

describe("the upkeep of channels", () => {
  it.each(rows)("is right if %s", (_, given, expected) => {
    assert.deepStrictEqual(given, expected)
  })

  it("never has more than are wanted, and ends when as many are ready", () => {
    for (const [wanted, ready, creating, draining] of [
      [0, 7, 3, 2],
      [25, 4, 1, 1],
      [100, 0, 0, 0],
      [3, 30, 0, 0]
    ] as const) {
      let channels = [...named("ready", ready), ...named("creating", creating), ...named("draining", draining)]
      let made = 0
      for (let round = 0; round < 40; round++) {
        const next = upkeep(wanted, channels)
        if (next._tag === "Nothing") break
        if (next._tag === "Merge") {
          const ended = new Set(next.addresses)
          channels = channels.filter(({ address }) => !ended.has(address))
          continue
        }
        const fresh = Array.from({ length: next.fresh }, () => ({ address: `new-${made++}`, stage: "ready" as const }))
        const again = new Set(next.again)
        channels = channels.map((one) => (again.has(one.address) ? { ...one, stage: "ready" as const } : one))
        channels = [...channels, ...fresh]
        assert.isAtMost(channels.filter(({ stage }) => stage !== "draining").length, Math.max(wanted, ready + creating))
      }
      assert.deepStrictEqual([channels.length, upkeep(wanted, channels)._tag], [wanted, "Nothing"])
    }
  })
})

const sighting = (over: object = {}) => ({ exists: undefined, isTaken: false, isEnding: false, ...over })

const stages: ReadonlyArray<readonly [what: string, from: ChannelStage, seen: object, to: ChannelStage | undefined]> = [
  ["is ready when its account is seen", "creating", { exists: true }, "ready"],
  ["is not ready while the providers differ", "creating", {}, "creating"],
  ["is not ready without its account", "creating", { exists: false }, "creating"],
  ["stays ready while the providers differ", "ready", {}, "ready"],
  ["is made again if its account has gone", "ready", { exists: false }, "creating"],
  [
    "is not made again before it is proven what became of its transaction",
    "ready",
    { exists: false, isTaken: true },
    "ready"
  ],
  ["ends when a transaction is to end it", "ready", { exists: true, isEnding: true }, "draining"],
  ["ends at once if it was never made", "creating", { exists: false, isEnding: true }, undefined],
  ["goes on ending while its account is there", "draining", { exists: true }, "draining"],
  ["goes on ending while the providers differ", "draining", {}, "draining"],
  ["has ended when its account has gone", "draining", { exists: false }, undefined],
  ["has not ended while a transaction has a place there", "draining", { exists: false, isTaken: true }, "draining"]
]

describe("a channel", () => {
  it.each(stages)("%s", (_, from, seen, to) => {
    assert.strictEqual(stageAfter(from, sighting(seen)), to)
  })

  it("is left in an open transaction only while its stage is that of the work", () => {
    const accounts = [...named("creating", 1), ...named("ready", 1), ...named("draining", 1)]
    const found = lane(
      false,
      accounts.map(({ address, stage }) => ({ ...ready(), address, counters: { stage } }))
    )
    const all = accounts.map(({ address }) => address)
    assert.deepStrictEqual(leftOf({ kind: "create", addresses: all }, found).addresses, ["creating-0"])
    assert.deepStrictEqual(leftOf({ kind: "merge", addresses: [...all, "gone"] }, found).addresses, ["draining-0"])
  })

  it("costs four operations and 1.5 XLM when it is made, and one operation when it ends", () => {
    const addresses = ["a", "b"]
    const work = (kind: "create" | "merge", settings = publicSettings) =>
      preparationOfWork({ kind, addresses }, settings, undefined)
    assert.include(work("create"), { operations: 8, out: 30_000_000n })
    assert.include(work("merge"), { operations: 2, out: 0n })
    assert.include(work("create", { baseFee: 300n, baseReserve: 100_000_000n }), { baseFee: 300n, out: 600_000_000n })
    assert.deepStrictEqual([lockedBy(3), lockedBy(3, 100_000_000n)], [45_000_000n, 900_000_000n])
  })

  it("is wanted up to the highest count of all policies, and used unless concurrent_transactions is false", () => {
    assert.strictEqual(wantedBy([{}, { channels: { count: 2 } }, { channels: { count: 7 } }]), 7)
    assert.strictEqual(wantedBy([]), 0)
    assert.isTrue(usesChannels({ channels: { count: 1 } }))
    assert.isTrue(usesChannels({ channels: { count: 1 }, concurrent_transactions: true }))
    assert.isFalse(usesChannels({ channels: { count: 1 }, concurrent_transactions: false }))
    assert.isFalse(usesChannels({ channels: { count: 0 }, concurrent_transactions: true }))
    assert.isFalse(usesChannels({ concurrent_transactions: true }))
  })
})
