// Batches concurrent requests of one kind: while a batch runs, new requests queue for the next one. A batch starts after its
// requests arrived, so it sees everything that was committed before them.
//
// This is not a `RequestResolver`: the sets that it reuses keep finished requests alive for the garbage collector's young
// generation, which took a quarter of the time. A map of groups would do the same.
import { Array, Context, Effect, Exit, Fiber, FiberSet, Option, References, Tracer } from "effect"
import type { Duration } from "effect"
import type { SqlClient } from "effect/sql"

/** Whether spans are exported. If so, requests are not batched, so that the trace of each request is complete. */
export const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) && Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

export interface Options<K, A> {
  /** Requests of different groups are in different batches. Absent: there is one group. */
  readonly group?: (key: K) => string
  /**
   * The most requests of a batch. If so many wait while one batch of their group runs, a second one begins. Absent: a batch has no limit,
   * and a group runs one batch at a time.
   */
  readonly size?: number
  /** How long a batch may hold up the next batch of its group. Absent: until it has ended. */
  readonly patience?: Duration.Input
  /** Returns one answer per key, in the order of the keys. */
  readonly all: (keys: Array.NonEmptyReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>>
}

/** Batches of a group that run at the same time if full ones wait. */
const batchesAtOnce = 2

interface Request<K, A> {
  readonly key: K
  readonly resume: (exit: Exit.Exit<A>) => void
}

interface Group<K, A> {
  readonly name: string
  queue: Array<Request<K, A>>
  /** Batches that hold up the next one. */
  running: number
  /** A batch is about to take requests from the queue. */
  isBeginning: boolean
}

/** Batches run in the scope of the caller of `make`. When it closes, requests that have no answer yet are interrupted. */
export const make = Effect.fnUntraced(function* <K, A>(
  sql: SqlClient.SqlClient,
  { group = () => "", size = Infinity, patience, all }: Options<K, A>
) {
  const run = yield* FiberSet.makeRuntime<never>()
  let groups: ReadonlyArray<Group<K, A>> = []

  const answersTo = (keys: Array.NonEmptyReadonlyArray<K>): Effect.Effect<Array.NonEmptyReadonlyArray<A>> =>
    Effect.filterOrElse(
      all(keys),
      (answers): answers is Array.NonEmptyReadonlyArray<A> => answers.length === keys.length,
      (answers) => Effect.die(new Error(`a batch of ${keys.length} requests has ${answers.length} answers`))
    )

  /** Resumes the requests, whatever happens to the batch. */
  const answer = (requests: Array.NonEmptyReadonlyArray<Request<K, A>>) =>
    Effect.exit(
      Effect.onExit(answersTo(Array.map(requests, ({ key }) => key)), (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) for (const { resume } of requests) resume(Exit.failCause(exit.cause))
          else for (const [{ resume }, answer] of Array.zip(requests, exit.value)) resume(Exit.succeed(answer))
        })
      )
    )

  const isDue = ({ queue, running, isBeginning }: Group<K, A>) =>
    !isBeginning && queue.length >= (running === 0 ? 1 : running < batchesAtOnce ? size : Infinity)

  const runNext = Effect.fnUntraced(function* (current: Group<K, A>) {
    // Requests that are on their way at this moment join the batch.
    yield* Effect.yieldNow
    const requests = current.queue.slice(0, size)
    current.queue = current.queue.slice(size)
    current.isBeginning = false
    if (Array.isArrayNonEmpty(requests)) {
      current.running++
      beginIfDue(current)
      if (patience === undefined) yield* answer(requests)
      else yield* Effect.timeoutOption(Fiber.await(run(answer(requests))), patience)
      current.running--
    }
    beginIfDue(current)
    if (current.running === 0 && !current.isBeginning) groups = groups.filter((one) => one !== current)
  })

  /** The fiber only fails if the scope closes. */
  const beginIfDue = (current: Group<K, A>): void => {
    if (!isDue(current)) return
    current.isBeginning = true
    run(runNext(current)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) return
      groups = groups.filter((one) => one !== current)
      for (const { resume } of current.queue.splice(0)) resume(Exit.failCause(exit.cause))
    })
  }

  const groupOf = (name: string) => {
    const known = groups.find((one) => one.name === name)
    if (known !== undefined) return known
    const added: Group<K, A> = { name, queue: [], running: 0, isBeginning: false }
    groups = [...groups, added]
    return added
  }

  const batched = (key: K) =>
    Effect.callback<A>((resume) => {
      const current = groupOf(group(key))
      const request = { key, resume }
      current.queue.push(request)
      beginIfDue(current)
      return Effect.sync(() => {
        current.queue = current.queue.filter((one) => one !== request)
      })
    })

  const alone = (key: K) => Effect.map(answersTo([key]), Array.headNonEmpty)

  /** Requests in a transaction or in a trace are not batched. */
  return (key: K): Effect.Effect<A> =>
    Effect.contextWith((context) =>
      isTraced(context) || Option.isSome(Context.getOption(context, sql.transactionService)) ? alone(key) : batched(key)
    )
})
