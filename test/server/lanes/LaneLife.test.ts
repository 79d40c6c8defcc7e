// The steps of a held lane, by the test clock. The ledger is a fake that refuses commits.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { warmUpSigner } from "../../../src/networks/evm/lane/EvmContext.ts"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { makeLaneKeys } from "../../../src/server/lanes/LaneNetwork.ts"
import type { KeyOptions } from "../../../src/server/lanes/LaneNetwork.ts"
import { makeLaneLife } from "../../../src/server/lanes/LanesJob.ts"
import { emptyMemory, makeBlockArrivals, makePulse } from "../../../src/server/lanes/StepState.ts"
import { maxSignaturesPerCommit } from "../../../src/networks/core/TransactionValues.ts"
import { LaneChanged, LaneId } from "../../../src/server/ledger/LedgerEntries.ts"
import * as OneNode from "./fake/OneNode.ts"

const laneId = LaneId.make(7)
const hold = { laneId, epoch: 1 }

const stored = OneNode.storedAt(laneId)
const wide = { ...stored, lane: { ...stored.lane, windowSize: 2 * maxSignaturesPerCommit } }
const waiting = OneNode.waitingIn(laneId)
const ended = OneNode.endedIn(laneId)

const newState = () => ({
  commits: 0,
  /** Commits that fail because a caller has changed a transaction. */
  refusals: 0,
  /** Whether the commit of the signature ends the only transaction. */
  isEnding: false,
  isOpen: true,
  /** Pending transactions. */
  pending: [waiting] as ReadonlyArray<typeof waiting>,
  isDraining: false,
  /** How long a step takes after it has read. */
  delay: Duration.zero as Duration.Input,
  reads: 0,
  /** Whether the rows of relayers are as they were read. */
  isAsRead: false,
  relayerReads: 0,
  /** When the newest step began. */
  readAt: 0,
  released: new Array<string>()
})

const start = Effect.fnUntraced(function* (state: ReturnType<typeof newState>) {
  const { network, signers, target } = OneNode.make()
  const targets = {
    get: () => Effect.sync(() => (state.relayerReads++, target)),
    known: (ids: Iterable<RelayerId>) =>
      state.relayerReads === 0 ? [] : [...ids].map((id) => ({ id, terms: { relayer: "row", networks: [] }, target }))
  }
  const ledger = yield* LaneLedger.pipe(
    Effect.provide(
      Layer.mock(LaneLedger, {
        lease: Duration.seconds(30),
        read: (_, relayers = []) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            state.reads++
            state.readAt = now
            const pending = state.isOpen ? state.pending : []
            const asRead = new Set(state.isAsRead ? relayers.map(({ id }) => id) : [])
            return { stored: wide, inFlight: [], pending, pendingCount: pending.length, asRead }
          }),
        release: (_, reason) => Effect.sync(() => state.released.push(reason) > 0),
        apply: () => Effect.succeed([]),
        saveLane: () => Effect.as(Effect.sleep(state.delay), stored),
        commitSignatures: (_, signatures) =>
          Effect.suspend(() => {
            state.commits++
            state.pending = state.pending.slice(signatures.length - 1)
            if (state.refusals-- > 0) return Effect.fail(new LaneChanged({ laneId }))
            state.isOpen = !state.isEnding
            return Effect.succeed(state.isEnding ? [ended] : [])
          })
      })
    )
  )
  const keys = (options: KeyOptions) => makeLaneKeys(signers, options)
  const context = {
    ledger,
    rules: network.rules,
    chain: network.open({ chain: stored.chain, address: stored.lane.accounts[0].address, genesis: undefined, keys }),
    targets,
    fees: { budgetOf: () => Effect.succeed({ maximumOf: () => undefined, limitsOf: () => [] }) },
    newId: Effect.succeed(waiting.id),
    pulse: makePulse(),
    arrivals: makeBlockArrivals(),
    hold,
    memory: emptyMemory()
  }
  const life = makeLaneLife(context, {
    draining: { isDraining: () => state.isDraining, begun: Effect.never, begin: Effect.void },
    supervised: (work) => work,
    isWaitedFor: Effect.succeed(false)
  })
  yield* Effect.forkScoped(life.run)
  return { ...life, pulse: context.pulse }
})

describe("a held lane", () => {
  it.effect("pauses longer and longer while its commits are refused, and goes on as usual after one that is not", () =>
    Effect.gen(function* () {
      // The test clock does not wait for modules.
      yield* warmUpSigner
      const state = { ...newState(), refusals: 1000 }
      yield* start(state)
      yield* TestClock.adjust("10 seconds")
      const tries = state.commits
      assert.isAtLeast(tries, 10)
      assert.isAtMost(tries, 20)
      state.refusals = 0
      yield* TestClock.adjust("10 seconds")
      assert.isAtLeast(state.commits - tries, 8)
      state.refusals = 1
      const before = state.commits
      yield* TestClock.adjust("1010 millis")
      assert.strictEqual(state.commits - before, 2)
    })
  )

  it.effect("reads its relayers again only if their rows are not as they were read", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const state = { ...newState(), isAsRead: true }
      yield* start(state)
      yield* TestClock.adjust("3 seconds")
      assert.isAbove(state.reads, 2)
      assert.strictEqual(state.relayerReads, 1)
      state.isAsRead = false
      const { reads } = state
      yield* TestClock.adjust("3 seconds")
      assert.isAbove(state.reads, reads)
      assert.strictEqual(state.relayerReads, 1 + state.reads - reads)
    })
  )

  it.effect("that has ended all its transactions is kept for 12 seconds, without a step", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const state = { ...newState(), isEnding: true }
      yield* start(state)
      yield* TestClock.adjust("11999 millis")
      assert.deepStrictEqual([state.reads, state.released], [1, []])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([state.reads, state.released], [2, ["idle"]])
    })
  )

  it.effect("that has ended all its transactions is given back at once if other lanes wait", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const state = { ...newState(), isEnding: true }
      const life = yield* start(state)
      yield* TestClock.adjust("1 second")
      yield* life.makeRoom
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(state.released, ["idle"])
    })
  )

  it.effect("that waits for a block is not given back if other lanes wait", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const state = newState()
      const life = yield* start(state)
      yield* TestClock.adjust("1500 millis")
      const { reads } = state
      yield* life.makeRoom
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([state.reads, state.released], [reads, []])
    })
  )
})

/** A lane at 1510 ms that would wait for the pulse until 1550 ms, because the process gave places 10 ms ago. */
const beating = Effect.fnUntraced(function* (state: ReturnType<typeof newState>) {
  yield* warmUpSigner
  const life = yield* start(state)
  yield* TestClock.adjust("1510 millis")
  life.pulse.signed(1500)
  return life
})

describe("a held lane of a process that signed lately", () => {
  it.effect("begins a step for what was accepted at the next moment of the pulse", () =>
    Effect.gen(function* () {
      const state = newState()
      const life = yield* beating(state)
      const { reads } = state
      yield* life.wake("accepted")
      yield* TestClock.adjust("39 millis")
      assert.strictEqual(state.reads, reads)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([state.reads, state.readAt], [reads + 1, 1550])
    })
  )

  it.effect("makes one step for all that is accepted until then", () =>
    Effect.gen(function* () {
      const state = newState()
      const life = yield* beating(state)
      const { reads } = state
      for (let wakes = 0; wakes < 4; wakes++) {
        yield* life.wake("accepted")
        yield* TestClock.adjust("10 millis")
      }
      yield* TestClock.adjust("400 millis")
      assert.deepStrictEqual([state.reads, state.readAt], [reads + 1, 1550])
    })
  )

  it.effect("makes another step for what is accepted after a step has read", () =>
    Effect.gen(function* () {
      const state = newState()
      const life = yield* beating(state)
      state.delay = "20 millis"
      yield* TestClock.adjust("500 millis")
      const { reads } = state
      assert.strictEqual(state.readAt, 2000)
      yield* life.wake("accepted")
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual([state.reads, state.readAt], [reads + 1, 2050])
    })
  )

  it.effect("begins a step for a command at once, also if it waits for the pulse already", () =>
    Effect.gen(function* () {
      for (const isWaiting of [false, true]) {
        const state = newState()
        const life = yield* beating(state)
        const { reads } = state
        const now = yield* Clock.currentTimeMillis
        life.pulse.signed(now)
        if (isWaiting) yield* life.wake("accepted")
        yield* TestClock.adjust("5 millis")
        assert.strictEqual(state.reads, reads)
        yield* life.wake("command")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual([state.reads, state.readAt], [reads + 1, now + 5])
        state.isDraining = true
        yield* life.wake("draining")
        yield* TestClock.adjust("490 millis")
      }
    })
  )

  it.effect("is given back at once if the process drains, also if it waits for the pulse already", () =>
    Effect.gen(function* () {
      const state = newState()
      const life = yield* beating(state)
      yield* life.wake("accepted")
      yield* TestClock.adjust("5 millis")
      state.isDraining = true
      yield* life.wake("draining")
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(state.released, ["draining"])
    })
  )

  it.effect("is given back at once if nothing of it is open and other lanes wait", () =>
    Effect.gen(function* () {
      const state = { ...newState(), isEnding: true }
      const life = yield* beating(state)
      yield* life.makeRoom
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(state.released, ["idle"])
    })
  )

  it.effect("begins a step at once after one that gave as many places as one commit gives", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const rows = Array.from({ length: maxSignaturesPerCommit }, (_, index) =>
        OneNode.waitingIn(LaneId.make(index + 1))
      )
      const state = {
        ...newState(),
        pending: rows.map((row, index) => ({ ...row, transaction: { ...row.transaction, number: index + 1 } }))
      }
      const { pulse } = yield* start(state)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([state.commits, state.reads, state.readAt], [2, 2, 0])
      assert.strictEqual(pulse.delay(1, 1000), 49)
    })
  )

  it.effect("polls at the planned moment", () =>
    Effect.gen(function* () {
      const state = newState()
      const life = yield* beating(state)
      yield* TestClock.adjust("480 millis")
      life.pulse.signed(1990)
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(state.readAt, 2000)
    })
  )
})

describe("the pulse", () => {
  it("has a moment each twentieth of the block time, but each 50 ms at the soonest and each 250 ms at the latest", () => {
    const pulse = makePulse()
    pulse.signed(1001)
    const nextOf = (blockTime: number) => 1001 + pulse.delay(1001, blockTime)
    assert.deepStrictEqual(
      [0, 250, 1000, 2000, 5000, 12_000, 3_600_000].map(nextOf),
      [1050, 1050, 1050, 1100, 1250, 1250, 1250]
    )
  })

  it("lets a step begin at once if the process signed nothing for an interval, and at its own moments", () => {
    const pulse = makePulse()
    assert.strictEqual(pulse.delay(1001, 1000), 0, "it never signed")
    pulse.signed(1001)
    assert.deepStrictEqual([pulse.delay(1049, 1000), pulse.delay(1050, 1000), pulse.delay(1051, 1000)], [1, 0, 0])
    assert.strictEqual(pulse.delay(1051, 2000), 49, "the interval of another network is longer")
  })
})
