// The help of commands: the flags for fields of a request have the descriptions of the OpenAPI document.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as Cli from "../../../src/cli/Cli.ts"
import { Environment, serveFlags } from "../../../src/cli/kit/Environment.ts"
import * as OpenApiDocument from "../../../src/cli/kit/OpenApiDocument.ts"

/** Flags of commands, which are no fields of requests. */
const own = new Set(["server", "key-file", "output", "data", "if-match", "yes", "quiet", "expires-in"])

/** The same, of one command. */
const ownOf: Readonly<Record<string, string>> = { "transactions send": "network-type" }

/** Flags whose names are not those of their fields. Secrets come from files. */
const renamed: Readonly<Record<string, string>> = {
  "call-data": "data",
  "private-key-file": "config.key",
  "service-account-private-key-file": "config.service_account.private_key",
  scope: "scopes",
  relayer: "relayer_ids",
  receiver: "transaction_limits.receivers",
  selector: "transaction_limits.selectors",
  "solana-max-value": "transaction_limits.solana.max_value",
  "solana-max-fee-per-day": "transaction_limits.solana.max_fee_per_day",
  "solana-receiver": "transaction_limits.solana.receivers",
  "stellar-max-value": "transaction_limits.stellar.max_value",
  "stellar-max-fee-per-day": "transaction_limits.stellar.max_fee_per_day",
  "stellar-receiver": "transaction_limits.stellar.receivers",
  "explorer-url": "explorer_urls",
  "rpc-url": "rpc_urls",
  "private-rpc-url": "private_rpc_urls",
  tag: "tags",
  "rpc-method": "rpc_methods",
  feature: "features"
}

const requests = {
  "relayers create": "CreateRelayerRequest",
  "relayers update": "UpdateRelayerRequest",
  "relayers delegate": "DelegateRequest",
  "relayers nonce-clear": "ClearNoncesRequest",
  "relayers nonce-resync": "ResyncNonceRequest",
  "transactions send": "SendEvmTransactionRequest",
  "transactions replace": "ReplaceEvmTransactionRequest",
  "transactions simulate": "SendEvmTransactionRequest",
  "signers create": "CreateSignerRequest",
  "signers replace-credentials": "ReplaceSignerCredentialsRequest",
  "networks create": "CreateNetworkRequest",
  "networks update": "UpdateNetworkRequest",
  "notifications create": "CreateNotificationRequest",
  "notifications update": "UpdateNotificationRequest",
  "notifications replay": "ReplayDeliveriesRequest",
  "keys create": "CreateApiKeyRequest",
  "keys update": "CreateApiKeyRequest"
}

/** The line of each flag, by its name. */
const helpOf = Effect.fnUntraced(
  function* (command: string) {
    yield* Cli.run([...command.split(" "), "--help"], "1.0.0", () => Effect.void)
    const text = String((yield* TestConsole.logLines).at(-1))
    const [flags = ""] = text.slice(text.indexOf("FLAGS")).split("\n\n")
    return [...flags.matchAll(/^ {2}--([\w-]+)\S* .*$/gm)].map(([line, name = ""]) => ({ line, name }))
  },
  Effect.provide([NodeServices.layer, Layer.succeed(Environment, { variables: {}, dotEnv: {}, isTerminal: false })])
)

const firstSentence = (description: string) => description.split(/(?<=\.) /)[0] ?? ""

describe("the help of a command", () => {
  for (const [command, schema] of Object.entries(requests)) {
    it.effect(`describes the flags of ${command} in the words of ${schema}`, () =>
      Effect.gen(function* () {
        const fields = OpenApiDocument.fields(schema)
        const flags = (yield* helpOf(command)).filter(({ name }) => !own.has(name) && name !== ownOf[command])
        assert.isAbove(flags.length, 1)
        for (const { line, name } of flags) {
          const field = renamed[name] ?? name.replace(/-file$/, "").replaceAll("-", "_")
          const descriptions = fields.flatMap(([path, , description]) =>
            path === field || path.endsWith(`.${field}`) ? [firstSentence(description)] : []
          )
          assert.isAbove(descriptions.length, 0, `no field for ${line}`)
          assert.isTrue(
            descriptions.some((description) => line.includes(` ${description}`)),
            `${line} has none of: ${descriptions.join(" ")}`
          )
        }
      })
    )
  }

  it.effect("has the example, the default and how the flag is used", () =>
    Effect.gen(function* () {
      const lineOf = (flags: ReadonlyArray<{ readonly name: string; readonly line: string }>, flag: string) =>
        flags.find(({ name }) => name === flag)?.line ?? ""
      const relayer = yield* helpOf("relayers create")
      assert.match(lineOf(relayer, "network"), /Name of the network, unique for its type\. Example: sepolia$/)
      assert.match(lineOf(relayer, "id"), /If absent, the service generates a UUID\.$/)
      assert.match(lineOf(relayer, "paused"), /--no-paused means no\.$/)
      const network = yield* helpOf("networks create")
      assert.match(lineOf(network, "tag"), /May be repeated\. Example: staging$/)
      assert.match(lineOf(network, "rpc-url"), /May be repeated\./)
      assert.notStrictEqual(lineOf(yield* helpOf("networks update"), "rpc-url"), "")
      assert.match(lineOf(network, "symbol"), / evm: Symbol of the native token\./)
      const signer = yield* helpOf("signers create")
      assert.match(lineOf(signer, "role-id-file"), / vault, vault_transit: Role id of an AppRole\.$/)
      assert.match(
        lineOf(signer, "key-name"),
        / vault: Path of .*\. vault_transit: Name of .*\. azure_key_vault: Name of /
      )
      const list = yield* helpOf("relayers list")
      assert.match(lineOf(list, "per-page"), /The default is 10\.$/)
      assert.match(lineOf(list, "sort"), /Order of the list\. The default is `created_at`\./)
    })
  )
})

/** What `--help` prints. */
const printed = Effect.fnUntraced(
  function* (args: ReadonlyArray<string>) {
    yield* Cli.run(args, "1.0.0", () => Effect.void)
    return (yield* TestConsole.logLines).join("\n")
  },
  Effect.provide([NodeServices.layer, Layer.succeed(Environment, { variables: {}, dotEnv: {}, isTerminal: false })])
)

describe("the help of all commands", () => {
  it.effect("begins with the commands, and has none of the flags of serve", () =>
    Effect.gen(function* () {
      const text = yield* printed(["--help"])
      const commands = text.indexOf("  serve      Serve the relayer API")
      assert.isAtMost(text.slice(0, commands).split("\n").length, 14)
      assert.notInclude(text, "--port string")
      assert.isAbove(text.indexOf("NOTES"), text.indexOf("EXAMPLES"))
      assert.include(text, "Exit codes: 0 success;")
    })
  )

  it.effect("says where the flags of serve are, which all of them are", () =>
    Effect.gen(function* () {
      assert.include(yield* printed(["--help"]), "effect-relayer serve --help lists them")
      const flags = (yield* printed(["serve", "--help"])).match(/^ {2}--[\w-]+ string .*\[[A-Z0-9_]+\]$/gm) ?? []
      assert.lengthOf(flags, Object.keys(serveFlags).length)
    })
  )
})
