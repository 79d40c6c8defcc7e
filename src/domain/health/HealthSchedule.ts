// When a relayer is looked at again.
import * as Health from "./Health.ts"

/** Seconds after the first, second, … failure in a row; the last of them from then on. */
const delaysAfterFailure = [10, 20, 30, 45, 60] as const

/** Share of the interval by which a check may come earlier or later, so that checks spread. */
const jitter = 0.2

/** Milliseconds. `random`: from 0 to 1, without 1. A failure never makes checks rarer. */
export const delay = (health: Health.Health, interval: number, random: number): number => {
  const failures = Health.failuresOf(health)
  const usual = Math.round(interval * (1 + jitter * (2 * random - 1)))
  if (failures === 0) return usual
  const seconds = delaysAfterFailure[Math.min(failures, delaysAfterFailure.length) - 1] ?? 60
  return Math.min(seconds * 1000, usual)
}
