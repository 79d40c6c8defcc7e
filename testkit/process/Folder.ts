// Temporary folders, whose PostgreSQL is stopped before they are removed.
import { Effect, Schedule } from "effect"
import type { Duration } from "effect"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import * as Postmaster from "../../src/sql/embedded/Postmaster.ts"
import { isProcessAlive, runningServer } from "../../src/sql/embedded/Postmaster.ts"

/** Shorter than the time limit of a test, and long enough for a machine with a load of 15 on two cores. */
const defaultPatience = "3 minutes"

/**
 * Pauses between two checks: each is a tenth longer than the one before, so that a wait of seconds costs few checks, and ends at most a
 * tenth late. A check is often a request to a service, which takes milliseconds of the processor.
 */
const pauses = Schedule.min([Schedule.exponential("10 millis", 1.1), Schedule.spaced("200 millis")])

/** Repeats `check` until it gives a value. `what` names the awaited thing in the error of the timeout. */
export const until = <A, R>(
  what: string,
  check: Effect.Effect<A | undefined, never, R>,
  patience: Duration.Input = defaultPatience
): Effect.Effect<A, never, R> =>
  check.pipe(
    Effect.repeat({ until: (found) => found !== undefined, schedule: pauses }),
    Effect.filterOrElse(
      (found) => found !== undefined,
      () => Effect.never
    ),
    Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.die(new Error(`timed out waiting for ${what}`)) })
  )

/** The folder with the database files of `dataDir`, which may be behind a link. */
export const postgresFolder = (dataDir: string) =>
  Effect.promise(() => fs.realpath(path.join(dataDir, "postgres")).catch(() => undefined))

/** The process id of the PostgreSQL that runs in `dataDir`. */
export const postgresPid = (dataDir: string) =>
  Effect.map(postgresFolder(dataDir), (folder) => (folder === undefined ? undefined : runningServer(folder)))

export const isGone = (pid: number) => Effect.sync(() => (isProcessAlive(pid) ? undefined : true))

/** A killed service leaves its PostgreSQL running. If root started it, its files may be in another place. */
const clear = Effect.fnUntraced(function* (dataDir: string) {
  const pid = yield* postgresPid(dataDir)
  if (pid !== undefined) yield* Postmaster.stop(pid)
  const link = path.join(dataDir, "postgres")
  const isLink = yield* Effect.promise(() => fs.readlink(link).then(Boolean, () => false))
  const files = isLink ? yield* postgresFolder(dataDir) : undefined
  if (files !== undefined) yield* Effect.promise(() => fs.rm(path.dirname(files), { recursive: true, force: true }))
})

/** A folder that all users can enter. Data directories are its direct children. */
export const folder = Effect.acquireRelease(
  Effect.promise(async () => {
    const made = await fs.mkdtemp(path.join(os.tmpdir(), "effect-relayer-process-"))
    await fs.chmod(made, 0o711)
    return made
  }),
  (made) =>
    Effect.gen(function* () {
      for (const name of yield* Effect.promise(() => fs.readdir(made))) yield* clear(path.join(made, name))
      yield* Effect.promise(() => fs.rm(made, { recursive: true, force: true }))
    })
)
