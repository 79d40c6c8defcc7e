// `networks`: manages built-in and custom networks.
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { NetworkId, NetworkType } from "../../domain/network/NetworkId.ts"
import { CreateNetwork, UpdateNetwork } from "../../domain/network/NetworkRequest.ts"
import type { Network } from "../../domain/network/Network.ts"
import * as Body from "../kit/Body.ts"
import * as Confirm from "../kit/Confirm.ts"
import * as Field from "../kit/Field.ts"
import * as List from "../kit/List.ts"
import * as IfMatch from "../kit/IfMatch.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const columns: List.Columns<Network> = {
  ID: ({ id }) => id,
  SOURCE: ({ source }) => source,
  FROM: ({ from }) => from,
  CHAIN: (network) => ("chain_id" in network ? String(network.chain_id) : undefined),
  TESTNET: ({ is_testnet }) => (is_testnet ? "yes" : "no"),
  RPC: ({ rpc_urls }) => rpc_urls.map(({ url }) => url).join(", ")
}

const list = Command.make("list", { given: List.flags, pages: List.pageFlags }, ({ given, pages }) =>
  List.print(given, columns, List.start(given.all, pages), (client, query) => client.networks.list({ query }))
).pipe(Verb.about("List networks.", "networks list --all", "networks list --all --output json"))

/** Fields of create and update. RPC URLs may contain keys, so they are passed with `--data`. */
const values = {
  from: Field.text("from"),
  explorer_urls: Field.many(Flag.String("explorer-url")),
  average_blocktime_ms: Field.integer("average_blocktime_ms"),
  is_testnet: Field.boolean("is_testnet"),
  tags: Field.many(Flag.String("tag")),
  required_confirmations: Field.integer("required_confirmations"),
  finality_tag: Field.choice("finality_tag", ["safe", "finalized"]),
  transaction_window: Field.integer("transaction_window"),
  minimum_priority_fee: Field.integer("minimum_priority_fee"),
  rpc_methods: Field.many(Flag.String("rpc-method")),
  features: Field.many(Flag.String("feature")),
  symbol: Field.text("symbol"),
  horizon_url: Field.text("horizon_url")
}

const create = Command.make(
  "create",
  {
    given: Print.flags,
    body: Body.config(
      CreateNetwork,
      {
        network_type: Field.choice("network_type", NetworkType.literals),
        name: Field.text("name"),
        ...values,
        chain_id: Field.integer("chain_id"),
        passphrase: Field.text("passphrase")
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, body }) {
    const payload = yield* Body.read(CreateNetwork, body)
    return yield* Print.one(given, (client) => client.networks.create({ payload }))
  })
).pipe(
  Verb.about(
    "Create a network.",
    `networks create --network-type evm --name my-sepolia --from sepolia --data @rpc.json`,
    `networks create --data '{"network_type": "solana", "name": "mine", "from": "devnet", "rpc_urls": ["https://rpc.example.com"]}'`
  )
)

const id = Verb.id(NetworkId).pipe(Argument.withDescription("Type and name of the network, such as evm:sepolia"))

const target = { given: Print.flags, id, ifMatch: IfMatch.flag }

const update = Command.make(
  "update",
  { ...target, body: Body.config(UpdateNetwork, values, {}) },
  Effect.fnUntraced(function* ({ given, id, ifMatch, body }) {
    const payload = yield* Body.patch(UpdateNetwork, body)
    return yield* Print.one(given, (client) =>
      client.networks.update({ params: { network_id: id }, headers: IfMatch.headers(ifMatch), payload })
    )
  })
).pipe(
  Verb.about(
    "Change a network, or override a built-in one, by a merge patch (RFC 7396): null removes a field.",
    `networks update evm:sepolia --data '{"rpc_urls": ["https://rpc.example.com"]}'`,
    "networks update evm:sepolia --required-confirmations 3"
  )
)

export const NetworksCommand = Command.make("networks").pipe(
  Verb.about("Networks that relayers can be bound to.", "networks list --all", "networks get evm:sepolia"),
  Command.withSubcommands([
    list,
    Verb.onOne("get", NetworkId, (client, id) => client.networks.get({ params: { network_id: id } })).pipe(
      Verb.about("Get a network with its inherited fields.", "networks get evm:sepolia")
    ),
    create,
    update,
    Command.make("delete", { ...target, yes: Confirm.flag }, ({ given, id, ifMatch, yes }) =>
      Effect.andThen(
        Confirm.ask(yes, `delete the network ${id}, or its changes if it is built in`),
        Print.one(given, (client) =>
          client.networks.delete({ params: { network_id: id }, headers: IfMatch.headers(ifMatch) })
        )
      )
    ).pipe(
      Verb.about(
        "Delete a network that no relayer uses, or reset a built-in network; asks first.",
        "networks delete evm:my-sepolia",
        "networks delete evm:my-sepolia --yes"
      )
    )
  ])
)
