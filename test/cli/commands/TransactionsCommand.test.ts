// `transactions send` reads the request of the network type that it is given, before it calls the service.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Cli from "../../../src/cli/Cli.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"

const environment = Layer.succeed(Environment, { variables: {}, dotEnv: {}, isTerminal: false })

const refusalOf = (type: string, data: object) =>
  Cli.run(
    ["transactions", "send", "payouts", "--network-type", type, "--data", JSON.stringify(data)],
    "1.0.0",
    () => Effect.void
  ).pipe(
    Effect.flip,
    Effect.map((error) => ("message" in error ? error.message : "")),
    Effect.provide([NodeServices.layer, environment])
  )

describe("transactions send", () => {
  it.effect("names the field of a stellar request that is invalid", () =>
    Effect.gen(function* () {
      const operation = { type: "payment", destination: "G", amount: "1", asset: { type: "native" } }
      const message = yield* refusalOf("stellar", { network: "testnet", operations: [operation] })
      assert.include(message, "operations.0.destination")
    })
  )

  it.effect("names the unit of an amount that is no whole number", () =>
    Effect.gen(function* () {
      const to = `0x${"11".repeat(20)}`
      assert.include(yield* refusalOf("evm", { to, value: "0.1" }), "value: Expected a whole number of wei from 0 to ")
    })
  )

  it.effect("refuses a request of another network type", () =>
    Effect.gen(function* () {
      assert.include(yield* refusalOf("evm", { network: "testnet", operations: [] }), "operations")
      assert.include(yield* refusalOf("solana", { network: "testnet" }), "network")
    })
  )
})
