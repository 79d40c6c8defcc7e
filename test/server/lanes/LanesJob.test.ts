// The job that holds lanes, by the test clock: claims, renewals, lost leases, wake-ups and draining. The ledger is a fake.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import * as EvmMarkets from "../../../src/networks/evm/chain/EvmMarkets.ts"
import { EvmNodes, makeHeads } from "../../../src/networks/evm/chain/EvmNodes.ts"
import * as EvmLane from "../../../src/networks/evm/lane/EvmLane.ts"
import { laneOf } from "../../../src/networks/evm/rules/Evm.ts"
import { SendingNetworks } from "../../../src/server/lanes/LaneNetwork.ts"
import type { AcceptedHere } from "../../../src/server/ledger/Holder.ts"
import { LaneId } from "../../../src/server/ledger/LedgerEntries.ts"
import type { HeldLane, Hold, LaneContents, StoredTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { RelayerId, RelayerNotFound } from "../../../src/domain/relayer/Relayer.ts"
import { CommitSignals, Draining } from "../../../src/server/lifecycle/Lifecycle.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import { lane, pending } from "../../networks/evm/rules/Fixtures.ts"
import * as Job from "./fake/Job.ts"

const laneId = LaneId.make(7)

const held = (epoch: number): HeldLane => ({
  hold: { laneId, epoch },
  stored: { id: laneId, chain: "evm:1", lane: laneOf(lane().lane), trustsCount: false, nextPollAt: 0, isHeld: true }
})

/** Its relayer was deleted, so that a step reads the ledger and waits. */
const waiting: StoredTransaction = {
  id: TransactionId.make("00000000-0000-4000-8000-000000000001"),
  version: 1,
  laneId,
  relayerId: RelayerId.make("r1"),
  chain: "evm:1",
  from: lane().lane.address,
  transaction: pending({ validUntil: 1e12 })
}

/** What the job did, and what the ledger will answer. */
const newState = () => ({
  isFree: true,
  isLost: false,
  isWaitedFor: false,
  /** How long a step takes. */
  delay: Duration.zero as Duration.Input,
  contents: { stored: held(1).stored, inFlight: [], pending: [waiting], pendingCount: 1 } as LaneContents,
  newest: 1,
  epoch: 0,
  claims: 0,
  reads: 0,
  hasLanes: false,
  warmUps: 0,
  signalled: 0,
  renewed: new Array<{ readonly at: number; readonly holds: ReadonlyArray<Hold> }>(),
  released: new Array<string>(),
  commands: new Array<string>(),
  /** What the job does when another instance says that it has canceled or replaced something. */
  tell: Effect.void,
  /** The callback that the job has registered for accepted transactions. */
  hear: (() => Effect.void) as (accepted: ReadonlyArray<AcceptedHere>) => Effect.Effect<void>
})

type State = ReturnType<typeof newState>

const ledgerOf = (state: State) =>
  Layer.mock(LaneLedger, {
    lease: Duration.seconds(30),
    claim: (types) =>
      Effect.sync(() => {
        state.claims++
        const isFree = state.isFree && types.includes("evm")
        state.isFree = false
        return isFree ? [held(++state.epoch)] : []
      }),
    renew: (holds) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        state.renewed.push({ at, holds })
        return state.isLost ? [] : holds
      }),
    release: (_, reason) => Effect.sync(() => state.released.push(reason) > 0),
    read: () =>
      Effect.suspend(() => {
        state.reads++
        return Effect.as(Effect.sleep(state.delay), state.contents)
      }),
    news: () => Effect.sync(() => new Map([[laneId, { newest: state.newest, commands: new Set(state.commands) }]])),
    listen: (heard) =>
      Effect.andThen(
        Effect.sync(() => void (state.tell = heard)),
        Effect.never
      ),
    hearAccepted: (hear) => Effect.sync(() => void (state.hear = hear)),
    apply: () => Effect.succeed([]),
    hasLanes: Effect.sync(() => state.hasLanes),
    hasWork: () => Effect.sync(() => state.isWaitedFor)
  })

/** Counts signals, and wakes nobody: the job runs again only when its own wait ends. */
const signalsOf = (state: State) =>
  Layer.succeed(CommitSignals, {
    get: () => ({
      now: Effect.sync(() => void state.signalled++),
      afterCommit: Effect.void,
      wait: (atMost = "1 second") => Effect.sleep(atMost)
    })
  })

/** Evm, without nodes: its warm-up is counted. */
const networks = (state: State) =>
  SendingNetworks.layer(
    Effect.map(EvmLane.network, (evm) => [{ ...evm, warmUp: Effect.sync(() => void state.warmUps++) }])
  ).pipe(
    Layer.provide(Layer.mock(EvmNodes, { heads: makeHeads(), markets: EvmMarkets.make() })),
    Layer.provide(Layer.mock(RelayerTargets, { known: () => [] }))
  )

const services = (state: State) =>
  Job.layer(
    Layer.mergeAll(
      ledgerOf(state),
      signalsOf(state),
      Layer.mock(Signers, {}),
      Layer.mock(RelayerTargets, { getRemembering: () => Effect.fail(new RelayerNotFound({})), known: () => [] }),
      networks(state)
    )
  )

/** The job after its first round: it holds the lane at epoch 1, and has made one step. */
const start = Effect.gen(function* () {
  const state = newState()
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Layer.buildWithScope(services(state), scope)
  yield* TestClock.adjust("1 second")
  assert.strictEqual(state.epoch, 1)
  return { state, draining: Context.get(context, Draining), end: Scope.close(scope, Exit.void) }
})

describe("the job of lanes", () => {
  it.effect("loads what signatures need two seconds after the start, if the database has lanes", () =>
    Effect.gen(function* () {
      for (const hasLanes of [false, true]) {
        const state = { ...newState(), hasLanes }
        yield* Layer.build(services(state))
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual(state.warmUps, 0)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(state.warmUps, hasLanes ? 1 : 0)
      }
    })
  )

  it.effect("renews every 10 seconds the lanes whose fibers run, by id and epoch", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(
        state.renewed.map(({ holds }) => holds),
        Array.from({ length: 3 }, () => [{ laneId, epoch: 1 }])
      )
      const [first, second] = state.renewed
      assert.strictEqual((second?.at ?? 0) - (first?.at ?? 0), 10_000)
    })
  )

  it.effect("keeps a lane whose step takes longer than a lease, as with a signer that is silent", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      const { reads } = state
      state.delay = "45 seconds"
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([state.reads, state.epoch, state.released], [reads + 1, 1, []])
      assert.isAbove(state.renewed.length, 4)
      assert.isTrue(state.renewed.every(({ holds }) => holds.length === 1))
    })
  )

  it.effect("ends the fiber of a lane that was not renewed, and renews it no more", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      state.isLost = true
      yield* TestClock.adjust("10 seconds")
      const { reads } = state
      state.isLost = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(state.reads, reads)
      assert.lengthOf(state.renewed, 1)
    })
  )

  it.effect("claims a lane again that became free, at its next epoch", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      state.isLost = true
      yield* TestClock.adjust("10 seconds")
      state.isLost = false
      state.isFree = true
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(state.renewed.at(-1)?.holds, [{ laneId, epoch: 2 }])
    })
  )

  it.effect("makes a step within a second after another instance has accepted something for its lane", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      yield* TestClock.adjust("3 seconds")
      const { reads } = state
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(state.reads, reads, "nothing was accepted")
      state.newest = 2
      yield* TestClock.adjust("1100 millis")
      assert.strictEqual(state.reads, reads + 1)
    })
  )

  it.effect(
    "makes a step at once after this process has accepted something for its lane, and no other step for it",
    () =>
      Effect.gen(function* () {
        const { state } = yield* start
        yield* TestClock.adjust("3 seconds")
        const { reads } = state
        state.newest = 2
        yield* state.hear([{ laneId, number: 2 }])
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(state.reads, reads + 1)
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(state.reads, reads + 1)
      })
  )

  it.effect(
    "claims lanes in its next round after this process has accepted something for a lane that it does not hold",
    () =>
      Effect.gen(function* () {
        const { state } = yield* start
        const { signalled } = state
        yield* state.hear([{ laneId: LaneId.make(8), number: 3 }])
        assert.strictEqual(state.signalled, signalled + 1)
      })
  )

  it.effect("starts its next round at once when another instance says that it has canceled or replaced something", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      const before = state.signalled
      yield* state.tell
      assert.strictEqual(state.signalled, before + 1)
    })
  )

  it.effect("makes a step after a transaction in flight was canceled, once", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      yield* TestClock.adjust("3 seconds")
      const { reads } = state
      state.commands.push("cancel of 1")
      yield* TestClock.adjust("1100 millis")
      assert.strictEqual(state.reads, reads + 1)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(state.reads, reads + 1)
    })
  )

  it.effect("polls a waiting lane every 12 seconds", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      const { reads } = state
      yield* TestClock.adjust("36 seconds")
      assert.strictEqual(state.reads, reads + 3)
    })
  )

  it.effect("gives an idle lane back", () =>
    Effect.gen(function* () {
      const { state } = yield* start
      state.contents = { ...state.contents, pending: [], pendingCount: 0 }
      yield* TestClock.adjust("12 seconds")
      assert.deepStrictEqual(state.released, ["idle"])
      const { reads } = state
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(state.reads, reads)
    })
  )

  it.effect("gives its lanes back when the instance drains, and claims no others", () =>
    Effect.gen(function* () {
      const { state, draining } = yield* start
      yield* draining.begin
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(state.released, ["draining"])
      const { claims } = state
      state.isFree = true
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(state.claims, claims)
    })
  )

  it.effect("gives its lanes back when it ends", () =>
    Effect.gen(function* () {
      const { state, end } = yield* start
      yield* end
      assert.deepStrictEqual(state.released, ["draining"])
    })
  )
})
