// `transactions send` reads the request of the network type that it is given, before it calls the service.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Cli from "../../../src/cli/Cli.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"
import { folder } from "../../../testkit/process/Folder.ts"

const environment = Layer.succeed(Environment, { variables: {}, dotEnv: {}, isTerminal: false })

const refusalOf = (type: string, data: object) =>
  refusalBy("transactions", "send", "payouts", "--network-type", type, "--data", JSON.stringify(data))

const refusalBy = (...args: ReadonlyArray<string>) =>
  Cli.run(args, "1.0.0", () => Effect.void).pipe(
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

  it.effect("says as what type it has read a request without one", () =>
    Effect.gen(function* () {
      const message = yield* refusalBy(
        "transactions",
        "send",
        "payouts",
        "--to",
        "B9itfSHNsUBaVWpQa1bTZ7rtBt95pqkm48jPygomh6jb"
      )
      assert.strictEqual(
        message,
        "--to: Expected an address: 0x and 40 hex digits (read as a request of evm: --network-type names another type)"
      )
    })
  )
})

const to = `0x${"11".repeat(20)}`

const scalar = `0x${"1a".repeat(32)}`

describe("the lists of a transaction", () => {
  it.effect("are refused if they are no JSON, and name the part that is wrong", () =>
    Effect.gen(function* () {
      const calls = (text: string) => refusalBy("transactions", "send", "payouts", "--calls", text)
      assert.include(yield* calls("[{"), "--calls: expected a JSON list")
      assert.include(yield* calls("{}"), "--calls: expected a JSON list")
      assert.include(yield* calls(JSON.stringify([{ to }])), "--calls: Expected 2 to 50 calls")
      assert.include(yield* calls(JSON.stringify([{ to }, { to: "0xab" }])), "calls.1.to: Expected an address")
      assert.include(yield* calls("@nowhere.json"), "nowhere.json")
    })
  )

  it.effect("take authorizations as wallets print them, also from a file", () =>
    Effect.gen(function* () {
      const list = (text: string) =>
        refusalBy("transactions", "send", "payouts", "--to", to, "--authorization-list", text)
      const entry = { chainId: 1, address: to, nonce: 0, yParity: 0, r: scalar, s: scalar }
      assert.include(yield* list("{ address: '0x', v: 27n }"), "this is how JavaScript prints an object")
      assert.include(yield* list("hello"), "--authorization-list: expected a JSON list of authorizations")
      assert.include(yield* list("0xab"), "authorization_list.0: Expected an object, or as a text the RLP")
      assert.include(yield* list(JSON.stringify({ ...entry, s: 5 })), "authorization_list.0.s: is a JSON number")
      const name = path.join(yield* folder, "signed.json")
      yield* Effect.promise(() =>
        fs.writeFile(name, `${JSON.stringify(entry)}\n${JSON.stringify({ ...entry, r: 0 })}\n`)
      )
      assert.include(yield* list(`@${name}`), "authorization_list.1.r: is a JSON number")
      // What is valid is sent: there is no API key here.
      assert.include(yield* list(JSON.stringify(entry)), "API key")
    })
  )
})

describe("a create", () => {
  it.effect("names the flags of all that is missing", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusalBy("relayers", "create", "--id", "x"),
        "--network-type: is required (evm, solana or stellar); --name: is required; --network: is required; --signer-id: is required"
      )
      assert.strictEqual(
        yield* refusalBy("signers", "create", "--type", "aws_kms"),
        "--region: is required; --key-id: is required"
      )
      assert.include(yield* refusalBy("signers", "create", "--type", "local"), "--keystore-file: is required")
      assert.strictEqual(
        yield* refusalBy(
          "relayers",
          "create",
          "--data",
          '{"network_type": "evm", "network": "sepolia", "signer_id": "k"}'
        ),
        "name: is required"
      )
    })
  )
})
