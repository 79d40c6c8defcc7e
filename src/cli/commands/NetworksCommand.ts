// `networks`: manages built-in and custom networks.
import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { NetworkProvider } from "../../domain/network/NetworkProvider.ts"
import { CreateNetwork, NetworkId, NetworkType, UpdateNetwork } from "../../domain/network/Network.ts"
import type { Network } from "../../domain/network/Network.ts"
import * as Field from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { CommandFailed } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const columns: ListColumns<Network> = {
  ID: ({ id }) => id,
  SOURCE: ({ source }) => source,
  FROM: ({ from }) => from,
  CHAIN: (network) => ("chain_id" in network ? String(network.chain_id) : undefined),
  TESTNET: ({ is_testnet }) => (is_testnet ? "yes" : "no"),
  RPC: ({ rpc_urls }) => rpc_urls.map(({ url }) => url).join(", ")
}

const list = Verb.list(columns, (client, query) => client.networks.list({ query })).pipe(
  Verb.about("List networks.", "networks list --all", "networks list --all --output json")
)

/** Fields of create and update. RPC URLs may contain keys, so they are passed with `--data`. */
const values = {
  from: Field.text("from"),
  rpc_urls: Field.many(Flag.String("rpc-url")),
  explorer_urls: Field.many(Flag.String("explorer-url")),
  average_blocktime_ms: Field.integer("average_blocktime_ms"),
  is_testnet: Field.boolean("is_testnet"),
  tags: Field.many(Flag.String("tag")),
  finality_by_one: Field.text("finality_by_one"),
  required_confirmations: Field.integer("required_confirmations"),
  finality_tag: Field.choice("finality_tag", ["safe", "finalized"]),
  transaction_window: Field.integer("transaction_window"),
  minimum_priority_fee: Field.integer("minimum_priority_fee"),
  tip_cap: Field.integer("tip_cap"),
  rpc_methods: Field.many(Flag.String("rpc-method")),
  features: Field.many(Flag.String("feature")),
  symbol: Field.text("symbol"),
  horizon_url: Field.text("horizon_url"),
  fee_forwarder: Field.text("fee_forwarder")
}

const create = Verb.createChecked(
  {
    schema: CreateNetwork,
    fields: {
      network_type: Field.choice("network_type", NetworkType.literals),
      name: Field.text("name"),
      ...values,
      chain_id: Field.integer("chain_id"),
      passphrase: Field.text("passphrase")
    }
  },
  (client, payload) => client.networks.create({ query: { check: true }, payload }),
  (_, { metadata }) => Effect.succeed((metadata?.logs ?? []).map(({ message }) => message))
).pipe(
  Verb.about(
    "Create a network. Its RPC URLs are asked first; what is wrong is printed on stderr, and the network is created all the same.",
    `networks create --network-type evm --name my-sepolia --from sepolia --rpc-url https://rpc.example.com`,
    `networks create --data '{"network_type": "solana", "name": "mine", "from": "devnet", "rpc_urls": ["https://rpc.example.com"]}'`
  )
)

const id = Verb.id(NetworkId).pipe(Argument.withDescription("Type and name of the network, such as evm:sepolia"))

const update = Verb.update(id, { schema: UpdateNetwork, fields: values }, (client, payload, { id, headers }) =>
  client.networks.update({ params: { network_id: id }, headers, payload })
).pipe(
  Verb.about(
    "Change a network, or override a built-in one, by a merge patch (RFC 7396): null removes a field.",
    "networks update evm:sepolia --rpc-url https://rpc.example.com --rpc-url https://rpc.example.org",
    "networks update evm:sepolia --required-confirmations 3"
  )
)

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
      ({ data }) => providerRows(data)
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
    list,
    Verb.onOne("get", NetworkId, (client, id) => client.networks.get({ params: { network_id: id } })).pipe(
      Verb.about("Get a network with its inherited fields.", "networks get evm:sepolia")
    ),
    check,
    create,
    update,
    Verb.remove(
      Verb.versioned(id),
      ({ id }) => `delete the network ${id}, or its changes if it is built in`,
      (client, { id, headers }) => client.networks.delete({ params: { network_id: id }, headers })
    ).pipe(
      Verb.about(
        "Delete a network that no relayer uses, or reset a built-in network; asks first.",
        "networks delete evm:my-sepolia",
        "networks delete evm:my-sepolia --yes"
      )
    )
  ])
)
