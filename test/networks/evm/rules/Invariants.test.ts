// The invariants of the state machine over random sequences of everything that can happen.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary } from "effect"
import { property } from "../../../../testkit/Depth.ts"
import { observe, watch } from "./simulation/Invariants.ts"
import { live, noFaults, rounds, sent, settleAll } from "./simulation/Scenes.ts"
import { Steps } from "./simulation/Step.ts"
import type { Step } from "./simulation/Step.ts"
import { take } from "./simulation/Steps.ts"
import { network, transactionOf } from "./simulation/World.ts"

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

describe("any sequence of events around delegations", () => {
  /** Half of the requests make many calls, and each group of them is a delegation instead, or its end. */
  const Delegating = Arbitrary.map(Steps, (steps) =>
    steps
      .filter((step) => step.do !== "Fork")
      .map((step): Step => {
        switch (step.do) {
          case "Accept":
            return step.offer % 2 === 0 ? step : { do: "Calls", lasts: step.lasts }
          case "Batch":
            return { do: "Delegate", ends: step.count }
          case "Use":
            return { do: "Stranger" }
          default:
            return step
        }
      })
  )
  const delegate = { do: "Delegate", ends: 0 } as const satisfies Step

  it.prop(
    "executes nothing twice, reports no wrong end, and explains each second nonce",
    [Delegating],
    ([steps]) => {
      const world = sent({ observe })
      rounds(world, 4)
      take(world, delegate, watch)
      live(world, [{ do: "Assign", faults: noFaults }, ...steps])
      settleAll(world)
    },
    property(300, { size: 60 })
  )

  it.prop(
    "makes many calls once or not at all, whoever changes what the account runs",
    [Delegating],
    ([steps]) => {
      const world = sent({ observe })
      take(world, delegate, watch)
      rounds(world, 12)
      assert.strictEqual(transactionOf(world, 2).state, "confirmed")
      live(world, steps)
      settleAll(world)
    },
    property(300, { size: 60 })
  )
})
