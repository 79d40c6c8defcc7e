// The settings of commands that open the database themselves. Settings that do not concern the database are not checked.
import { Effect } from "effect"
import * as Settings from "../../process/settings/Settings.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { Environment } from "./Environment.ts"
import * as ServeFlags from "./ServeFlags.ts"

const databaseNames = ["DATABASE_URL", "DATA_DIR", "POSTGRES_BIN"] as const
const keyNames = ["STORAGE_ENCRYPTION_KEY", "STORAGE_DECRYPTION_KEYS"] as const

/** With `DATABASE_URL`, settings need a master key. A command that reads no secret gets this one. */
const placeholder = Buffer.alloc(32).toString("base64")

const decode = Effect.fnUntraced(function* (
  given: ServeFlags.ServeFlagValues,
  names: ReadonlyArray<Settings.Name>,
  fallback: Readonly<Record<string, string>>
) {
  const { variables, dotEnv } = yield* Environment
  const only = (source: Readonly<Record<string, string | undefined>>) =>
    Object.fromEntries(names.map((name) => [name, source[name]]))
  return yield* Settings.decode(ServeFlags.source(given), only(variables), only(dotEnv), fallback).pipe(
    Effect.mapError(({ message }) => CommandFailed.usage(message))
  )
})

/** For a command that reads no secret. */
export const withoutKeys = (given: ServeFlags.ServeFlagValues) =>
  decode(given, databaseNames, { STORAGE_ENCRYPTION_KEY: placeholder })

/** With `DATABASE_URL`, `STORAGE_ENCRYPTION_KEY` is required. */
export const withKeys = (given: ServeFlags.ServeFlagValues) => decode(given, [...databaseNames, ...keyNames], {})
