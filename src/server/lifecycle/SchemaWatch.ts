// Whether this version still works on the schema of the database. A newer version beside it may have changed the schema
// incompatibly: then this instance answers 503 and does no work of jobs, so that it writes nothing that the newer one cannot read.
import { Clock, Context, Duration, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Health from "../../sql/Health.ts"
import { latestMigration } from "../../sql/migrations/index.ts"
import { query } from "../../sql/Query.ts"

/** As often as a lane is renewed: what this process knows about the schema is not older. */
const interval = Duration.seconds(10)

interface Service {
  /** Whether the schema needs a newer version. A database that does not answer changes nothing. */
  readonly isOutdated: Effect.Effect<boolean>
  /** Waits until this version works on the schema. */
  readonly current: Effect.Effect<void>
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let isOutdated = false
  /** Monotonic nanoseconds. Absent: not read yet. */
  let readAt: bigint | undefined
  let reading: Fiber.Fiber<void> | undefined

  const changed = (oldest: number) =>
    Effect.annotateLogs(
      oldest > latestMigration
        ? Effect.logError("a newer version has changed the database: this instance stops writing; stop it")
        : Effect.logInfo("this version works on the schema of the database again"),
      { schema: oldest, known: latestMigration }
    )

  const read = Health.oldestSchema.pipe(
    query("SchemaWatch.read"),
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.flatMap((oldest) => {
      const before = isOutdated
      isOutdated = oldest > latestMigration
      return before === isOutdated ? Effect.void : changed(oldest)
    }),
    Effect.ignoreCause
  )

  /** Concurrent callers wait for the same reading, which goes on if one of them is interrupted. */
  const readIfOld = Effect.flatMap(Clock.monotonicTimeNanos, (now) => {
    if (readAt !== undefined && now - readAt < Duration.toNanosUnsafe(interval)) {
      return reading === undefined ? Effect.void : Fiber.await(reading)
    }
    readAt = now
    return Effect.flatMap(Effect.forkDetach(read), (fiber) => {
      reading = fiber
      return Fiber.await(fiber)
    })
  })

  const service: Service = {
    isOutdated: Effect.map(readIfOld, () => isOutdated),
    current: Effect.suspend((): Effect.Effect<void> =>
      Effect.flatMap(service.isOutdated, (is) =>
        is ? Effect.andThen(Effect.sleep(interval), service.current) : Effect.void
      )
    )
  }
  // An older instance may have started while the newer version changed the schema.
  yield* readIfOld
  return service
})

/** Absent: the schema does not change. */
export const SchemaWatch = Context.Reference<Service>("effect-relayer/server/lifecycle/SchemaWatch", {
  defaultValue: () => ({ isOutdated: Effect.succeed(false), current: Effect.void })
})
