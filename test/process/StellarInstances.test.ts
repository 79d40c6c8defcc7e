// Instances that send transactions of stellar, and die or hang. Processes run by the clock of the machine.
import { describe, it } from "@effect/vitest"
import { scene } from "../../faults/stellar/Kill.ts"
import { sendAndDie } from "./DyingInstances.ts"

/** Milliseconds. An envelope that is lost keeps its place until it is dead, which is up to a minute of close times. */
const patience = 580_000

describe("instances that send transactions of stellar", () => {
  it.live(
    "apply every accepted payment once, although two of them are killed and frozen ten times each",
    () => sendAndDie({ kills: 10, freezes: 10, scene }),
    patience
  )
})
