// Instances that send transactions of evm, and die or hang. Processes run by the clock of the machine.
import { describe, it } from "@effect/vitest"
import { pause, sendAndDie } from "./DyingInstances.ts"

/** Milliseconds. Each of the 20 faults takes a start or a lease; two instances have theirs at the same time. */
const patience = 480_000

describe("instances that send", () => {
  it.live(
    "execute every accepted transaction once, although two of them are killed or frozen, ten times each in all",
    () => sendAndDie({ kills: 10, freezes: 10, pause }),
    patience
  )
})
