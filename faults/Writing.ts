// The frames of cases in which callers write while something breaks. Afterwards every acknowledged write is there.
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Scope } from "effect"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Context } from "./Case.ts"
import * as Consistency from "./Consistency.ts"
import type { Outcome } from "./Requests.ts"
import type * as World from "./World.ts"
import * as Writer from "./Writer.ts"

interface Subject {
  readonly service: Listening
  readonly database: PgClient.PgPoolConfig
  /** Requests in progress. */
  readonly lanes?: number
}

/** One service for the whole case. `fault` gets the record of the writes, which go on until it ends. */
export const during = Effect.fnUntraced(function* <R>(
  context: Context,
  { database, lanes = 8, service }: Subject,
  fault: (ledger: Writer.Ledger) => Effect.Effect<void, never, R>
) {
  const ledger = new Writer.Ledger()
  const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "w", lanes, ledger })
  yield* fault(ledger)
  yield* writer.stop
  context.tally.set("acknowledged", ledger.acknowledged)
  yield* Consistency.check(context, service, ledger)
  yield* Consistency.checkRows(context, database)
})

/** A service while callers write. */
export interface Life {
  readonly service: Listening
  /** The process id of its PostgreSQL. */
  readonly postgres: number
  readonly ledger: Writer.Ledger
  /** Those of this life. */
  readonly outcomes: () => ReadonlyArray<Outcome>
  /** Stops writing and waits for the last responses. */
  readonly stop: Effect.Effect<void>
}

interface Lives {
  readonly count: number
  readonly env?: Record<string, string>
  /** Whether each start is checked, instead of only the last. The checks send requests. */
  readonly checksStarts: boolean
}

/** Acknowledged writes in a life, at least. The first one takes long, because the service loads the libraries of the chains. */
const leastWrites = 10

/** The longest time in milliseconds from then to the end of a life. */
const longestRest = 1000

/** Services that start one after the other on one data directory. `end` ends each of them. */
export const lives = Effect.fnUntraced(function* (
  context: Context,
  world: Effect.Success<typeof World.make>,
  { checksStarts, count, env }: Lives,
  end: (life: Life) => Effect.Effect<void, never, Scope.Scope>
) {
  const { random, tally } = context
  const ledger = new Writer.Ledger()
  for (let number = 0; number < count; number++) {
    yield* Effect.gen(function* () {
      const service = yield* world.listen(env)
      const postgres = yield* world.postgres
      if (checksStarts) yield* Consistency.check(context, service, ledger)
      const from = ledger.outcomes.length
      const enough = ledger.acknowledged + leastWrites
      const options = { baseUrl: () => service.baseUrl, prefix: `w${number}`, lanes: 8, ledger }
      const { stop } = yield* Writer.start(options)
      yield* until(
        `${leastWrites} acknowledged writes`,
        Effect.sync(() => ledger.acknowledged >= enough || undefined)
      )
      yield* Effect.sleep(random.int(0, longestRest))
      yield* end({ service, postgres, ledger, stop, outcomes: () => ledger.outcomes.slice(from) })
    }).pipe(Effect.scoped)
  }
  const service = yield* world.listen()
  yield* Consistency.check(context, service, ledger)
  yield* Consistency.checkRows(context, yield* world.database)
  tally.set("acknowledged", ledger.acknowledged)
  return ledger
})
