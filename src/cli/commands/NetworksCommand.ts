// `networks`: those that are built in, and a team's own.
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CreateNetwork, NetworkId, NetworkType, UpdateNetwork } from "../../domain/network/Network.ts"
import type { Network } from "../../domain/network/Network.ts"
import * as Body from "../kit/Body.ts"
import * as Field from "../kit/Field.ts"
import * as List from "../kit/List.ts"
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

/** What can be given and changed; RPC URLs may hold keys, and come by `--data`. */
const values = {
  from: Field.text("from", "Network of the same type that gives what this one does not"),
  explorer_urls: Field.many(Flag.String("explorer-url"), "A block explorer"),
  average_blocktime_ms: Field.integer("average_blocktime_ms", "Milliseconds between two blocks"),
  is_testnet: Field.boolean("is_testnet", "--is-testnet, or --no-is-testnet"),
  tags: Field.many(Flag.String("tag"), "A tag"),
  required_confirmations: Field.integer("required_confirmations", "evm: blocks on top of a final one"),
  features: Field.many(Flag.String("feature"), "evm: such as eip1559"),
  symbol: Field.text("symbol", "evm: of the native token"),
  horizon_url: Field.text("horizon_url", "stellar: of Horizon")
}

const create = Command.make(
  "create",
  {
    given: Print.flags,
    body: Body.config(
      {
        network_type: Field.choice("network_type", NetworkType.literals, "Decides which fields there are"),
        name: Field.text("name", "Such as my-chain"),
        ...values,
        chain_id: Field.integer("chain_id", "evm: by EIP-155"),
        passphrase: Field.text("passphrase", "stellar: of the network, which is no secret")
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

const id = Verb.id(NetworkId).pipe(Argument.withDescription("Type and name, such as evm:sepolia"))

const update = Command.make(
  "update",
  { given: Print.flags, id, body: Body.config(values, {}) },
  Effect.fnUntraced(function* ({ given, id, body }) {
    const payload = yield* Body.patch(UpdateNetwork, body)
    return yield* Print.one(given, (client) => client.networks.update({ params: { network_id: id }, payload }))
  })
).pipe(
  Verb.about(
    "Change a network, or override a built-in one: what is not named stays, null takes it away (RFC 7396).",
    `networks update evm:sepolia --data '{"rpc_urls": ["https://rpc.example.com"]}'`,
    "networks update evm:sepolia --required-confirmations 3"
  )
)

export const NetworksCommand = Command.make("networks").pipe(
  Verb.about("Networks: what relayers can be bound to.", "networks list --all", "networks get evm:sepolia"),
  Command.withSubcommands([
    list,
    Verb.onOne("get", NetworkId, (client, id) => client.networks.get({ params: { network_id: id } })).pipe(
      Verb.about("Get a network, with what it inherits.", "networks get evm:sepolia")
    ),
    create,
    update,
    Verb.onOne("delete", NetworkId, (client, id) => client.networks.delete({ params: { network_id: id } })).pipe(
      Verb.about("Delete a network that is not used; a built-in one is as it was.", "networks delete evm:my-sepolia")
    )
  ])
)
