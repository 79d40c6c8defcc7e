// What the commands that open the database themselves have in common: their errors, and their log and
// progress on the standard error.
import { Effect, Logger } from "effect"
import * as StartFailed from "../../process/StartFailed.ts"
import type * as Settings from "../../process/settings/Settings.ts"
import { DatabaseError } from "../../sql/DatabaseError.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"

export const refused = (message: string) => new CommandFailed({ message, exitCode: exitCodes.refused })

const toCommandFailed = (error: { readonly message: string }): CommandFailed => {
  if (error instanceof CommandFailed) return error
  return refused(error instanceof DatabaseError ? StartFailed.fromDatabase(error).message : error.message)
}

export const report = <A, E extends { readonly message: string }, R>(self: Effect.Effect<A, E, R>) =>
  self.pipe(
    Effect.mapError(toCommandFailed),
    Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]))
  )

/** Opening the embedded database would create it. */
export const checkExists = Effect.fnUntraced(function* (settings: Settings.Settings) {
  if (settings.DATABASE_URL !== undefined) return
  const DataFiles = yield* Effect.promise(() => import("../../sql/embedded/DataFiles.ts"))
  const found = yield* report(DataFiles.find(settings.DATA_DIR))
  if (found.database === undefined) return yield* refused(`there is no database in ${found.dataDir}`)
})

const lineOf = (table: string, rows: number) => `\r\u001b[K${table}: ${rows} rows`

/** Replaces the line that it has written before, if the standard error is a terminal. */
export const progress = (table: string, rows: number): Effect.Effect<void> =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(lineOf(table, rows))
  })

/** Removes the line. */
export const progressEnd: Effect.Effect<void> = Effect.sync(() => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
})
