// The configuration of the process: text from outside, decoded once, with every mistake told at once.
import { Effect, Record, Redacted, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { isAdministratorKey, minAdministratorKeyLength } from "../../domain/access/AdministratorKey.ts"
import * as AllowList from "../../outbound/AllowList.ts"

const integer = (minimum: number, maximum: number) =>
  Schema.String.check(Schema.isPattern(/^\d{1,15}$/u, { expected: `an integer from ${minimum} to ${maximum}` })).pipe(
    Schema.decodeTo(
      Schema.Int.check(
        Schema.isBetween({ minimum, maximum }, { expected: `an integer from ${minimum} to ${maximum}` })
      ),
      SchemaTransformation.transform({ decode: Number, encode: String })
    )
  )

const url = (protocols: ReadonlyArray<string>) => {
  const expected = `a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`
  return Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        const parsed = URL.parse(text)
        return parsed !== null && protocols.includes(parsed.protocol)
      },
      { expected }
    )
  )
}

/** 32 bytes as base64. */
export const isMasterKey = (text: string): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, "base64").length === 32

const masterKey = Schema.String.check(Schema.makeFilter(isMasterKey, { expected: "32 bytes as base64" }))

const masterKeys = (text: string): ReadonlyArray<string> => text.split(",").map((key) => key.trim())

const masterKeyList = Schema.String.check(
  Schema.makeFilter((text: string) => masterKeys(text).every(isMasterKey), {
    expected: "keys of 32 bytes as base64, with commas between them"
  })
)

const variables = {
  HOST: { schema: Schema.NonEmptyString, default: "127.0.0.1", example: "0.0.0.0", help: "Address to listen on" },
  PORT: { schema: integer(0, 65535), default: "8080", example: "8080", help: "Port to listen on; 0 takes a free one" },
  API_KEY: {
    schema: Schema.optionalKey(
      Schema.RedactedFromValue(
        Schema.String.check(
          Schema.makeFilter(isAdministratorKey, { expected: `at least ${minAdministratorKeyLength} characters` })
        )
      )
    ),
    example: "the output of: openssl rand -hex 32",
    help: "The administrator's key; made on the first start and kept in DATA_DIR where it is not set"
  },
  DATABASE_URL: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(url(["postgres:", "postgresql:"]))),
    example: "postgres://relayer:password@db:5432/relayer",
    help: "PostgreSQL 15 or later; the embedded one where it is not set"
  },
  DATA_DIR: {
    schema: Schema.NonEmptyString,
    default: "./data",
    example: "/var/lib/relayer",
    help: "Files of the embedded database, and keys that were made"
  },
  POSTGRES_BIN: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "/usr/lib/postgresql/18/bin",
    help: "Folder of initdb and postgres to embed instead of the npm binaries"
  },
  STORAGE_ENCRYPTION_KEY: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(masterKey)),
    example: "the output of: openssl rand -base64 32",
    help: "Encrypts secrets in the database; made and kept in DATA_DIR with the embedded one, required with DATABASE_URL"
  },
  STORAGE_DECRYPTION_KEYS: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(masterKeyList)),
    example: "the STORAGE_ENCRYPTION_KEY of before",
    help: "Further keys, with commas between them, that stored secrets may still be read with, for a rotation"
  },
  RATE_LIMIT_REQUESTS_PER_SECOND: {
    schema: integer(1, 1_000_000),
    default: "100",
    example: "100",
    help: "Requests per second and API key"
  },
  RATE_LIMIT_BURST_SIZE: {
    schema: integer(1, 1_000_000),
    default: "300",
    example: "300",
    help: "Requests that a rested API key may send at once"
  },
  REDIS_URL: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(url(["redis:", "rediss:"]))),
    example: "redis://redis:6379",
    help: "Counts requests across instances; each instance counts for itself where it is not set"
  },
  REQUEST_TIMEOUT_MS: {
    schema: integer(1, 3_600_000),
    default: "30000",
    example: "30000",
    help: "Milliseconds after which a request is given up with 503; it has to arrive in half of them"
  },
  MAX_BODY_BYTES: {
    schema: integer(1, 67_108_864),
    default: "1048576",
    example: "1048576",
    help: "Bytes of a request body"
  },
  SHUTDOWN_GRACE_MS: {
    schema: integer(0, 3_600_000),
    default: "10000",
    example: "10000",
    help: "Milliseconds that requests get to finish after SIGTERM"
  },
  OUTBOUND_ALLOW: {
    schema: Schema.optionalKey(AllowList.FromText),
    example: "localhost,127.0.0.0/8,::1,vault.internal,10.1.0.0/16",
    help: "Hosts and ranges that are not public, and that URLs of users may point to all the same; none where it is not set"
  },
  WATCH: {
    schema: Schema.Literals(["on", "off"]),
    default: "on",
    example: "off",
    help: "off: serves requests only; other processes on the database check relayers and deliver webhooks"
  },
  HEALTH_CHECK_INTERVAL_MS: {
    schema: integer(1000, 86_400_000),
    default: "60000",
    example: "60000",
    help: "Milliseconds between two checks of a relayer that is well"
  },
  LOG_LEVEL: {
    schema: Schema.Literals(["trace", "debug", "info", "warn", "error", "fatal", "none"]),
    default: "info",
    example: "info",
    help: "Least severe lines that are logged"
  },
  LOG_FORMAT: {
    schema: Schema.optionalKey(Schema.Literals(["pretty", "json"])),
    example: "json",
    help: "pretty on a terminal, json elsewhere, where it is not set"
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: Schema.optionalKey(url(["http:", "https:"])),
    example: "http://localhost:4318",
    help: "Sends traces, metrics and logs by OTLP over HTTP"
  }
} as const

export type Name = keyof typeof variables

/** Everything there is to set: for the command's help. */
export const described: ReadonlyArray<{ readonly name: Name; readonly help: string; readonly default?: string }> = (
  Object.keys(variables) as Array<Name>
).map((name) => ({ name, ...variables[name] }))

const Raw = Schema.Struct(
  Record.map(variables, ({ schema }) => schema) as { readonly [N in Name]: (typeof variables)[N]["schema"] }
)

export type Settings = typeof Raw.Type

/** Some variables have no usable value; the message has a line for each. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", { message: Schema.String }) {}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const lineOf = (name: Name, message: string) => `  ${name}: ${message} (for example ${variables[name].example})`

const explain = (lines: ReadonlyMap<Name, string>) =>
  new SettingsError({
    message: `the configuration does not fit:\n${[...lines].map(([name, message]) => lineOf(name, message)).join("\n")}`
  })

/** Of each variable, the first thing that is wrong with it. */
const mistakes = (
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

/** Earlier sources win; an empty value counts as not set. */
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

/** As `merge`; the result holds secrets only as `Redacted`. */
export const decode = (...sources: ReadonlyArray<Source>): Effect.Effect<Settings, SettingsError> => {
  const merged = merge(...sources)
  return Effect.flatMap(Effect.result(Schema.decodeUnknownEffect(Raw, { errors: "all" })(merged)), (decoded) => {
    const found = mistakes(merged, Result.isFailure(decoded) ? decoded.failure.issue : undefined)
    return Result.isSuccess(decoded) && found.size === 0 ? Effect.succeed(decoded.success) : Effect.fail(explain(found))
  })
}

/** The keys of `STORAGE_DECRYPTION_KEYS`. */
export const decryptionKeys = (settings: Settings): ReadonlyArray<Redacted.Redacted> =>
  settings.STORAGE_DECRYPTION_KEYS === undefined
    ? []
    : masterKeys(Redacted.value(settings.STORAGE_DECRYPTION_KEYS)).map((key) => Redacted.make(key))

/** The bytes of a `STORAGE_ENCRYPTION_KEY`. */
export const masterKeyBytes = (key: Redacted.Redacted): Redacted.Redacted<Uint8Array> =>
  Redacted.make(new Uint8Array(Buffer.from(Redacted.value(key), "base64")))
