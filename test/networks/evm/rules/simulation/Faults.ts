// What goes wrong while a process works on its lane: how it reaches the providers, and where it dies.
import type { Delivery } from "./Node.ts"
import { fair } from "./Reader.ts"
import type { Reading } from "./Reader.ts"
import { noMemory } from "./World.ts"
import type { World } from "./World.ts"

/** Where a process dies. */
export type CrashPoint = "before_commit" | "after_commit" | "after_send" | "never"

export interface Faults {
  readonly reading: Reading
  readonly crash: CrashPoint
  readonly honestNode: Delivery
  readonly lyingNode: Delivery
  readonly lie: string
}

export const faultless: Faults = {
  reading: fair,
  crash: "never",
  honestNode: "taken",
  lyingNode: "taken",
  lie: "nonce too low"
}

class Crash extends Error {}

export const dieAt = (faults: Faults, point: CrashPoint): void => {
  if (faults.crash === point) throw new Crash(point)
}

/** Runs a part of a process; if it dies there, its memory is gone. */
export const living = (world: World, run: () => void): void => {
  try {
    run()
  } catch (error) {
    if (!(error instanceof Crash)) throw error
    world.memory = noMemory
  }
}
