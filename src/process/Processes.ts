// The worker processes of a primary: so many, and another one in the place of each that ends.
import { Clock, Deferred, Duration, Effect, Schema } from "effect"
import type { Scope } from "effect"
import cluster from "node:cluster"
import type { Worker } from "node:cluster"
import * as Channel from "./Channel.ts"
import type { Begin, Listening, OfPrimary, OfWorker } from "./Protocol.ts"

/** The service cannot start with its workers; the message is one line. */
export class WorkersFailed extends Schema.TaggedError<WorkersFailed>()("WorkersFailed", { message: Schema.String }) {}

export interface Process {
  readonly channel: Channel.Channel<OfWorker, OfPrimary>
  readonly pid: number | undefined
  /** How it has ended: the signal, or the exit code. */
  readonly ended: Effect.Effect<string>
  readonly kill: Effect.Effect<void>
}

export interface Options {
  readonly count: number
  /** What a worker that is asked to stop takes at most. */
  readonly patience: Duration.Input
  /** Waits until everything is there that workers need. */
  readonly begin: Effect.Effect<Begin>
  /** Whatever else is answered to a worker, until it ends. */
  readonly answer: (process: Process) => Effect.Effect<Partial<Channel.Handlers<OfPrimary>>, never, Scope.Scope>
  /** Kept up to date: the workers that have been given what they need, and of these, those that listen. */
  readonly begun: Set<Process>
  readonly serving: Set<Process>
}

/** Who lived so long has started well. */
const wellAfter = Duration.toNanosUnsafe("10 seconds")

/** Of a worker that has not once listened: then the service does not start. */
const attempts = 3

const backOff = (failures: number): number => (failures === 0 ? 0 : Math.min(100 * 2 ** (failures - 1), 5000))

const processOf = Effect.fnUntraced(function* (worker: Worker) {
  const ended = yield* Deferred.make<string>()
  worker.once("exit", (code, signal) => Deferred.doneUnsafe(ended, Effect.succeed(signal ?? `exit code ${code}`)))
  worker.once("error", (error) => Deferred.doneUnsafe(ended, Effect.succeed(error.message)))
  const channel = yield* Channel.make<OfWorker, OfPrimary>(worker.process)
  const process: Process = {
    channel,
    pid: worker.process.pid,
    ended: Deferred.await(ended),
    kill: Effect.sync(() => void worker.process.kill("SIGKILL"))
  }
  return process
})

/** Who has not begun has nothing to finish. */
const stop = ({ channel, ended, kill, pid }: Process, hasBegun: boolean, patience: Duration.Input) => {
  const killed = Effect.andThen(kill, ended)
  if (!hasBegun) return killed
  const stopped = Effect.andThen(Effect.ignore(channel.ask("stop", null)), ended)
  const orElse = () => Effect.andThen(Effect.logWarning("a worker does not stop, ending it at once", { pid }), killed)
  return Effect.timeoutOrElse(Effect.raceFirst(stopped, ended), { duration: patience, orElse })
}

const fork = ({ begun, patience, serving }: Options) =>
  Effect.acquireRelease(
    Effect.suspend(() => processOf(cluster.fork())),
    (process) =>
      Effect.suspend(() => stop(process, begun.has(process), patience)).pipe(
        Effect.andThen(
          Effect.sync(() => {
            begun.delete(process)
            serving.delete(process)
          })
        )
      )
  )

/**
 * Starts them and keeps them running until the scope closes, which waits for them to stop. `listening` waits for all to
 * listen for the first time; it fails with what the first that cannot serve says of it.
 */
export const start = Effect.fnUntraced(function* (options: Options) {
  // Workers take connections by themselves: none is stuck with one that has just been killed (ADR 0008).
  cluster.schedulingPolicy = cluster.SCHED_NONE
  const { answer, begin, begun, count, serving } = options
  const ready = yield* Deferred.make<Listening, WorkersFailed>()
  const isReady = Effect.map(Deferred.poll(ready), (exit) => exit._tag === "Some")

  const once = Effect.gen(function* () {
    const process = yield* fork(options)
    let reason: string | undefined
    yield* process.channel.answer({
      ...(yield* answer(process)),
      begin: () => Effect.tap(begin, () => Effect.sync(() => begun.add(process))),
      failed: (why) => Effect.sync(() => ((reason = why), null)),
      listening: Effect.fnUntraced(function* (where) {
        serving.add(process)
        yield* Effect.logDebug("a worker listens", { pid: process.pid })
        if (serving.size === count) yield* Deferred.succeed(ready, where)
        return null
      })
    })
    const how = yield* process.ended
    return { pid: process.pid, how, reason }
  }).pipe(Effect.scoped)

  const place = Effect.gen(function* () {
    for (let failures = 0; ;) {
      const begun = yield* Clock.monotonicTimeNanos
      const { reason, ...end } = yield* once
      failures = (yield* Clock.monotonicTimeNanos) - begun > wellAfter ? 0 : failures + 1
      if (!(yield* isReady)) {
        if (reason !== undefined) return yield* Deferred.fail(ready, new WorkersFailed({ message: reason }))
        if (failures === attempts) {
          const message = `a worker does not start: it ended ${attempts} times, the last time with ${end.how}`
          return yield* Deferred.fail(ready, new WorkersFailed({ message }))
        }
      }
      yield* Effect.logWarning("a worker ended, starting another", reason === undefined ? end : { ...end, reason })
      yield* Effect.sleep(backOff(failures))
    }
  })

  // Under one fiber, so that they stop at the same time.
  yield* Effect.forkScoped(
    Effect.all(
      Array.from({ length: count }, () => place),
      { concurrency: "unbounded" }
    )
  )
  return { listening: Deferred.await(ready) }
})
