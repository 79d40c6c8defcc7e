// Instances that send transactions of evm, and die or hang. Processes run by the clock of the machine.
import { describe, it } from "@effect/vitest"
import { isLong } from "../../testkit/Depth.ts"
import { pause, sendAndDie } from "./DyingInstances.ts"

/** At random moments, so that more of them find more. A start after a kill takes a second of the processor. */
const times = isLong ? 10 : 4

/** Milliseconds. Each of up to 20 faults takes a start or a lease; two instances have theirs at the same time. */
const patience = 480_000

describe("instances that send", () => {
  it.live(
    `execute every accepted transaction once, although two of them are killed or frozen, ${times} times each in all`,
    () => sendAndDie({ kills: times, freezes: times, pause }),
    patience
  )
})
