// The steps of a held lane, by the test clock. The ledger is a fake that refuses commits.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { warmUpSigner } from "../../../src/networks/evm/lane/EvmContext.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { makeLaneKeys } from "../../../src/server/lanes/LaneNetwork.ts"
import type { KeyOptions } from "../../../src/server/lanes/LaneNetwork.ts"
import { makeLaneLife } from "../../../src/server/lanes/LanesJob.ts"
import { emptyMemory } from "../../../src/server/lanes/StepState.ts"
import { LaneChanged, LaneId } from "../../../src/server/ledger/LedgerEntries.ts"
import * as OneNode from "./fake/OneNode.ts"

const laneId = LaneId.make(7)
const hold = { laneId, epoch: 1 }

const stored = OneNode.storedAt(laneId)
const waiting = OneNode.waitingIn(laneId)
const ended = OneNode.endedIn(laneId)

const newState = () => ({
  commits: 0,
  /** Commits that fail because a caller has changed a transaction. */
  refusals: 0,
  /** Whether the commit of the signature ends the only transaction. */
  isEnding: false,
  isOpen: true,
  reads: 0,
  released: new Array<string>()
})

const start = Effect.fnUntraced(function* (state: ReturnType<typeof newState>) {
  const { network, signers, targets } = OneNode.make()
  const ledger = yield* LaneLedger.pipe(
    Effect.provide(
      Layer.mock(LaneLedger, {
        lease: Duration.seconds(30),
        read: () =>
          Effect.sync(() => {
            state.reads++
            const pending = state.isOpen ? [waiting] : []
            return { stored, inFlight: [], pending, pendingCount: pending.length }
          }),
        release: (_, reason) => Effect.sync(() => state.released.push(reason) > 0),
        apply: () => Effect.succeed([]),
        saveLane: () => Effect.succeed(stored),
        commitSignatures: () =>
          Effect.suspend(() => {
            state.commits++
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
    hold,
    memory: emptyMemory()
  }
  const life = makeLaneLife(context, {
    draining: { isDraining: () => false, begun: Effect.never, begin: Effect.void },
    supervised: (work) => work,
    busy: () => 1,
    isWaitedFor: Effect.succeed(false)
  })
  yield* Effect.forkScoped(life.run)
  return life
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

  it.effect("that has ended all its transactions is kept for 12 seconds, without a step", () =>
    Effect.gen(function* () {
      yield* warmUpSigner
      const state = { ...newState(), isEnding: true }
      const life = yield* start(state)
      yield* TestClock.adjust("11999 millis")
      assert.deepStrictEqual([state.reads, state.released], [1, []])
      assert.isFalse(life.isBusy(), "it makes no other lane rest longer")
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
      assert.isTrue(life.isBusy())
    })
  )
})
