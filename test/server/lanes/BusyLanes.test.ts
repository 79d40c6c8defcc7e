// How long a busy lane rests if the process holds other lanes, by the test clock. The ledger and the node are fakes.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ApiKeys } from "../../../src/server/access/ApiKeys.ts"
import * as WarmUp from "../../../src/server/lanes/evm/EvmWarmUp.ts"
import { SendingNetworks } from "../../../src/server/lanes/LaneNetwork.ts"
import * as LanesJob from "../../../src/server/lanes/LanesJob.ts"
import type { AcceptedHere } from "../../../src/server/ledger/Holder.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneId } from "../../../src/server/ledger/StoredLane.ts"
import { CommitSignals } from "../../../src/server/lifecycle/CommitSignal.ts"
import { Draining } from "../../../src/server/lifecycle/Draining.ts"
import { Jobs } from "../../../src/server/lifecycle/Jobs.ts"
import { Gauges } from "../../../src/server/observability/Gauges.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import * as OneNode from "./fake/OneNode.ts"

/** This lane always has a transaction to sign. */
const busy = LaneId.make(1)

/** Milliseconds that a step takes. */
const step = 100

const newState = (lanes: number) => ({
  /** Lanes that no process holds. */
  free: Array.from({ length: lanes }, (_, index) => LaneId.make(index + 1)),
  /** Whether the signature of a lane other than `busy` ends its only transaction. */
  isEnding: true,
  /** Steps of `busy`. */
  steps: 0,
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
      Effect.suspend(() => {
        if (laneId === busy) state.steps++
        const contents = {
          stored: OneNode.storedAt(laneId),
          inFlight: [],
          pending: [OneNode.waitingIn(laneId)],
          pendingCount: 1
        }
        return Effect.as(Effect.sleep(step), contents)
      }),
    saveLane: ({ laneId }) => Effect.succeed(OneNode.storedAt(laneId)),
    commitSignatures: ({ laneId }) =>
      Effect.sync(() => (state.isEnding && laneId !== busy ? [OneNode.endedIn(laneId)] : [])),
    apply: () => Effect.succeed([]),
    news: () => Effect.succeed(new Map()),
    listen: () => Effect.never,
    hearAccepted: (hear) => Effect.sync(() => void (state.hear = hear)),
    hasLanes: Effect.succeed(false),
    hasWork: () => Effect.succeed(false)
  })

const services = (state: State) => {
  const { network, signers, targets } = OneNode.make()
  const signals = { now: Effect.void, afterCommit: Effect.void, wait: () => Effect.sleep("1 second") }
  return LanesJob.layer.pipe(
    Layer.provide([
      ledgerOf(state),
      Layer.succeed(CommitSignals, { get: () => signals }),
      Layer.mock(Ledger, {}),
      Layer.mock(ApiKeys, {}),
      Layer.mock(Signers, signers),
      Layer.mock(RelayerTargets, targets),
      SendingNetworks.layer(Effect.succeed([network]))
    ]),
    Layer.provide([Draining.layer, Jobs.layer]),
    Layer.provide(Gauges.layer)
  )
}

/** Milliseconds from a step of the busy lane, which something accepted begins, to the one that is asked for during it. */
const betweenSteps = Effect.fnUntraced(
  function* (state: State) {
    // The test clock does not wait for modules.
    yield* WarmUp.sign
    yield* Layer.build(services(state))
    yield* TestClock.adjust("3500 millis")
    const { steps } = state
    const wake = Effect.suspend(() => state.hear([{ laneId: busy, number: 1 }]))
    yield* wake
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(state.steps, steps + 1)
    yield* wake
    let passed = 1
    while (state.steps === steps + 1) {
      yield* TestClock.adjust("1 millis")
      passed += 1
    }
    return passed
  },
  Effect.ensuring(TestClock.adjust("1 second"))
)

describe("a busy lane", () => {
  it.effect("rests as long as its step took, whatever the number of lanes that are kept and have nothing open", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* betweenSteps(newState(12)), 2 * step)
    })
  )

  it.effect("rests three times as long if twelve lanes are busy", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* betweenSteps({ ...newState(12), isEnding: false }), 4 * step)
    })
  )
})
