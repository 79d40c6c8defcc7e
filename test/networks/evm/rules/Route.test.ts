// Which providers get the bytes of a private transaction, when it becomes public, and how its lane ends.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { Command } from "../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../src/networks/core/Transaction.ts"
import type { Route, Transaction } from "../../../../src/networks/core/Transaction.ts"
import { apply, asRestored, eventsOf, isWorthWriting } from "../../../../src/networks/core/Transition.ts"
import { destinationOf, isSecret, laneOf, questionsOf } from "../../../../src/networks/evm/rules/Evm.ts"
import type { Evm, RevertsNow } from "../../../../src/networks/evm/rules/Evm.ts"
import { evmRules, hear } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { privateRestoreWait } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import { explain } from "../../../../src/networks/evm/rules/EvmWords.ts"
import { passedOverTip } from "../../../../src/networks/evm/rules/InFlight.ts"
import { tipOf } from "../../../../src/networks/evm/rules/Market.ts"
import { isHeldBack } from "../../../../src/networks/evm/rules/Route.ts"
import { decisions, later, noop, summary, unsent } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  mined,
  now,
  only,
  others,
  pending,
  seen,
  submitted,
  tagsOf,
  terms
} from "./Fixtures.ts"
import { effectsOf } from "./simulation/Blocks.ts"
import { watch } from "./simulation/Invariants.ts"
import { publish, resync } from "./simulation/Operators.ts"
import { acceptance, blocks, live, noFaults, replacement, rounds, settleAll } from "./simulation/Scenes.ts"
import type { Step } from "./simulation/Step.ts"
import { take } from "./simulation/Steps.ts"
import { newWorld, privateLife, privateNodes, transactionOf } from "./simulation/World.ts"
import type { PrivateNode, World } from "./simulation/World.ts"

const minute = 60_000
const route: Route = { kind: "private", since: now }
const falling: Route = { ...route, fallbackAfter: 2 * minute }
const fallen: Route = { kind: "fell_back", since: now }
const gap = (): Transaction<Evm> => submitted({ origin: "gap", intent: "clear", attempts: [noop(1)] })

/** An attempt at another nonce than 5. */
const attemptAt = (nonce: number) => attempt(1, { place: { account: lane().lane.address, sequence: BigInt(nonce) } })

const routed = (over: Parameters<typeof submitted>[0] = {}) => submitted({ route, ...over })

const tipsAbove = {
  baseFee: gwei,
  tips: { safeLow: 9n * gwei, average: 9n * gwei, fast: 9n * gwei, fastest: 9n * gwei }
}

describe("the bytes of a transaction", () => {
  it("go to private providers alone while it is private, and to both kinds when it has fallen back", () => {
    assert.strictEqual(destinationOf(submitted(), attempt(1)), "public")
    assert.strictEqual(destinationOf(routed(), attempt(1)), "private")
    assert.strictEqual(destinationOf(routed({ route: fallen }), attempt(1)), "both")
  })

  it("go to both kinds if they do nothing, of a private transaction and of a gap", () => {
    assert.strictEqual(destinationOf(routed(), noop(2)), "both")
    assert.strictEqual(destinationOf(gap(), noop(1)), "both")
    assert.strictEqual(destinationOf(submitted(), noop(2)), "public")
  })

  it("wait for public transactions between the chain's count and its nonce, before they leave for the first time", () => {
    const held = (of: Transaction<Evm>, publics: ReadonlyArray<number>) =>
      isHeldBack(of, of.attempts[0] ?? attempt(1), laneOf({ ...lane().lane, nextNonce: 8 }), {
        urgency: "fast",
        open: 2,
        publics
      })
    const waiting = routed({ nonce: 7, state: "signed", attempts: [unsent(attemptAt(7))] })
    assert.isTrue(held(waiting, [5]))
    assert.isTrue(held(waiting, [6]))
    assert.isFalse(held(waiting, [4]), "the chain has used it")
    assert.isFalse(held(waiting, [8]), "it is behind")
    assert.isFalse(held(waiting, []))
    assert.isFalse(held(routed({ nonce: 7, attempts: [attemptAt(7)] }), [5]), "they have left already")
    assert.isFalse(held(submitted({ nonce: 7, attempts: [unsent(attemptAt(7))] }), [5]), "they are public")
  })

  it("count as public for those behind them only while they are in flight on the public route", () => {
    const nonces = (...open: ReadonlyArray<Transaction<Evm>>) => evmRules.survey(open).publics
    assert.deepStrictEqual(nonces(submitted({ nonce: 5 }), routed({ nonce: 6 }), pending()), [5])
    assert.isUndefined(nonces(routed(), mined(), gap(), routed({ route: fallen })))
  })
})

describe("the hash of a private transaction", () => {
  it("is secret until a block shows it", () => {
    assert.isTrue(isSecret(routed(), attempt(1)))
    assert.isFalse(isSecret(mined({ route }), attempt(1)))
    assert.isTrue(isSecret(mined({ route, attempts: [attempt(1), attempt(2)] }), attempt(2)), "of another version")
    assert.isFalse(isSecret(routed(), noop(2)))
    assert.isFalse(isSecret(routed({ route: fallen }), attempt(1)))
  })

  it("is in no question: a block is searched for what used its nonce", () => {
    const canceled = routed({ attempts: [attempt(1), noop(2)] })
    assert.deepStrictEqual(questionsOf(routed(), 5), { receipts: [] })
    assert.deepStrictEqual(questionsOf(routed(), 6), { receipts: [], place: 5 })
    assert.deepStrictEqual(questionsOf(canceled, 5), { receipts: [], pooled: noop(2).hash })
    assert.deepStrictEqual(questionsOf(canceled, 6), { receipts: [noop(2).hash], place: 5 })
    assert.deepStrictEqual(questionsOf(routed({ route: fallen }), 6), { receipts: [attempt(1).hash] })
  })
})

/** The lane has seen a reorganisation that opened a predecessor. */
const behind = lane({ lane: { ...lane().lane, chainNonce: 4, settledNonce: 4 } })

const flying: ReadonlyArray<Case> = [
  ["at the count for the first time", "Reroute in_pool", routed({ route: { kind: "private" } })],
  ["at the count, on its way", "Hold transaction in_pool", routed(), undefined, undefined, now + 29_999],
  ["at the count for 30 s", "Broadcast in_pool", routed(), undefined, later(2), now + 30_000],
  ["whose predecessor is back in the chain's future", "Reroute none", routed(), behind, seen({ count: 4 })],
  ["that one provider shows beyond the count", "Hold transaction in_pool", routed(), undefined, seen({ count: 4 })],
  [
    "that one provider shows at the count, and the lane does not",
    "Hold transaction in_pool",
    routed({ route: { kind: "private" } }),
    behind
  ],
  [
    "while its fallback is not due",
    "Hold transaction in_pool",
    routed({ route: falling, attempts: [attempt(1, { lastSentAt: now + 119_000 })] }),
    undefined,
    later(2),
    now + 2 * minute - 1
  ],
  ["when its fallback is due", "Reroute none", routed({ route: falling }), undefined, later(2), now + 2 * minute],
  [
    "canceled, when its fallback would be due",
    "Hold transaction canceling",
    routed({ route: falling, intent: "cancel", attempts: [attempt(1), noop(2, { lastSentAt: now + 2 * minute })] }),
    undefined,
    undefined,
    now + 2 * minute
  ],
  [
    "that three blocks could have included",
    "Hold transaction private_not_included",
    routed(),
    undefined,
    later(3, { revertsNow: {} }),
    now + 6000
  ],
  [
    "that three blocks could have included, before anybody was asked why",
    "Ask none",
    routed(),
    undefined,
    later(3),
    now + 6000
  ],
  [
    "that blocks passed over, three times late",
    "Hold transaction private_not_included",
    routed({ attempts: [attempt(1, { lastSentAt: now + 23_000 })] }),
    undefined,
    later(12, { revertsNow: {} }),
    now + 24_000
  ],
  [
    "that blocks passed over while the market went above it",
    "Sign bump underpriced_bumping",
    routed(),
    undefined,
    later(4, { market: tipsAbove }),
    now + 8000
  ],
  [
    "that a private provider calls underpriced",
    "Hold transaction underpriced_bumping",
    routed({ attempts: [attempt(1, { outcome: "refused", refusal: { class: "price" } })] }),
    undefined,
    later(4),
    now + 8000
  ],
  ["that a normal provider shows", "Reroute none", routed(), undefined, seen({ isLeaked: true }), now + 7],
  [
    "that a normal provider has shown before",
    "Hold transaction in_pool",
    routed({ route: { ...route, seenPublicly: now } }),
    undefined,
    seen({ isLeaked: true }),
    now + 7
  ],
  [
    "without a private provider",
    "Hold transaction no_private_rpc",
    routed(),
    lane({ terms: terms({ hasPrivateProviders: false }) }),
    undefined,
    now + minute
  ],
  [
    "without a private provider, when its fallback is due",
    "Reroute none",
    routed({ route: falling }),
    lane({ terms: terms({ hasPrivateProviders: false }) }),
    undefined,
    now + 2 * minute
  ],
  [
    "that has fallen back since it was sent",
    "Broadcast not_in_pool_rebroadcast",
    routed({ route: { kind: "fell_back", since: now + 5 } }),
    undefined,
    undefined,
    now + 6
  ],
  [
    "behind a public one, never sent",
    "Hold transaction waits_for_predecessors",
    routed({ route: { kind: "private" }, nonce: 6, state: "signed", attempts: [unsent(attemptAt(6))] }),
    lane({ others: others({ survey: { urgency: "safeLow", open: 2, publics: [5] } }) })
  ]
]

describe("a private transaction in flight", () => {
  decisions(flying)

  it("is sent again in the decision that begins its time: its providers may have refused a nonce beyond the next", () => {
    const commands = commandsOf(routed({ route: { kind: "private", fallbackAfter: minute } }), lane(), seen(), now + 7)
    assert.deepStrictEqual(tagsOf(commands), ["Reroute", "Broadcast", "Hold", "PollAt"])
    assert.deepStrictEqual(only(commands, "Reroute").route, { kind: "private", fallbackAfter: minute, since: now + 7 })
  })

  it("becomes public in one change, which is an event, and is sent by the next decision", () => {
    const before = routed({ route: falling })
    const at = now + 2 * minute
    const commands = commandsOf(before, lane(), later(2), at)
    const after = apply(before, only(commands, "Reroute"), at)
    assert.deepStrictEqual(after.route, { ...falling, kind: "fell_back", since: at })
    assert.isTrue(isWorthWriting(before, after))
    assert.deepStrictEqual(eventsOf(before, after), ["transaction.route_changed"])
    assert.include(tagsOf(commandsOf(after, lane(), later(2), at)), "Broadcast")
  })

  const notIncluded = (given: Partial<Transaction<Evm>>, revertsNow: RevertsNow) =>
    only(commandsOf(routed(given), lane(), later(3, { revertsNow }), now + 6000), "Hold").cause

  it("is reported when it is first seen publicly, and stays private", () => {
    const before = routed()
    const after = apply(before, only(commandsOf(before, lane(), seen({ isLeaked: true }), now + 7), "Reroute"), now + 7)
    assert.deepStrictEqual(after.route, { ...route, seenPublicly: now + 7 })
    assert.isTrue(isWorthWriting(before, after))
    assert.deepStrictEqual(eventsOf(before, after), ["transaction.seen_publicly"])
    assert.deepStrictEqual(eventsOf(after, { ...after, causeSince: now + 9 }), [])
  })

  it("shows whether its call would revert now, in words too, and says nothing of it if no provider has answered", () => {
    const reverting = notIncluded({}, { wouldRevert: true, reason: "too late" })
    assert.deepInclude(reverting.figures, { would_revert_now: true, revert_reason: "too late" })
    assert.include(explain(reverting, false).reason, "Its call would revert now: too late")
    for (const [given, figure] of [
      [{ wouldRevert: false }, false],
      [{}, undefined]
    ] as const) {
      const found = notIncluded({}, given)
      assert.strictEqual(found.figures.would_revert_now, figure)
      assert.notInclude(explain(found, false).reason, "would revert now")
    }
  })

  it("shows when the wait ends: by its fallback, else by its deadline", () => {
    const until = (of: Route) => notIncluded({ route: of, validUntil: now + 5 * minute }, {}).figures.until
    assert.strictEqual(until(route), now + 5 * minute)
    assert.strictEqual(until(falling), now + 2 * minute)
  })

  it("says nothing about tips that the chain takes, whatever private providers say", () => {
    const refused = attempt(1, { outcome: "refused", refusal: { class: "price" } })
    const view = seen({ market: { baseFee: gwei, tips: tipsAbove.tips, roomyBlocks: 10 } })
    assert.isDefined(passedOverTip(submitted({ attempts: [refused] }), view, now))
    assert.isUndefined(passedOverTip(routed({ attempts: [refused] }), view, now))
  })

  it("without a nonce waits for a private provider, and others pass it", () => {
    const without = lane({ terms: terms({ hasPrivateProviders: false }) })
    assert.strictEqual(summary(commandsOf(pending({ route }), without)), "Hold transaction no_private_rpc")
    assert.strictEqual(summary(commandsOf(pending(), without)), "Sign original sending")
  })

  it("offers at least a wei as its tip: private providers include nothing without one", () => {
    const market = { baseFee: gwei, tips: { safeLow: 0n, average: 0n, fast: 0n, fastest: 0n } }
    const tip = (of: Transaction<Evm>) => tipOf(only(commandsOf(of, lane(), seen({ market })), "Sign").offer.fees)
    assert.deepStrictEqual([tip(pending({ route })), tip(pending())], [1n, 0n])
  })

  it("that gives up its nonce begins its time anew at the next one", () => {
    const command = Command.Requeue({ restored: false, requeues: 1, cause: cause("nonce_taken") })
    assert.deepStrictEqual(apply(routed({ route: falling }), command, now).route, {
      kind: "private",
      fallbackAfter: 2 * minute
    })
  })
})

describe("what private providers say", () => {
  const says = (message: string) => [{ _tag: "RpcError", code: -32000, message }] as const
  const at = { at: now, height: 100 }

  it("for good ends nothing", () => {
    const forGood = says("intrinsic gas too low")
    assert.isDefined(hear(submitted(), attempt(1), forGood, at).follows)
    assert.isUndefined(hear(routed(), attempt(1), forGood, at).follows)
  })

  it("about their pools says nothing about the window of the lane", () => {
    const full = says("txpool is full")
    assert.isTrue(hear(submitted(), attempt(1), full, at).isWindowFull)
    assert.isFalse(hear(routed(), attempt(1), full, at).isWindowFull)
  })

  it("in unknown words holds no later transaction of the lane", () => {
    const refused = (times: number) =>
      attempt(1, { outcome: "refused", refusal: { class: "unknown", words: "no", times } })
    const open = { state: "signed", attempts: [refused(3)] } as const
    assert.isTrue(evmRules.survey([submitted(open)]).isRefused)
    assert.isUndefined(evmRules.survey([routed(open)]).isRefused)
  })
})

describe("an operator's answer about a restored private transaction", () => {
  const answered = (of: Transaction<Evm>, answer: "send" | "give_up", at: number) =>
    evmRules.resolve?.(of, answer, { lane: laneOf(lane().lane), now: at, usedBelow: 0n }) ?? Result.succeed(undefined)
  const waiting = { restored: true, cause: cause("restored_unproven"), causeSince: now - 90 * minute } as const

  it("is send only when private providers have forgotten what was sent after the copy", () => {
    const before: Route = { kind: "private", since: now - 60 * minute }
    const restored = asRestored(pending({ route: before, ...waiting }), now)
    assert.isTrue(Result.isFailure(answered(restored, "send", now + privateRestoreWait - 1)))
    assert.isTrue(Result.isSuccess(answered(restored, "send", now + privateRestoreWait)))
    assert.isTrue(Result.isSuccess(answered(restored, "give_up", now)))
    assert.isTrue(Result.isSuccess(answered(pending(waiting), "send", now)), "a public one is seen by everybody")
  })
})

/** A request that is private from its acceptance on, with a fallback after 30 seconds at the count if `fallback` is 1. */
const privately = (fallback: 0 | 1 = 0): Extract<Step, { readonly do: "Accept" }> => ({
  ...acceptance,
  isPrivate: true,
  fallback
})
const assign: Step = { do: "Assign", faults: noFaults }
const poll: Step = { do: "Poll", faults: noFaults }

const begun = (privateNode: PrivateNode, ...steps: ReadonlyArray<Step>): World => {
  const world = newWorld({ privateNode })
  take(world, { do: "PollLane", faults: noFaults }, watch)
  live(world, steps)
  return world
}

describe("a lane with private transactions", () => {
  it("is executed by private providers, which nobody else sees", () => {
    const world = begun("takes", privately(), privately(), assign)
    rounds(world, 6)
    assert.deepStrictEqual(
      world.ledger.transactions.map(({ number, state }) => [state, effectsOf(world, number)]),
      [
        ["confirmed", 1],
        ["confirmed", 1]
      ]
    )
    assert.strictEqual(world.left.size, 0)
  })

  it("sends a private transaction to those who refuse a nonce beyond the next when its public predecessors are mined", () => {
    const world = begun("next", acceptance, privately(), assign)
    assert.isUndefined(transactionOf(world, 2).attempts[0]?.firstSent)
    rounds(world, 6)
    assert.strictEqual(transactionOf(world, 2).state, "confirmed")
  })

  it("ends a cancel although private providers swallow the no-op", () => {
    const world = begun("swallows", privately(), assign, { do: "Cancel", which: 0 }, poll)
    rounds(world, 6)
    assert.strictEqual(transactionOf(world, 1).state, "canceled")
    assert.strictEqual(effectsOf(world, 1), 0)
  })

  it("keeps what a reorganisation removed private", () => {
    const world = begun("takes", privately(), assign)
    rounds(world, 1)
    live(world, [poll])
    assert.strictEqual(transactionOf(world, 1).state, "mined")
    live(world, [{ do: "Reorg", depth: 1 }, poll])
    assert.strictEqual(transactionOf(world, 1).state, "submitted")
    assert.strictEqual(world.left.size, 0)
    settleAll(world)
  })

  it("executes once what was sent after the copy that the ledger was put back from", () => {
    const world = begun("takes", privately(), { do: "Backup" }, assign, { do: "Restore" })
    world.now += privateLife
    resync(world, "send")
    assert.isTrue(transactionOf(world, 1).restored)
    world.now += privateRestoreWait
    resync(world, "send")
    assert.isFalse(transactionOf(world, 1).restored)
    settleAll(world)
    assert.isAtMost(effectsOf(world, 1), 1)
  })

  for (const privateNode of privateNodes) {
    it(`ends every state without a private provider that works: ${privateNode} before`, () => {
      const world = begun(
        privateNode,
        privately(1),
        privately(),
        acceptance,
        assign,
        poll,
        replacement,
        poll,
        { do: "Crash" },
        { do: "PollLane", faults: noFaults },
        privately(1),
        assign
      )
      settleAll(world)
      assert.isTrue(world.ledger.transactions.every(isFinal))
    })
  }

  it("publishes what an operator makes public when every private provider is dead", () => {
    const world = begun("dead", privately(), assign)
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "signed")
    publish(world)
    rounds(world, 6)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
  })

  it("falls back by time at the chain's count alone", () => {
    const world = begun("dead", { ...acceptance, lasts: 1 }, { ...privately(1), lasts: 1 }, assign)
    world.pool = new Map()
    world.now += 10 * minute
    live(world, [poll])
    assert.strictEqual(transactionOf(world, 2).route?.kind, "private")
    blocks(world, 1)
    rounds(world, 3)
    world.now += minute
    rounds(world, 6)
    assert.deepStrictEqual(
      world.ledger.transactions.map(({ state, route: of }) => [state, of?.kind]),
      [
        ["confirmed", undefined],
        ["confirmed", "fell_back"]
      ]
    )
  })
})
