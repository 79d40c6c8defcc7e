// Decodes the configuration by hand, because it reports every problem at once with an example; `Config` stops at the first one.
import { Effect, Record, Redacted, Result, Schema, SchemaIssue } from "effect"
import type * as Sql from "../../sql/Sql.ts"
import { splitMasterKeys, variables } from "./Variables.ts"

export type Name = keyof typeof variables

/** All settings, for the help of the command. */
export const described: ReadonlyArray<{ readonly name: Name; readonly help: string; readonly default?: string }> = (
  Object.keys(variables) as Array<Name>
).map((name) => ({ name, ...variables[name] }))

const Raw = Schema.Struct(
  Record.map(variables, ({ schema }) => schema) as { readonly [N in Name]: (typeof variables)[N]["schema"] }
)

export type Settings = typeof Raw.Type

/** Some variables are invalid. The message has a line for each. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", { message: Schema.String }) {}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const lineOf = (name: Name, message: string) => `  ${name}: ${message} (for example ${variables[name].example})`

const explain = (lines: ReadonlyMap<Name, string>) =>
  new SettingsError({
    message: `the configuration is invalid:\n${[...lines].map(([name, message]) => lineOf(name, message)).join("\n")}`
  })

/** The first problem of each variable. */
const problems = (
  merged: Readonly<Record<string, string>>,
  issue: SchemaIssue.Issue | undefined
): Map<Name, string> => {
  const found = new Map<Name, string>()
  for (const { path, message } of issue === undefined ? [] : format(issue).issues) {
    const name = String(path?.[0]) as Name
    if (!found.has(name)) found.set(name, message)
  }
  if (merged.DATABASE_URL !== undefined && merged.STORAGE_ENCRYPTION_KEY === undefined) {
    found.set("STORAGE_ENCRYPTION_KEY", "is required with DATABASE_URL")
  }
  return found
}

const defaults = Object.fromEntries(
  described.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]]))
)

type Source = Readonly<Record<string, string | undefined>>

/** Earlier sources take precedence. An empty value counts as unset. */
const merge = (...sources: ReadonlyArray<Source>): Readonly<Record<string, string>> => {
  const merged: Record<string, string> = { ...defaults }
  for (const source of sources.toReversed()) {
    for (const { name } of described) {
      const value = source[name]
      if (value !== undefined && value !== "") merged[name] = value
    }
  }
  return merged
}

/** Earlier sources take precedence. Secrets in the result are `Redacted`. */
export const decode = (...sources: ReadonlyArray<Source>): Effect.Effect<Settings, SettingsError> => {
  const merged = merge(...sources)
  return Effect.flatMap(Effect.result(Schema.decodeUnknownEffect(Raw, { errors: "all" })(merged)), (decoded) => {
    const found = problems(merged, Result.isFailure(decoded) ? decoded.failure.issue : undefined)
    return Result.isSuccess(decoded) && found.size === 0 ? Effect.succeed(decoded.success) : Effect.fail(explain(found))
  })
}

/** The keys of `STORAGE_DECRYPTION_KEYS`. */
export const decryptionKeys = (settings: Settings): ReadonlyArray<Redacted.Redacted> =>
  settings.STORAGE_DECRYPTION_KEYS === undefined
    ? []
    : splitMasterKeys(Redacted.value(settings.STORAGE_DECRYPTION_KEYS)).map((key) => Redacted.make(key))

/** The bytes of a `STORAGE_ENCRYPTION_KEY`. */
export const masterKeyBytes = (key: Redacted.Redacted): Redacted.Redacted<Uint8Array> =>
  Redacted.make(new Uint8Array(Buffer.from(Redacted.value(key), "base64")))

/** Milliseconds. No statement of the API is this slow, but it may wait for a lock. */
const longestStatement = 10_000

/** A statement ends in half of the request's time, so that the request gets a response in time. */
const pool = (settings: Settings): Sql.PoolOptions => ({
  statementTimeout: Math.min(longestStatement, Math.ceil(settings.REQUEST_TIMEOUT_MS / 2))
})

/** The options of the database. */
export const databaseOptions = (settings: Settings): Sql.Options =>
  settings.DATABASE_URL === undefined
    ? {
        _tag: "Embedded",
        dataDir: settings.DATA_DIR,
        bin: settings.POSTGRES_BIN,
        pool: pool(settings)
      }
    : { _tag: "Url", url: settings.DATABASE_URL, pool: pool(settings) }
