// How states are marked. A state that the console does not know is shown as text.
import { words } from "../words.ts"
import { mark } from "./Tag.tsx"
import type { Mark } from "./Tag.tsx"

const { states } = words

const marks: Readonly<Record<string, Mark>> = {
  healthy: mark("ok", states.healthy),
  enabled: mark("ok", states.enabled),
  degraded: mark("warn", states.degraded),
  failing: mark("warn", states.failing),
  waiting: mark("warn", states.waiting),
  disabled: mark("bad", states.disabled),
  unknown: mark("off", states.unknown),
  paused: mark("off", states.paused, "pause"),
  pending: mark("off", states.pending, "wait"),
  sent: mark("info", states.sent, "up"),
  submitted: mark("info", states.submitted),
  mined: mark("info", states.mined),
  confirmed: mark("ok", states.confirmed),
  failed: mark("bad", states.failed),
  canceled: mark("off", states.canceled, "pause"),
  expired: mark("warn", states.expired)
}

export const markOf = (state: string): Mark => marks[state] ?? mark("off", state)

interface RelayerState {
  readonly paused: boolean
  readonly system_disabled: boolean
  /** Only some lists have it. */
  readonly health?: { readonly state: string }
}

/** The mark of a relayer in a list. A relayer that is paused and disabled is shown as disabled, because that is what needs a repair. */
export const relayerMark = ({ paused, system_disabled, health }: RelayerState): Mark => {
  if (system_disabled) return markOf("disabled")
  return markOf(paused ? "paused" : (health?.state ?? "enabled"))
}
