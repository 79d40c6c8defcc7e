// What the settings CONSOLE, CONSOLE_ORIGINS, CONSOLE_SESSION_HOURS and CONSOLE_IDLE_MINUTES mean together.
import { Duration } from "effect"
import type { Lifetimes } from "../../domain/access/Session.ts"
import { isLoopbackAddress } from "../../server/console/Site.ts"
import type { Settings } from "./Settings.ts"

export interface ConsoleSettings {
  readonly readOnly: boolean
  readonly origins: ReadonlyArray<string>
  readonly lifetimes: Lifetimes
}

/** They name every address of the machine, and no host. */
const unspecified: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

const boundOrigin = ({ HOST: host, PORT: port }: Settings): ReadonlyArray<string> =>
  unspecified.has(host) ? [] : [new URL(`http://${host.includes(":") ? `[${host}]` : host}:${port}`).origin]

/** `undefined`: there is no console. Without CONSOLE, there is one where only this machine reaches it, or where CONSOLE_ORIGINS says. */
export const of = (settings: Settings): ConsoleSettings | undefined => {
  const { HOST, CONSOLE, CONSOLE_ORIGINS } = settings
  const mode = CONSOLE ?? (isLoopbackAddress(HOST) || CONSOLE_ORIGINS !== undefined ? "on" : "off")
  if (mode === "off") return undefined
  return {
    readOnly: mode === "read-only",
    origins: [...(CONSOLE_ORIGINS ?? []), ...(isLoopbackAddress(HOST) ? [] : boundOrigin(settings))],
    lifetimes: {
      longest: Duration.hours(settings.CONSOLE_SESSION_HOURS),
      idle: Duration.minutes(settings.CONSOLE_IDLE_MINUTES)
    }
  }
}
