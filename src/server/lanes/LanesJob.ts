// The job that holds lanes: it claims those with open transactions, runs the steps of each in a fiber, and renews their leases. Any
// number of instances share the lanes; each lane has one holder at a time.
import { Clock, Duration, Effect, FiberMap, Latch, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { AcceptedHere } from "../ledger/Holder.ts"
import { LaneLedger } from "../ledger/LaneLedger.ts"
import type { HeldLane, Hold, LaneId, LaneNews, ReleaseReason } from "../ledger/LedgerEntries.ts"
import { commitSignalOf, Draining, Jobs } from "../lifecycle/Lifecycle.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { Signers } from "../signers/Signers.ts"
import { makeLaneKeys, SendingNetworks } from "./LaneNetwork.ts"
import * as LaneStep from "./LaneStep.ts"
import { showHeld } from "./LaneSending.ts"
import { emptyMemory, makeLaneFees } from "./StepState.ts"
import type { LaneContext } from "./StepState.ts"

// The life of a held lane: steps, one after the other, until nothing was open for a while, the process drains, or another one has it.

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

export const makeLaneLife = (
  context: LaneContext,
  { draining, supervised, busy, isWaitedFor }: LaneLifeOptions
): LaneLife => {
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

/** Lanes that one instance holds at once. */
const maxLanes = 256

/** The most lanes in one claim, so that other instances which claim at the same time get some as well. */
const maxClaimed = 32

/** Work that other instances accepted is found within this time. */
const pollEvery = "1 second"

/** The pause between two runs of `upkeep`. A run usually is two statements that find nothing. */
const upkeepEvery = "2 seconds"

/** The shortest pause between two rounds, however often the job is woken. Each round is two statements. */
const pause = "25 millis"

/** Renewals in the time of a lease: one or two of them may fail or be late. */
const renewalsPerLease = 3

/** When the job stops, steps have this long to end. After that, another instance continues. */
const grace = "5 seconds"

/** The start of the process, and transactions that wait then, have the processor first. */
const warmUpDelay = "2 seconds"

interface Held {
  readonly hold: Hold
  readonly life: LaneLife
  /** Number of the newest pending transaction that the lane was woken for. */
  newest: number
  /** Cancels and replacements that the lane was woken for. */
  commands: ReadonlySet<string>
}

const noNews: LaneNews = { newest: 0, commands: new Set() }

const make = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const networks = yield* SendingNetworks
  const targets = yield* RelayerTargets
  const signers = yield* Signers
  const fees = yield* makeLaneFees
  const random = yield* SecureRandom.SecureRandom
  const draining = yield* Draining
  const jobs = yield* Jobs
  const due = yield* commitSignalOf("lanes")
  const supervised = yield* jobs.supervise({ job: "lanes", task: "step" })
  const lanes = new Map<LaneId, Held>()
  const fibers = yield* FiberMap.make<LaneId, void, never>()
  const renewEvery = Duration.times(ledger.lease, 1 / renewalsPerLease)
  let isStopping = false

  const wakeAll = Effect.suspend(() => Effect.forEach(lanes.values(), ({ life }) => life.wake, { discard: true }))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isStopping = true
      return wakeAll.pipe(Effect.andThen(FiberMap.awaitEmpty(fibers)), Effect.timeoutOption(grace), Effect.asVoid)
    })
  )

  const stopping: Draining["Service"] = { ...draining, isDraining: () => isStopping || draining.isDraining() }

  const busy = () => [...lanes.values()].filter(({ life }) => life.isBusy()).length

  const isWaitedFor = Effect.suspend(() =>
    lanes.size < maxLanes ? Effect.succeed(false) : ledger.hasWork(networks.types)
  )

  const forget = (hold: Hold) =>
    Effect.suspend(() => {
      if (lanes.get(hold.laneId)?.hold.epoch === hold.epoch) lanes.delete(hold.laneId)
      return Effect.andThen(showHeld(lanes.size), due.now)
    })

  const start = ({ hold, stored: { chain, genesis, lane } }: HeldLane) => {
    const network = networks.of(chain)
    // Only lanes of networks that this process sends for are claimed.
    if (network === undefined) return Effect.die(new Error(`no network sends for ${chain}`))
    const [{ address }] = lane.accounts
    const context = {
      ledger,
      rules: network.rules,
      chain: network.open({ chain, address, genesis, keys: (options) => makeLaneKeys(signers, options) }),
      targets,
      fees,
      newId: Effect.map(random.uuidV7(), (id) => TransactionId.make(id)),
      hold,
      memory: emptyMemory()
    }
    const life = makeLaneLife(context, { draining: stopping, supervised, busy, isWaitedFor })
    lanes.set(hold.laneId, { hold, life, newest: 0, commands: new Set() })
    return Effect.andThen(
      showHeld(lanes.size),
      FiberMap.run(fibers, hold.laneId, Effect.ensuring(life.run, forget(hold)))
    )
  }

  const makeRoom = Effect.suspend(() => Effect.forEach(lanes.values(), ({ life }) => life.makeRoom, { discard: true }))

  /** Uninterruptible: every lane that was claimed has a fiber. */
  const claim = Effect.gen(function* () {
    const free = stopping.isDraining() ? 0 : Math.min(maxLanes - lanes.size, maxClaimed)
    if (free <= 0) return yield* makeRoom
    for (const claimed of yield* ledger.claim(networks.types, free)) yield* start(claimed)
  }).pipe(Effect.uninterruptible)

  /** Held lanes step again at once if something was accepted, canceled or replaced: a cancel races with the next block. */
  const wake = Effect.gen(function* () {
    if (lanes.size === 0) return
    const news = yield* ledger.news([...lanes.keys()])
    for (const [laneId, held] of lanes) {
      const { newest, commands } = news.get(laneId) ?? noNews
      const isNew = newest > held.newest || [...commands].some((command) => !held.commands.has(command))
      held.newest = Math.max(newest, held.newest)
      held.commands = commands
      if (isNew) yield* held.life.wake
    }
  })

  /** Runs no statement. If this process holds the lane, it steps at once; otherwise, the next round claims it. */
  const hearAccepted = (accepted: ReadonlyArray<AcceptedHere>) =>
    Effect.forEach(
      accepted,
      ({ laneId, number }) => {
        const held = lanes.get(laneId)
        if (held === undefined) return due.now
        held.newest = Math.max(number, held.newest)
        return held.life.wake
      },
      { discard: true }
    )

  /** A lane whose lease has ended belongs to another process. */
  const renew = Effect.gen(function* () {
    const holds = [...lanes.values()].map(({ hold }) => hold)
    if (holds.length === 0) return
    const kept = new Set((yield* ledger.renew(holds)).map(({ laneId }) => laneId))
    for (const { laneId, epoch } of holds) {
      // Meanwhile this process may have given it back and claimed it again.
      const isCurrent = lanes.get(laneId)?.hold.epoch === epoch
      if (isCurrent && !kept.has(laneId)) yield* FiberMap.remove(fibers, laneId)
    }
  })

  /** Libraries take 15 MB and more, so a process does not load them if its database has no lanes. */
  const warmUp = Effect.sleep(warmUpDelay).pipe(
    Effect.andThen(ledger.hasLanes),
    Effect.flatMap((isUsed) => (isUsed ? networks.warmUp : Effect.void)),
    Effect.ignoreCause
  )

  yield* Effect.forkScoped(Effect.andThen(draining.begun, wakeAll))
  yield* Effect.forkScoped(warmUp)
  yield* Effect.forkScoped(ledger.listen(due.now))
  yield* ledger.hearAccepted(hearAccepted)
  yield* jobs.run({ job: "lanes", task: "renew", work: renew, wait: () => Effect.sleep(renewEvery) })
  yield* jobs.run({
    job: "lanes",
    task: "upkeep",
    work: Effect.suspend(() => (stopping.isDraining() ? Effect.void : networks.upkeep)),
    wait: () => Effect.sleep(upkeepEvery)
  })
  yield* jobs.run({
    job: "lanes",
    task: "claim",
    work: Effect.andThen(claim, wake),
    wait: () => Effect.andThen(Effect.sleep(pause), due.wait(pollEvery))
  })
})

/** Runs until its scope closes. While the instance drains, it claims nothing and gives its lanes back. */
export const layer = Layer.effectDiscard(make).pipe(Layer.provide(SecureRandom.layerWebCrypto))
