// How long a busy lane rests if the process holds other lanes, by the test clock. The ledger and the node are fakes.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { warmUpSigner } from "../../../src/networks/evm/lane/EvmContext.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { SendingNetworks } from "../../../src/server/lanes/LaneNetwork.ts"
import type { AcceptedHere } from "../../../src/server/ledger/Holder.ts"
import { LaneId } from "../../../src/server/ledger/LedgerEntries.ts"
import { CommitSignals } from "../../../src/server/lifecycle/Lifecycle.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import * as Job from "./fake/Job.ts"
import * as OneNode from "./fake/OneNode.ts"

/** This lane always has a transaction to sign. */
const busy = LaneId.make(1)

/** Lanes of the process, with `busy`. */
const count = 12

/** Milliseconds that a step takes. */
const step = 100

/** `areBusy`: whether the other lanes always have a transaction to sign, too. If not, their first signature ends their only one. */
const newState = (areBusy: boolean) => ({
  areBusy,
  /** Lanes that no process holds. */
  free: Array.from({ length: count }, (_, index) => LaneId.make(index + 1)),
  /** Steps of `busy`. */
  steps: 0,
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
    commitSignatures: ({ laneId }) => Effect.succeed(state.areBusy || laneId === busy ? [] : [OneNode.endedIn(laneId)]),
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
  return Job.layer(
    Layer.mergeAll(
      ledgerOf(state),
      Layer.succeed(CommitSignals, { get: () => signals }),
      Layer.mock(Signers, signers),
      Layer.mock(RelayerTargets, targets),
      SendingNetworks.layer(Effect.succeed([network]))
    )
  )
}

/** Begins a step of `busy`, and something more is accepted during it: the next step begins after `between` milliseconds. */
const assertBetween = Effect.fnUntraced(
  function* (state: State, between: number) {
    // The test clock does not wait for modules.
    yield* warmUpSigner
    yield* Layer.build(services(state))
    yield* TestClock.adjust("3500 millis")
    const { steps } = state
    const accept = Effect.suspend(() => state.hear([{ laneId: busy, number: 1 }]))
    yield* accept
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(state.steps, steps + 1)
    yield* accept
    yield* TestClock.adjust(between - 2)
    assert.strictEqual(state.steps, steps + 1)
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(state.steps, steps + 2)
  },
  // The job ends after the steps that have begun.
  Effect.ensuring(TestClock.adjust("1 second"))
)

describe("a busy lane", () => {
  it.effect("rests as long as its step took, however many lanes the process keeps that have nothing open", () =>
    assertBetween(newState(false), 2 * step)
  )

  it.effect("rests three times as long if twelve lanes are busy", () => assertBetween(newState(true), 4 * step))
})
