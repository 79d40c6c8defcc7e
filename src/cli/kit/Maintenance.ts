// What the commands that open the database themselves have in common: their settings, their errors, their log and progress.
import { Effect, Logger } from "effect"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Settings from "../../process/settings/Settings.ts"
import { DatabaseError } from "../../sql/Connection.ts"
import { Environment, sourceOfFlags } from "./Environment.ts"
import type { ServeFlagValues } from "./Environment.ts"
import { CommandFailed, exitCodes } from "./Terminal.ts"

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

// The settings of commands that open the database themselves. Settings that do not concern the database are not checked.

const databaseNames = ["DATABASE_URL", "DATA_DIR", "POSTGRES_BIN"] as const
const keyNames = ["STORAGE_ENCRYPTION_KEY", "STORAGE_DECRYPTION_KEYS"] as const

/** With `DATABASE_URL`, settings need a master key. A command that reads no secret gets this one. */
const placeholder = Buffer.alloc(32).toString("base64")

const decode = Effect.fnUntraced(function* (
  given: ServeFlagValues,
  names: ReadonlyArray<Settings.Name>,
  fallback: Readonly<Record<string, string>>
) {
  const { variables, dotEnv } = yield* Environment
  const only = (source: Readonly<Record<string, string | undefined>>) =>
    Object.fromEntries(names.map((name) => [name, source[name]]))
  return yield* Settings.decode(sourceOfFlags(given), only(variables), only(dotEnv), fallback).pipe(
    Effect.mapError(({ message }) => CommandFailed.usage(message))
  )
})

/** For a command that reads no secret. */
export const settingsWithoutKeys = (given: ServeFlagValues) =>
  decode(given, databaseNames, { STORAGE_ENCRYPTION_KEY: placeholder })

/** With `DATABASE_URL`, `STORAGE_ENCRYPTION_KEY` is required. */
export const settingsWithKeys = (given: ServeFlagValues) => decode(given, [...databaseNames, ...keyNames], {})
