// The life of a held lane: steps, one after the other, until nothing was open for a while, the process drains, or another one has it.
import { Clock, Effect, Latch } from "effect"
import type { Draining } from "../lifecycle/Lifecycle.ts"
import type { ReleaseReason } from "../ledger/hold/HeldLane.ts"
import type { LaneContext } from "./StepState.ts"
import * as LaneStep from "./LaneStep.ts"

/**
 * The longest rest of a lane, in milliseconds, after a step that gave away places. A lane rests as long as the step took, and
 * longer if more than `restingAlone` lanes of the process are busy. Transactions that arrive during the rest share the next step, so
 * that busy lanes have larger steps and not more of them. Twenty busy lanes take a sixth less processor time than if the rest
 * did not depend on the number of lanes.
 */
const maxRest = 1000
const restingAlone = 4

/** Milliseconds before the step that follows a refused commit. The pause doubles with each refusal in a row, up to `longest`. */
const refusalPause = { first: 10, longest: 1000 } as const

/** Transactions that get a place before a lane is given back because others wait. */
const fairShare = 256

export interface LaneLife {
  /** Ends when the lane is not held any more. */
  readonly run: Effect.Effect<void>
  /** Something was accepted or is to end: the next step begins at once. */
  readonly wake: Effect.Effect<void>
  /** Other lanes wait: gives this one back if nothing of it is open. */
  readonly makeRoom: Effect.Effect<void>
  /** False while nothing is open and the lane is only kept for what may come. */
  readonly isBusy: () => boolean
}

export interface LaneLifeOptions {
  readonly draining: Draining["Service"]
  /** Runs steps until they succeed, and reports failures. */
  readonly supervised: <A>(work: Effect.Effect<A>) => Effect.Effect<A>
  /** Lanes of this process that are busy. */
  readonly busy: () => number
  /** Whether this process is full and other lanes wait. */
  readonly isWaitedFor: Effect.Effect<boolean>
}

export const make = (context: LaneContext, { draining, supervised, busy, isWaitedFor }: LaneLifeOptions): LaneLife => {
  const { ledger, hold, memory } = context
  const latch = Latch.makeUnsafe(false)
  /** Whether nothing was open when the last step ended. */
  let isOver = false
  /** Commits in a row that were refused because a transaction had changed. */
  let refusals = 0

  const release = (reason: ReleaseReason) => supervised(ledger.release(hold, reason))

  const step = LaneStep.run(context).pipe(
    Effect.catchTags({
      LaneLost: () => Effect.succeed({ _tag: "Lost" } as const),
      LaneChanged: () => Effect.succeed({ _tag: "Changed" } as const)
    })
  )

  /** A transaction of an idle lane does not wait. */
  const rest = Effect.fnUntraced(function* (began: number) {
    const now = yield* Clock.currentTimeMillis
    if ((memory.lastSignedAt ?? 0) < began) return
    yield* Effect.sleep(Math.min((now - began) * Math.max(busy() / restingAlone, 1), maxRest))
  })

  /** Pauses, so that constant changes of transactions do not keep the lane, its nodes and the database busy. */
  const pauseAfterRefusal = Effect.suspend(() =>
    Effect.sleep(Math.min(refusalPause.first * 2 ** refusals++, refusalPause.longest))
  )

  const waitUntil = Effect.fnUntraced(function* (until: number) {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.timeoutOption(latch.await, Math.max(until - now, 0))
  })

  /** True: the lane is not held any more. */
  const turn = Effect.gen(function* () {
    if (draining.isDraining()) return yield* release("draining")
    yield* latch.close
    const began = yield* Clock.currentTimeMillis
    const next = yield* supervised(step)
    if (next._tag === "Changed") return yield* Effect.as(pauseAfterRefusal, false)
    refusals = 0
    switch (next._tag) {
      case "Lost":
        return true
      case "Idle":
        return yield* release("idle")
      case "Again":
        return memory.signed >= fairShare && (yield* isWaitedFor) ? yield* release("next") : false
      case "Done":
        isOver = true
        yield* waitUntil(next.until)
        isOver = false
        return false
      case "Wait":
        yield* rest(began)
        yield* waitUntil(next.until)
        return false
    }
  })

  const run = Effect.repeat(turn, { until: (isOver) => isOver }).pipe(
    Effect.asVoid,
    Effect.onInterrupt(() => Effect.ignoreCause(ledger.release(hold, "draining")))
  )

  const wake = Effect.asVoid(latch.open)
  return { run, wake, makeRoom: Effect.suspend(() => (isOver ? wake : Effect.void)), isBusy: () => !isOver }
}
