// Computes when a relayer is checked again.
import * as Health from "./Health.ts"

/** Seconds after the first, second, … failure in a row. The last value applies to all later ones. */
const delaysAfterFailure = [10, 20, 30, 45, 60] as const

/** The share of the interval by which a check may come earlier or later, so that checks spread out. */
const jitter = 0.2

/** Milliseconds until the next check. `random` is in [0, 1). The delay after a failure is never longer than the usual one. */
export const delay = (health: Health.Health, interval: number, random: number): number => {
  const failures = Health.failuresOf(health)
  const usual = Math.round(interval * (1 + jitter * (2 * random - 1)))
  if (failures === 0) return usual
  const seconds = delaysAfterFailure[Math.min(failures, delaysAfterFailure.length) - 1] ?? 60
  return Math.min(seconds * 1000, usual)
}
