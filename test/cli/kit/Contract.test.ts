// What commands derive from the endpoints that they call.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Ref } from "effect"
import { Command } from "effect/cli"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Contract from "../../../src/cli/kit/Contract.ts"
import { explainUsage, layerUsage } from "../../../src/cli/kit/Field.ts"
import { SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { folder } from "../../../testkit/process/Folder.ts"

/** The request that a command makes of its arguments. */
const requestOf = Effect.fnUntraced(
  function* (operation: Contract.Operation, shape: Contract.Shape, args: ReadonlyArray<string>) {
    const made = yield* Ref.make<Contract.Request | undefined>(undefined)
    const { config, request } = Contract.call(operation, shape)
    const command = Command.make("effect-relayer", config, (given) =>
      Effect.flatMap(request(given), (request) => Ref.set(made, request))
    )
    yield* Command.runWith(command, { version: "1.0.0" })(args).pipe(Effect.catchTag("ShowHelp", explainUsage))
    return (yield* Ref.get(made)) ?? assert.fail("the command made no request")
  },
  Effect.provide([NodeServices.layer, layerUsage])
)

const refusalOf = (operation: Contract.Operation, ...args: ReadonlyArray<string>) =>
  Effect.map(Effect.flip(requestOf(operation, {}, args)), ({ message }) => message)

const ofSigners = {
  nested: ["config", "config.service_account.private_key"],
  hidden: ["config.federated_token_file"]
}

describe("a command that calls an endpoint", () => {
  it.effect("takes the parameters of the path as arguments, in their order", () =>
    Effect.gen(function* () {
      const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
      const { params } = yield* requestOf("transactions.get", {}, ["payouts", id])
      assert.deepStrictEqual(params, { relayer_id: "payouts", transaction_id: id })
      assert.include(yield* refusalOf("relayers.get", "a b"), "1 to 36 letters, digits, dashes and underscores")
    })
  )

  it.effect("sends the parameters of the query that were given, and no others", () =>
    Effect.gen(function* () {
      const args = ["--no-paused", "--per-page", "5", "--network-type", "evm"]
      const { query } = yield* requestOf("relayers.list", {}, args)
      assert.deepStrictEqual(query, { paused: false, per_page: 5, network_type: "evm" })
      const repeated = ["payouts", "--status", "pending", "--status", "sent"]
      assert.deepStrictEqual((yield* requestOf("transactions.list", {}, repeated)).query, {
        status: ["pending", "sent"]
      })
      assert.deepStrictEqual(
        (yield* requestOf("networks.create", { fixed: { check: "true" } }, ["--data", network])).query,
        {
          check: true
        }
      )
    })
  )

  it.effect("refuses a parameter that the service would refuse, and names it", () =>
    Effect.gen(function* () {
      const late = yield* refusalOf("transactions.list", "payouts", "--created-after", "yesterday")
      assert.match(late, /^created_after: Expected an RFC 3339 date-time/)
      assert.include(yield* refusalOf("relayers.list", "--network-type", "bitcoin"), "network-type")
    })
  )

  it.effect("removes a field of a merge patch by an empty text, if the field can be removed", () =>
    Effect.gen(function* () {
      const { headers, payload } = yield* requestOf("relayers.update", {}, [
        "payouts",
        "--notification-id",
        "",
        "--if-match",
        "12.3"
      ])
      assert.deepStrictEqual(payload, { notification_id: null })
      assert.deepStrictEqual(headers, { "if-match": '"12.3"' })
      assert.include(yield* refusalOf("relayers.update", "payouts", "--name", ""), "name: ")
      assert.match(yield* refusalOf("relayers.update", "payouts"), /^there is nothing to change/)
    })
  )

  it.effect("takes an amount with an exponent, if it is a whole one", () =>
    Effect.gen(function* () {
      const shape = { flags: { relayer_id: "relayer", data: "call-data" }, body: SendEvmTransaction }
      const sent = (value: string) =>
        requestOf("transactions.send", shape, ["payouts", "--to", `0x${"5a".repeat(20)}`, "--value", value])
      const { payload } = yield* sent("1.5e18")
      assert.deepInclude(payload, { value: 1_500_000_000_000_000_000n })
      assert.match((yield* Effect.flip(sent("1.5e0"))).message, /^--value: Expected a whole number of wei/)
    })
  )

  it.effect("reads secrets from files, and has no flag that takes one as a value", () =>
    Effect.gen(function* () {
      const { config } = Contract.call("signers.create", ofSigners)
      assert.deepStrictEqual(Object.keys(config.secrets).toSorted(), [
        "config.api_private_key",
        "config.client_secret",
        "config.key",
        "config.keystore",
        "config.passphrase",
        "config.pin",
        "config.role_id",
        "config.secret_id",
        "config.service_account.private_key"
      ])
      assert.isEmpty(Object.keys(config.fields).filter((field) => field in config.secrets))
      const key = "1".repeat(64)
      const file = path.join(yield* folder, "key")
      yield* Effect.promise(() => fs.writeFile(file, `${key}\n`))
      const { payload } = yield* requestOf("signers.create", ofSigners, ["--type", "plain", "--private-key-file", file])
      assert.deepStrictEqual(payload, { type: "plain", config: { key: Redacted.make(key) } })
      assert.include(
        yield* refusalOf("notifications.create", "--signing-key", key),
        "it is a secret, and other users can read the command line; use --signing-key-file FILE"
      )
    })
  )

  it("is not made of a secret whose flag no error explains", () => {
    assert.throws(
      () => Contract.call("signers.create", { nested: ["config"] }),
      "--federated-token-file-file is no entry of the flags that read secrets"
    )
  })
})

const network = `{"network_type": "evm", "name": "mine", "from": "sepolia"}`
