// Each scenario fails the program with its mistake, and passes a careful one.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Scenario, TestChain, TestRelayer } from "../../../src/testkit/index.ts"
import type { Transactions as Sends } from "../../../src/server/transactions/Transactions.ts"
import type { EventFeed as Feed } from "../../../src/server/events/EventFeed.ts"
import * as Programs from "./Programs.ts"

type Program = (id: RelayerId) => Effect.Effect<number, unknown, Sends | Feed>

const scenarios = {
  answerLost: Scenario.answerLost,
  providerDies: Scenario.providerDies,
  providerLies: Scenario.providerLies,
  reorgOfDepth: Scenario.reorgOfDepth(2),
  nonceTakenByForeign: <E, R>(given: Scenario.PaymentProgram<E, R>) =>
    Scenario.nonceTakenByForeign({ ...given, key: Programs.key }),
  priceSpike: Scenario.priceSpike,
  dropped: Scenario.dropped,
  reverts: Scenario.reverts,
  deadlinePasses: Scenario.deadlinePasses,
  eventsTwiceAndLate: Scenario.eventsTwiceAndLate
}
const names = Object.keys(scenarios) as ReadonlyArray<keyof typeof scenarios>

/** What the mistake of the program leads to. */
const consequences: Readonly<Record<keyof typeof scenarios, string>> = {
  answerLost: "the chain has the payment 2 times: the program has sent it more than once",
  providerDies: "the program has booked the payment 0 times, and the chain has it once",
  providerLies: "the program has booked the payment once, and the chain has it 0 times",
  reorgOfDepth: "the program has booked the payment 2 times, and the chain has it once",
  nonceTakenByForeign: "the chain has the payment 2 times: the program has sent it more than once",
  priceSpike: "the chain has the payment 2 times: the program has sent it more than once",
  dropped: "the program has booked the payment 0 times, and the chain has it once",
  reverts: "the program has booked the payment once, and the chain has it 0 times",
  deadlinePasses: "the program has booked the payment 0 times, and the chain has it once",
  eventsTwiceAndLate: "the program has booked the payment 2 times, and the chain has it once"
}

const play = (name: keyof typeof scenarios, program: Program) =>
  Effect.gen(function* () {
    const { id: relayer } = yield* Programs.relayer
    return yield* scenarios[name]({ relayer, payment: Programs.payment, program: program(relayer) })
  }).pipe(Effect.provide(TestRelayer.layer({ network: TestChain.evm() })))

describe("a program with a mistake", () => {
  it.effect.each(names)("fails the scenario of the mistake: %s", (name) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(play(name, Programs.mistaken[name]))
      assert.instanceOf(failure, Scenario.ScenarioFailed)
      assert.match(failure.message, new RegExp(`^${name}(\\(2\\))?: ${consequences[name]}$`))
    })
  )
})

describe("a careful program", () => {
  it.effect.each(names)("passes the scenario: %s", (name) => play(name, Programs.careful))

  it.effect.each(["answerLost", "reorgOfDepth", "reverts", "eventsTwiceAndLate"] as const)(
    "passes it by reading events: %s",
    (name) => play(name, Programs.carefulReader)
  )
})

describe("a scenario", () => {
  it.effect("names a program that does not end", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        Effect.gen(function* () {
          const { id: relayer } = yield* Programs.relayer
          const given = { relayer, payment: Programs.payment, program: Effect.never, patience: 20 }
          return yield* Scenario.reverts(given)
        }).pipe(Effect.provide(TestRelayer.layer({ network: TestChain.evm() })))
      )
      assert.instanceOf(failure, Scenario.ScenarioFailed)
      assert.strictEqual(failure.message, "reverts: the program has not ended after 20 blocks")
    })
  )

  it.effect("names the error of a program that fails before it sends", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(play("providerLies", () => Effect.die(new Error("no order"))))
      assert.instanceOf(failure, Scenario.ScenarioFailed)
      assert.include(failure.message, "providerLies: the program has failed: Error: no order")
    })
  )
})
