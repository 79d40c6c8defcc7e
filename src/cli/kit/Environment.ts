// Where commands find settings: environment variables, the lines of `.env`, and the flags of `serve`. Only main.ts reads the environment.
import { Context, Effect, Option } from "effect"
import { Flag } from "effect/cli"
import * as Settings from "../../process/settings/Settings.ts"

export type Variables = Readonly<Record<string, string | undefined>>

interface Found {
  readonly value: string
  readonly inDotEnv: boolean
}

/** An empty value counts as unset. */
const nonEmpty = (value: string | undefined) => (value === "" ? undefined : value)

export class Environment extends Context.Service<
  Environment,
  {
    readonly variables: Variables
    /** The lines of `.env`. */
    readonly dotEnv: Variables
    /** Whether the standard output is a terminal. */
    readonly isTerminal: boolean
  }
>()("effect-relayer/cli/kit/Environment") {
  /** Searches the environment first, then `.env`. */
  static readonly find = (name: string): Effect.Effect<Found | undefined, never, Environment> =>
    Effect.map(Environment, ({ variables, dotEnv }) => {
      const set = nonEmpty(variables[name])
      const value = set ?? nonEmpty(dotEnv[name])
      return value === undefined ? undefined : { value, inDotEnv: set === undefined }
    })

  static readonly read = (name: string): Effect.Effect<string | undefined, never, Environment> =>
    Effect.map(Environment.find(name), (found) => found?.value)
}

// The flags of `serve`: all settings that are not secrets, named like their environment variables.

/** Settings without a flag, because other users of the machine can read the command line. */
export const secretSettings: ReadonlySet<Settings.Name> = new Set([
  "API_KEY",
  "DATABASE_URL",
  "STORAGE_ENCRYPTION_KEY",
  "STORAGE_DECRYPTION_KEYS",
  "REDIS_URL",
  "IDENTITY_HEADER",
  "METRICS_TOKEN",
  "OTEL_EXPORTER_OTLP_HEADERS"
])

export type ServeFlagValues = Readonly<Record<string, Option.Option<string>>>

const named = (settings: typeof Settings.described) =>
  Object.fromEntries(
    settings
      .filter(({ name }) => !secretSettings.has(name))
      .map(({ name, help, default: value }) => [
        name,
        Flag.String(name.toLowerCase().replaceAll("_", "-")).pipe(
          Flag.withDescription(`${help}${value === undefined ? "" : ` (default ${value})`} [${name}]`),
          Flag.optional
        )
      ])
  )

export const serveFlags = named(Settings.described)

/** The flags of commands that only use the database. */
export const databaseFlags = named(
  Settings.described.filter(({ name }) => name === "DATA_DIR" || name === "POSTGRES_BIN")
)

/** The flags that were used, as a source of `Settings.decode`. */
export const sourceOfFlags = (given: ServeFlagValues): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Option.getOrUndefined(value)]))
