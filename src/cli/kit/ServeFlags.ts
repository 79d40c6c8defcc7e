// The flags of the service: every setting that is no secret, under the name that it has in the environment.
import { Option } from "effect"
import { Flag } from "effect/cli"
import * as Settings from "../../process/settings/Settings.ts"

/** Nobody should have to put a secret where other users of the machine can read it. */
export const secrets: ReadonlySet<Settings.Name> = new Set([
  "API_KEY",
  "DATABASE_URL",
  "STORAGE_ENCRYPTION_KEY",
  "STORAGE_DECRYPTION_KEYS",
  "REDIS_URL"
])

export type Given = Readonly<Record<string, Option.Option<string>>>

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

/** Of what has to do with the database alone. */
export const databaseFlags = named(
  Settings.described.filter(({ name }) => name === "DATA_DIR" || name === "POSTGRES_BIN")
)

/** What was given, as a source of `Settings.decode`. */
export const source = (given: Given): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Option.getOrUndefined(value)]))
