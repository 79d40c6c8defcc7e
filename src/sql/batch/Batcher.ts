// What is asked for while the like of it is done, done at once: under load, one statement answers many requests. It begins
// after it was asked for, and so sees all that was committed before.
//
// Not a `RequestResolver`: the sets that it uses again keep answered requests alive for the collector of young objects,
// which took a quarter of the time. A map of groups would do the same.
import { Array, Context, Effect, Exit, Fiber, Option } from "effect"
import type { Duration } from "effect"
import type { SqlClient } from "effect/sql"
import { isTraced } from "../Traced.ts"

export interface Options<K, A> {
  /** Different groups are done apart. Absent: all are of one. */
  readonly group?: (key: K) => string
  /** How long what is asked for waits for what is under way. Absent: until that is done. */
  readonly patience?: Duration.Input
  /** The answers, in the order of the keys. */
  readonly all: (keys: Array.NonEmptyReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>>
}

interface Asked<K, A> {
  readonly key: K
  readonly answer: (exit: Exit.Exit<A>) => void
}

interface Group<K, A> {
  readonly name: string
  asked: Array<Asked<K, A>>
}

/** Who is in a transaction stays in it, and who is traced in its span: both are alone. */
export const make = Effect.fnUntraced(function* <K, A>(
  sql: SqlClient.SqlClient,
  { group = () => "", patience, all }: Options<K, A>
) {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const groups: Array<Group<K, A>> = []

  const answerOnce = Effect.fnUntraced(function* (asked: Array.NonEmptyReadonlyArray<Asked<K, A>>) {
    const exit = yield* Effect.exit(all(Array.map(asked, ({ key }) => key)))
    for (const [index, { answer }] of asked.entries()) answer(Exit.map(exit, (answers) => answers[index] as A))
  })

  const answerAll = Effect.fnUntraced(function* (current: Group<K, A>) {
    while (true) {
      // What has arrived by now is asked for first.
      yield* Effect.yieldNow
      const { asked } = current
      if (!Array.isArrayNonEmpty(asked)) break
      current.asked = []
      if (patience === undefined) yield* answerOnce(asked)
      else yield* Effect.timeoutOption(Fiber.await(run(answerOnce(asked))), patience)
    }
    groups.splice(groups.indexOf(current), 1)
  })

  const begin = (name: string) => {
    const begun: Group<K, A> = { name, asked: [] }
    groups.push(begun)
    run(answerAll(begun))
    return begun
  }

  const together = (key: K) =>
    Effect.callback<A>((answer) => {
      const name = group(key)
      const current = groups.find((one) => one.name === name) ?? begin(name)
      const asked = { key, answer }
      current.asked.push(asked)
      return Effect.sync(() => {
        current.asked = current.asked.filter((one) => one !== asked)
      })
    })

  const alone = (key: K) => Effect.map(all([key]), ([answer]) => answer as A)

  return (key: K): Effect.Effect<A> =>
    Effect.contextWith((context) =>
      isTraced(context) || Option.isSome(Context.getOption(context, sql.transactionService))
        ? alone(key)
        : together(key)
    )
})
