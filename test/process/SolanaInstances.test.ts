// Instances that send transactions of solana, and die or hang, often during a refresh.
import { describe, it } from "@effect/vitest"
import { scene } from "../../faults/solana/Kill.ts"
import { sendAndDie } from "./DyingInstances.ts"

/** Milliseconds. Half of the bytes get lost, and each refresh takes the life of a blockhash. */
const patience = 580_000

describe("instances that send transactions of solana", () => {
  it.live(
    "execute every accepted transaction once, although two of them are killed or frozen",
    () => sendAndDie({ kills: 3, freezes: 3, scene }),
    patience
  )
})
