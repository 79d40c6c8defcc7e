// `networks`: manages built-in and custom networks.
import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { NetworkId } from "../../domain/network/Network.ts"
import type { NetworkProvider } from "../../domain/network/NetworkProvider.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

/** `yes`, `no`, or nothing if the provider did not say. */
const said = (answer: boolean | undefined) => (answer === undefined ? undefined : answer ? "yes" : "no")

const providerRows = (providers: ReadonlyArray<NetworkProvider>) => [
  ["URL", "STATE", "LATENCY", "BATCH", "FINALIZED", "FEE HISTORY", "ARCHIVE", "CLIENT", "PROBLEM"],
  ...providers.map((provider) => [
    provider.url,
    provider.state,
    provider.latency_ms === undefined ? undefined : `${provider.latency_ms} ms`,
    provider.batch_size === undefined ? undefined : String(provider.batch_size),
    said(provider.finalized),
    said(provider.fee_history),
    said(provider.archive),
    provider.client_version,
    provider.error ?? provider.code
  ])
]

const target = Argument.String("network or url").pipe(
  Argument.withDescription(
    "Type and name of a network, such as evm:sepolia, or an RPC URL, which this machine asks itself"
  )
)

const check = Command.make("check", { given: Print.flags, target }, ({ given, target }) =>
  Effect.gen(function* () {
    const url = URL.parse(target)
    if (url?.protocol === "http:" || url?.protocol === "https:") {
      const { checkUrl } = yield* Effect.promise(() => import("../kit/UrlCheck.ts"))
      const provider = yield* checkUrl(target)
      return yield* given.output === "json" ? Print.json([provider]) : Print.table(providerRows([provider]))
    }
    const id = yield* Effect.mapError(Schema.decodeEffect(NetworkId)(target), () =>
      CommandFailed.usage("expected the id of a network, such as evm:sepolia, or an http or https URL")
    )
    return yield* Print.one(
      given,
      (client) => client.providers.list({ params: { network_id: id }, query: { check: true } }),
      { rows: ({ data }) => providerRows(data) }
    )
  })
).pipe(
  Verb.about(
    "Ask the RPC URLs of a network, or one URL, what they can do: batches, final blocks, fee history, archive.",
    "networks check evm:sepolia",
    "networks check https://rpc.example.com"
  )
)

export const NetworksCommand = Command.make("networks").pipe(
  Verb.about("Networks that relayers can be bound to.", "networks list --all", "networks get evm:sepolia"),
  Command.withSubcommands([
    Verb.list(
      "list",
      "networks.list",
      {
        ID: ({ id }) => id,
        SOURCE: ({ source }) => source,
        FROM: ({ from }) => from,
        CHAIN: (network) => ("chain_id" in network ? String(network.chain_id) : undefined),
        TESTNET: ({ is_testnet }) => (is_testnet ? "yes" : "no"),
        RPC: ({ rpc_urls }) => rpc_urls.map(({ url }) => url).join(", ")
      },
      ["networks list --all", "networks list --all --output json"]
    ),
    Verb.call("get", "networks.get", ["networks get evm:sepolia"]),
    check,
    Verb.call(
      "create",
      "networks.create",
      [
        "networks create --network-type evm --name my-sepolia --from sepolia --rpc-url https://rpc.example.com",
        `networks create --data '{"network_type": "solana", "name": "mine", "from": "devnet", "rpc_urls": ["https://rpc.example.com"]}'`
      ],
      {
        about:
          "Create a network. Its RPC URLs are asked first; what is wrong is printed on stderr, and the network is created all the same.",
        fixed: { check: "true" },
        notices: (_, { metadata }) => Effect.succeed((metadata?.logs ?? []).map(({ message }) => message))
      }
    ),
    Verb.call("update", "networks.update", [
      "networks update evm:sepolia --rpc-url https://rpc.example.com --rpc-url https://rpc.example.org",
      "networks update evm:sepolia --required-confirmations 3"
    ]),
    Verb.call("delete", "networks.delete", ["networks delete evm:my-sepolia", "networks delete evm:my-sepolia --yes"], {
      ask: ({ id }) => `delete the network ${id}, or its changes if it is built in`
    })
  ])
)
