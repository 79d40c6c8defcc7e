// Lanes of one process step together while it signs, by the test clock.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { warmUpSigner } from "../../../src/networks/evm/lane/EvmContext.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { SendingNetworks } from "../../../src/server/lanes/LaneNetwork.ts"
import type { AcceptedHere } from "../../../src/server/ledger/Holder.ts"
import { LaneId } from "../../../src/server/ledger/LedgerEntries.ts"
import { CommitSignals } from "../../../src/server/lifecycle/Lifecycle.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept } from "../../../testkit/LedgerRows.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Job from "./fake/Job.ts"
import * as OneNode from "./fake/OneNode.ts"
import * as World from "./fake/World.ts"

const lanes = [LaneId.make(1), LaneId.make(2), LaneId.make(3)] as const

/** Lanes that always have a transaction to sign. */
const newState = () => ({
  /** Lanes that no process holds. */
  free: [...lanes],
  /** Lanes with the moments at which their steps began, since `watch`. */
  steps: new Array<readonly [number, number]>(),
  /** The callback that the job has registered for accepted transactions. */
  hear: (() => Effect.void) as (accepted: ReadonlyArray<AcceptedHere>) => Effect.Effect<void>
})

type State = ReturnType<typeof newState>

const ledgerOf = (state: State) =>
  Layer.mock(LaneLedger, {
    lease: Duration.seconds(30),
    claim: () =>
      Effect.sync(() =>
        state.free.splice(0).map((id) => ({ hold: { laneId: id, epoch: 1 }, stored: OneNode.storedAt(id) }))
      ),
    renew: (holds) => Effect.succeed(holds),
    release: () => Effect.succeed(true),
    read: ({ laneId }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.steps.push([laneId, now])
        return {
          stored: OneNode.storedAt(laneId),
          inFlight: [],
          pending: [OneNode.waitingIn(laneId)],
          pendingCount: 1
        }
      }),
    saveLane: ({ laneId }) => Effect.succeed(OneNode.storedAt(laneId)),
    commitSignatures: () => Effect.succeed([]),
    apply: () => Effect.succeed([]),
    news: () => Effect.succeed(new Map()),
    listen: () => Effect.never,
    hearAccepted: (hear) => Effect.sync(() => void (state.hear = hear)),
    hasLanes: Effect.succeed(false),
    hasWork: () => Effect.succeed(false)
  })

const jobOf = (ledger: Layer.Layer<LaneLedger>, blockTime: number) => {
  const { network, signers, targets } = OneNode.make({ average_blocktime_ms: blockTime })
  const latch = Latch.makeUnsafe(false)
  const signal = {
    now: Effect.asVoid(latch.open),
    afterCommit: Effect.asVoid(latch.open),
    wait: (atMost: Duration.Input = Duration.infinity) =>
      Effect.andThen(Effect.timeoutOption(latch.await, atMost), Effect.asVoid(latch.close))
  }
  return Job.layer(
    Layer.mergeAll(
      ledger,
      Layer.succeed(CommitSignals, { get: () => signal }),
      Layer.mock(Signers, signers),
      Layer.mock(RelayerTargets, targets),
      SendingNetworks.layer(Effect.succeed([network]))
    )
  )
}

/** Runs the job until `at` milliseconds, and forgets the steps until then. */
const watch = Effect.fnUntraced(function* (blockTime: number, at: number) {
  // The test clock does not wait for modules.
  yield* warmUpSigner
  const state = newState()
  yield* Layer.build(jobOf(ledgerOf(state), blockTime))
  yield* TestClock.adjust(at)
  state.steps.length = 0
  const heard = Effect.fnUntraced(function* (laneId: LaneId) {
    yield* state.hear([{ laneId, number: 1 }])
    yield* TestClock.adjust("10 millis")
  })
  return { state, heard }
})

describe("the lanes of a process", () => {
  it.effect("step at once if it signed nothing lately, and together at the next moment of the pulse after that", () =>
    Effect.gen(function* () {
      const { state, heard } = yield* watch(1000, 3511)
      const [one, two, three] = lanes
      yield* heard(one)
      yield* heard(two)
      yield* heard(one)
      yield* heard(three)
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual(state.steps[0], [one, 3511])
      assert.sameDeepMembers(state.steps.slice(1), [
        [two, 3550],
        [one, 3550],
        [three, 3550]
      ])
    })
  )

  it.effect("wait for the pulse of their network, which is slower if its blocks are", () =>
    Effect.gen(function* () {
      const { state, heard } = yield* watch(4000, 5001)
      const [one, two] = lanes
      yield* heard(one)
      yield* heard(two)
      yield* TestClock.adjust("400 millis")
      assert.deepStrictEqual(state.steps, [
        [one, 5001],
        [two, 5200]
      ])
    })
  )

  it.effect("wait for no pulse after a pause", () =>
    Effect.gen(function* () {
      const { state, heard } = yield* watch(1000, 3511)
      const [one, two] = lanes
      yield* heard(one)
      yield* TestClock.adjust("190 millis")
      yield* heard(two)
      assert.deepStrictEqual(state.steps, [
        [one, 3511],
        [two, 3711]
      ])
    })
  )
})

const account = {
  relayerId: RelayerId.make("r1"),
  relayerNumber: 1,
  chain: "evm:31337",
  address: World.address,
  window: 64
}

/** Milliseconds until a node has what a caller asks for. */
const atMost = 250

/** Milliseconds. */
const acceptEvery = 20

layerEach(memory)("while 50 transactions are accepted in a second, of a network with a slow pulse", (it) => {
  const commands = [
    {
      name: "a cancel",
      kind: "noop" as const,
      give: (ledger: Ledger["Service"], id: TransactionId) => ledger.cancel(1, id)
    },
    {
      name: "a replacement",
      kind: "replace" as const,
      give: (ledger: Ledger["Service"], id: TransactionId) =>
        ledger.replace(1, id, { to: World.receiver, value: 7n, gas_limit: 21_000n })
    }
  ]

  for (const { name, kind, give } of commands) {
    it.effect(`${name} reaches a node within 250 milliseconds`, () =>
      Effect.gen(function* () {
        yield* warmUpSigner
        const ledger = yield* Ledger
        yield* Layer.build(jobOf(Layer.succeed(LaneLedger, yield* LaneLedger), 12_000))
        const acceptFor = Effect.fnUntraced(function* (millis: number) {
          for (let passed = 0; passed + acceptEvery <= millis; passed += acceptEvery) {
            yield* accept(account, 1)
            yield* TestClock.adjust(acceptEvery)
          }
        })
        const [id] = yield* accept(account, 1)
        yield* acceptFor(400)
        const newest = Effect.map(ledger.get(1, id), ({ transaction }) => transaction.attempts.at(-1))
        assert.deepInclude(yield* newest, { kind: "original", outcome: "accepted" })
        yield* give(ledger, id)
        yield* acceptFor(atMost)
        assert.deepInclude(yield* newest, { kind, outcome: "accepted" })
      })
    )
  }
})
