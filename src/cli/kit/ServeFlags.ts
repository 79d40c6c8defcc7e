// The flags of `serve`: all settings that are not secrets, named like their environment variables.
import { Option } from "effect"
import { Flag } from "effect/cli"
import * as Settings from "../../process/settings/Settings.ts"

/** Settings without a flag, because other users of the machine can read the command line. */
export const secrets: ReadonlySet<Settings.Name> = new Set([
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
      .filter(({ name }) => !secrets.has(name))
      .map(({ name, help, default: value }) => [
        name,
        Flag.String(name.toLowerCase().replaceAll("_", "-")).pipe(
          Flag.withDescription(`${help}${value === undefined ? "" : ` (default ${value})`} [${name}]`),
          Flag.optional
        )
      ])
  )

export const flags = named(Settings.described)

/** The flags of commands that only use the database. */
export const databaseFlags = named(
  Settings.described.filter(({ name }) => name === "DATA_DIR" || name === "POSTGRES_BIN")
)

/** The flags that were used, as a source of `Settings.decode`. */
export const source = (given: ServeFlagValues): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Option.getOrUndefined(value)]))
