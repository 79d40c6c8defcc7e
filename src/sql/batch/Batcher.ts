// Batches concurrent requests of one kind: while a batch runs, new requests queue for the next one. A batch starts after its
// requests arrived, so it sees everything that was committed before them.
//
// This is not a `RequestResolver`: the sets that it reuses keep finished requests alive for the garbage collector's young
// generation, which took a quarter of the time. A map of groups would do the same.
import { Array, Context, Effect, Exit, Fiber, FiberSet, Option } from "effect"
import type { Duration } from "effect"
import type { SqlClient } from "effect/sql"
import { isTraced } from "../Traced.ts"

export interface Options<K, A> {
  /** Requests of different groups are in different batches. Absent: there is one group. */
  readonly group?: (key: K) => string
  /** How long a batch may hold up the next batch of its group. Absent: until it has ended. */
  readonly patience?: Duration.Input
  /** Returns one answer per key, in the order of the keys. */
  readonly all: (keys: Array.NonEmptyReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>>
}

interface Request<K, A> {
  readonly key: K
  readonly resume: (exit: Exit.Exit<A>) => void
}

interface Group<K, A> {
  readonly name: string
  queue: Array<Request<K, A>>
}

/** Batches run in the scope of the caller of `make`. When it closes, requests that have no answer yet are interrupted. */
export const make = Effect.fnUntraced(function* <K, A>(
  sql: SqlClient.SqlClient,
  { group = () => "", patience, all }: Options<K, A>
) {
  const run = yield* FiberSet.makeRuntime<never>()
  let groups: ReadonlyArray<Group<K, A>> = []

  const answersTo = (keys: Array.NonEmptyReadonlyArray<K>): Effect.Effect<Array.NonEmptyReadonlyArray<A>> =>
    Effect.filterOrElse(
      all(keys),
      (answers): answers is Array.NonEmptyReadonlyArray<A> => answers.length === keys.length,
      (answers) => Effect.die(new Error(`a batch of ${keys.length} requests has ${answers.length} answers`))
    )

  const runBatch = (requests: Array.NonEmptyReadonlyArray<Request<K, A>>) => {
    const batch = run(answersTo(Array.map(requests, ({ key }) => key)))
    batch.addObserver((exit) => {
      if (Exit.isFailure(exit)) for (const { resume } of requests) resume(Exit.failCause(exit.cause))
      else for (const [{ resume }, answer] of Array.zip(requests, exit.value)) resume(Exit.succeed(answer))
    })
    return Fiber.await(batch)
  }

  const remove = (ended: Group<K, A>) => {
    groups = groups.filter((one) => one !== ended)
  }

  const runGroup = Effect.fnUntraced(function* (current: Group<K, A>) {
    while (true) {
      // Requests that are on their way at this moment join the batch.
      yield* Effect.yieldNow
      const { queue } = current
      if (!Array.isArrayNonEmpty(queue)) return remove(current)
      current.queue = []
      const batch = runBatch(queue)
      yield* patience === undefined ? batch : Effect.timeoutOption(batch, patience)
    }
  })

  const begin = (name: string) => {
    const begun: Group<K, A> = { name, queue: [] }
    groups = [...groups, begun]
    return begun
  }

  /** The fiber of a group only fails if the scope closes. */
  const start = (begun: Group<K, A>) =>
    run(runGroup(begun)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) return
      remove(begun)
      for (const { resume } of begun.queue) resume(Exit.failCause(exit.cause))
    })

  const batched = (key: K) =>
    Effect.callback<A>((resume) => {
      const name = group(key)
      const running = groups.find((one) => one.name === name)
      const current = running ?? begin(name)
      const request = { key, resume }
      current.queue.push(request)
      if (running === undefined) start(current)
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
