// Instances that send transactions of stellar, and die or hang. Processes run by the clock of the machine.
import { describe, it } from "@effect/vitest"
import { scene } from "../../faults/stellar/Kill.ts"
import { isLong } from "../../testkit/Depth.ts"
import { sendAndDie } from "./DyingInstances.ts"

/** At random moments, so that more of them find more. A start after a kill takes a second of the processor. */
const times = isLong ? 10 : 4

/** Milliseconds. An envelope that is lost keeps its place until it is dead, which is up to a minute of close times. */
const patience = 580_000

describe("instances that send transactions of stellar", () => {
  it.live(
    `apply every accepted payment once, although two of them are killed and frozen ${times} times each`,
    () => sendAndDie({ kills: times, freezes: times, scene }),
    patience
  )
})
