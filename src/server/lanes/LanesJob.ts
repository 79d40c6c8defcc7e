// The job that holds lanes: it claims those with open transactions, runs the steps of each in a fiber, and renews their leases. Any
// number of instances share the lanes; each lane has one holder at a time.
import { Clock, Duration, Effect, FiberMap, Latch, Layer, Option } from "effect"
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
import { reach, showHeld } from "./LaneSending.ts"
import { emptyMemory, makeBlockArrivals, makeLaneFees, makePulse } from "./StepState.ts"
import type { LaneContext } from "./StepState.ts"

// The life of a held lane: steps, one after the other, until nothing was open for a while, the process drains, or another one has it.

/** Milliseconds before the step that follows a refused commit. The pause doubles with each refusal in a row, up to `longest`. */
const refusalPause = { first: 10, longest: 1000 } as const

/** Transactions that get a place before a lane is given back because others wait. */
const fairShare = 256

/**
 * Why a lane steps before its next poll. Only a step for what was accepted waits for the pulse: a command races with the next block, and
 * another instance waits for the lane of a process that drains, another lane for that of a process that makes room.
 */
type WakeReason = "accepted" | "command" | "draining" | "room"

export interface LaneLife {
  /** Ends when the lane is not held any more. */
  readonly run: Effect.Effect<void>
  wake(reason: WakeReason): Effect.Effect<void>
  /** Other lanes wait: gives this one back if nothing of it is open. */
  readonly makeRoom: Effect.Effect<void>
}

export interface LaneLifeOptions {
  readonly draining: Draining["Service"]
  /** Runs steps until they succeed, and reports failures. */
  readonly supervised: <A>(work: Effect.Effect<A>) => Effect.Effect<A>
  /** Whether this process is full and other lanes wait. */
  readonly isWaitedFor: Effect.Effect<boolean>
}

export const makeLaneLife = (
  context: LaneContext,
  { draining, supervised, isWaitedFor }: LaneLifeOptions
): LaneLife => {
  const { ledger, hold, memory, pulse } = context
  /** Open if something asks for a step. */
  const asked = Latch.makeUnsafe(false)
  /** Open if it does not wait for the pulse. */
  const urged = Latch.makeUnsafe(false)
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

  /** Pauses, so that constant changes of transactions do not keep the lane, its nodes and the database busy. */
  const pauseAfterRefusal = Effect.suspend(() =>
    Effect.sleep(Math.min(refusalPause.first * 2 ** refusals++, refusalPause.longest))
  )

  /** A step at the planned moment does not wait for the pulse: most of these moments are the same for all lanes. */
  const waitUntil = Effect.fnUntraced(function* (until: number) {
    const now = yield* Clock.currentTimeMillis
    const woken = yield* Effect.timeoutOption(asked.await, Math.max(until - now, 0))
    if (Option.isNone(woken)) return
    yield* reach("woken")
    const delay = pulse.delay(yield* Clock.currentTimeMillis, memory.blockTime)
    if (delay > 0) yield* Effect.timeoutOption(urged.await, delay)
  })

  /** True: the lane is not held any more. */
  const turn = Effect.gen(function* () {
    if (draining.isDraining()) return yield* release("draining")
    // What asks from here on may come too late for the read of this step.
    yield* Effect.andThen(asked.close, urged.close)
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
        yield* waitUntil(next.until)
        return false
    }
  })

  const run = Effect.repeat(turn, { until: (isOver) => isOver }).pipe(
    Effect.asVoid,
    Effect.onInterrupt(() => Effect.ignoreCause(ledger.release(hold, "draining")))
  )

  const wake = (reason: WakeReason) =>
    Effect.andThen(reason === "accepted" ? Effect.void : urged.open, Effect.asVoid(asked.open))

  return { run, wake, makeRoom: Effect.suspend(() => (isOver ? wake("room") : Effect.void)) }
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
  const pulse = makePulse()
  const arrivals = makeBlockArrivals()
  let isStopping = false

  const wakeAll = Effect.suspend(() =>
    Effect.forEach(lanes.values(), ({ life }) => life.wake("draining"), { discard: true })
  )
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isStopping = true
      return wakeAll.pipe(Effect.andThen(FiberMap.awaitEmpty(fibers)), Effect.timeoutOption(grace), Effect.asVoid)
    })
  )

  const stopping: Draining["Service"] = { ...draining, isDraining: () => isStopping || draining.isDraining() }

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
      targets: { get: targets.getRemembering, known: targets.known },
      fees,
      newId: Effect.map(random.uuidV7(), (id) => TransactionId.make(id)),
      pulse,
      arrivals,
      hold,
      memory: emptyMemory()
    }
    const life = makeLaneLife(context, { draining: stopping, supervised, isWaitedFor })
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

  /** Held lanes step again if something was accepted, canceled or replaced. */
  const wake = Effect.gen(function* () {
    if (lanes.size === 0) return
    const news = yield* ledger.news([...lanes.keys()])
    for (const [laneId, held] of lanes) {
      const { newest, commands } = news.get(laneId) ?? noNews
      const isAccepted = newest > held.newest
      const isCommanded = [...commands].some((command) => !held.commands.has(command))
      held.newest = Math.max(newest, held.newest)
      held.commands = commands
      if (isCommanded) yield* held.life.wake("command")
      else if (isAccepted) yield* held.life.wake("accepted")
    }
  })

  /** Runs no statement. If this process holds the lane, it steps; otherwise, the next round claims it. */
  const hearAccepted = (accepted: ReadonlyArray<AcceptedHere>) =>
    Effect.forEach(
      accepted,
      ({ laneId, number }) => {
        const held = lanes.get(laneId)
        if (held === undefined) return due.now
        held.newest = Math.max(number, held.newest)
        return held.life.wake("accepted")
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
