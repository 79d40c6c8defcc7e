// The settings of `effect-relayer dev`: few are the user's, and the others have values that cannot harm other data or reach others.
import { Effect } from "effect"
import * as Settings from "../settings/Settings.ts"
import { DevelopmentFailed } from "./LocalProcess.ts"

/** Settings that the user may set in the environment and in `.env`. */
const taken: ReadonlySet<Settings.Name> = new Set([
  "PORT",
  "POSTGRES_BIN",
  "CORS_ORIGINS",
  "LOG_LEVEL",
  "LOG_FORMAT",
  "ACCESS_LOG"
])

type Source = Readonly<Record<string, string | undefined>>

/** Relative to the working directory. Not `DATA_DIR`, which names the data of another service. */
export const defaultFolder = "./data/dev"

export const defaultLogLevel = "warn"

const isSet = (name: Settings.Name) => (source: Source) => source[name] !== undefined && source[name] !== ""

/** `flags` may have `PORT`, `LOG_LEVEL` and `DATA_DIR`. */
export const decode = Effect.fnUntraced(function* (flags: Source, ...sources: ReadonlyArray<Source>) {
  if (sources.some(isSet("DATABASE_URL"))) {
    return yield* new DevelopmentFailed({
      message:
        "effect-relayer dev has a database of its own and refuses DATABASE_URL, so that it never changes another one: unset DATABASE_URL in the environment and in .env, or run effect-relayer serve"
    })
  }
  const names = Settings.described.map(({ name }) => name)
  const own = (source: Source): Source => Object.fromEntries([...taken].map((name) => [name, source[name]]))
  const settings = yield* Settings.decode(flags, ...sources.map(own), {
    HOST: "127.0.0.1",
    DATA_DIR: defaultFolder,
    LOG_LEVEL: defaultLogLevel,
    // Milliseconds: a relayer without funds is noticed, and one that was funded is enabled, while the user looks.
    HEALTH_CHECK_INTERVAL_MS: "5000"
  })
  return { settings, unused: names.filter((name) => !taken.has(name) && sources.some(isSet(name))) }
})
