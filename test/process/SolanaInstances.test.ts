// Instances that send transactions of solana, and die or hang, often during a refresh. Processes run by the clock of the machine.
import { describe, it } from "@effect/vitest"
import { scene } from "../../faults/solana/Kill.ts"
import { pause, sendAndDie } from "./DyingInstances.ts"

/** Milliseconds between two blocks: a blockhash lives for eight seconds, so that the instances refresh all the time while they die. */
const blockMillis = 50

/** Milliseconds. Half of the bytes get lost, and each refresh takes the life of a blockhash. */
const patience = 580_000

describe("instances that send transactions of solana", () => {
  it.live(
    "execute every accepted transaction once, although two of them are killed or frozen",
    () => sendAndDie({ kills: 3, freezes: 3, pause, scene: (tally) => scene(tally, blockMillis) }),
    patience
  )
})
