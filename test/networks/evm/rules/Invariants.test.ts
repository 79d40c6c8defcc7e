// The invariants of the state machine over random sequences of everything that can happen.
import { describe, it } from "@effect/vitest"
import { Arbitrary } from "effect"
import { property } from "../../../../testkit/Depth.ts"
import { observe } from "./simulation/Invariants.ts"
import { live, sent, settleAll } from "./simulation/Scenes.ts"
import { Steps } from "./simulation/Step.ts"
import { network } from "./simulation/World.ts"

describe("any sequence of events", () => {
  it.prop(
    "with one honest and one lying provider executes nothing twice, reports no wrong end, and reaches an end",
    [Steps],
    ([steps]) => {
      const world = sent({ observe })
      live(world, steps)
      settleAll(world)
    },
    property(500, { size: 60 })
  )

  it.prop(
    "with a single provider that lags executes nothing twice, reports no wrong end, and reaches an end",
    [Steps],
    ([steps]) => {
      const world = sent({ hasSecond: false, observe })
      live(world, steps)
      settleAll(world)
    },
    property(300, { size: 60 })
  )

  it.prop(
    "on a network with a window of two executes nothing twice, reports no wrong end, and reaches an end",
    [Steps],
    ([steps]) => {
      const world = sent({ network: { ...network, window: 2 }, observe })
      live(world, steps)
      settleAll(world)
    },
    property(300, { size: 60 })
  )
})

describe("any sequence of events around authorizations", () => {
  const Listed = Arbitrary.map(Steps, (steps) =>
    steps.filter((step) => step.do !== "Fork").map((step) => (step.do === "Accept" ? { ahead: 0, ...step } : step))
  )

  it.prop(
    "executes nothing twice, reports no wrong end, and shows of each delegation what the chain has",
    [Listed],
    ([steps]) => {
      const world = sent({ observe })
      live(world, steps)
      settleAll(world)
    },
    property(300, { size: 60 })
  )
})
