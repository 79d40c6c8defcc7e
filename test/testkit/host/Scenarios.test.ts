// Each scenario fails the program with its mistake, and passes a careful one.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Scenario, TestChain, TestRelayer } from "../../../src/testkit/index.ts"
import type { TestNetwork } from "../../../src/testkit/index.ts"
import type { Relayers as Accounts } from "../../../src/server/relayers/Relayers.ts"
import type { Transactions as Sends } from "../../../src/server/transactions/Transactions.ts"
import type { EventFeed as Feed } from "../../../src/server/events/EventFeed.ts"
import * as Programs from "./Programs.ts"

type Program = (id: RelayerId) => Effect.Effect<number, unknown, Sends | Feed | Accounts | TestChain>

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

const play = (name: keyof typeof scenarios, program: Program, network: TestNetwork = TestChain.evm()) =>
  Effect.gen(function* () {
    const { id: relayer } = yield* Programs.relayer
    const payment = Programs.payments[network.type]
    return yield* scenarios[name]({ relayer, payment, program: program(relayer) })
  }).pipe(Effect.provide(TestRelayer.layer({ network })))

/** Scenarios that the program which reads events is played in. */
const readable: ReadonlySet<string> = new Set(["answerLost", "reorgOfDepth", "reverts", "eventsTwiceAndLate"])

const without = (...meaningless: ReadonlyArray<string>) => names.filter((name) => !meaningless.includes(name))

/** What the kit has on each network, and the programs with the mistakes there. */
const networks = {
  evm: { network: TestChain.evm(), mistaken: Programs.mistaken, names },
  solana: {
    network: TestChain.solana(),
    mistaken: Programs.mistakenAboutDeadBytes,
    names: without("nonceTakenByForeign")
  },
  stellar: {
    network: TestChain.stellar(),
    mistaken: Programs.mistakenAboutDeadBytes,
    names: without("providerLies", "reorgOfDepth", "deadlinePasses")
  }
} as const

for (const [type, { mistaken, names, network }] of Object.entries(networks)) {
  describe(`a program with a mistake, on ${type}`, () => {
    it.effect.each(names)("fails the scenario of the mistake: %s", (name) =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(play(name, mistaken[name], network))
        assert.instanceOf(failure, Scenario.ScenarioFailed)
        assert.match(failure.message, new RegExp(`^${name}(\\(2\\))?: ${consequences[name]}$`))
      })
    )
  })

  describe(`a careful program, on ${type}`, () => {
    it.effect.each(names)("passes the scenario: %s", (name) =>
      play(name, (id) => Programs.careful(id, type === "solana" && name === "deadlinePasses"), network)
    )

    it.effect.each(names.filter((name) => readable.has(name)))("passes it by reading events: %s", (name) =>
      play(name, Programs.carefulReader, network)
    )
  })
}

describe("a scenario that has no meaning on a network", () => {
  it.effect.each([
    [TestChain.solana(), "nonceTakenByForeign", "accounts of solana have no nonce"],
    [TestChain.stellar(), "providerLies", "the relayer shows no payment as mined on stellar"],
    [TestChain.stellar(), "reorgOfDepth", "ledgers of stellar are final when they close"],
    [TestChain.stellar(), "deadlinePasses", "no ledger of stellar takes an envelope after the deadline of its payment"]
  ] as const)("dies, and says why: %o %s", ([network, name, why]) =>
    Effect.gen(function* () {
      assert.include(String(yield* Effect.exit(play(name, Programs.careful, network))), why)
    })
  )

  it.effect("dies if no bytes can land after the deadline", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(play("deadlinePasses", Programs.careful, TestChain.solana()))
      assert.instanceOf(failure, Scenario.ScenarioFailed)
      assert.include(failure.message, "no bytes of the payment can land after its deadline")
    })
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
