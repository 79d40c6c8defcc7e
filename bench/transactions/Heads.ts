// When each block of a chain arrived.
import { Effect } from "effect"

export interface Heads {
  /** Milliseconds since 1970. Undefined: the block has not come. */
  arrivalOf(block: number): number | undefined
  /** The same for the block that confirms what a block has. `required`: blocks from that one to this one. */
  confirmationOf(block: number, required: number): number | undefined
  /** Waits for the next block and then for this many seconds. */
  after(seconds: number): Effect.Effect<void>
}

/**
 * `arrivals`: milliseconds since 1970 by the number of the block. The network adds each block when it comes. `confirmationOf`: absent
 * if no number is without a block.
 */
export const make = (arrivals: ReadonlyMap<number, number>, confirmationOf?: Heads["confirmationOf"]): Heads => {
  const next = Effect.suspend(() => {
    const known = arrivals.size
    return Effect.repeat(Effect.sleep("2 millis"), { until: () => arrivals.size > known })
  })
  return {
    arrivalOf: (block) => arrivals.get(block),
    confirmationOf: confirmationOf ?? ((block, required) => arrivals.get(block + required)),
    after: (seconds) => Effect.andThen(next, Effect.sleep(seconds * 1000))
  }
}
