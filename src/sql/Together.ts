// Reads that are asked for at the same moment, done at once: under load, one statement answers many requests. Each sees
// what was committed before it was asked for, as if it had been read alone.
import { Array, Context, Effect, Exit, Option, Request, RequestResolver } from "effect"
import type { SqlClient } from "effect/sql"

interface Read<K, A> extends Request.Request<A> {
  readonly key: K
}

export interface Options<K, A> {
  /** Reads with different groups are done apart. Absent: all together. */
  readonly group?: (key: K) => string
  /** The answers, in the order of the keys. */
  readonly read: (keys: Array.NonEmptyReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>>
}

/** Who is in a transaction reads in it, and with nobody else. */
export const make = <K, A>(sql: SqlClient.SqlClient, { group = () => "", read }: Options<K, A>) => {
  const request = Request.of<Read<K, A>>()
  const resolver = RequestResolver.makeWith<Read<K, A>>({
    batchKey: ({ context, request: { key } }) =>
      Option.getOrElse(Context.getOption(context, sql.transactionService), () => group(key)),
    delay: Effect.yieldNow,
    collectWhile: () => true,
    runAll: (entries) =>
      Effect.map(read(Array.map(entries, ({ request: { key } }) => key)), (answers) => {
        for (const [index, entry] of entries.entries()) entry.completeUnsafe(Exit.succeed(answers[index] as A))
      })
  })
  return (key: K): Effect.Effect<A> => Effect.request(request({ key } as never), resolver)
}
