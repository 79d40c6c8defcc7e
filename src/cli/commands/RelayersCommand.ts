// `relayers`: creates, changes and deletes relayers.
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { NetworkType } from "../../domain/network/NetworkId.ts"
import { CreateRelayer, RelayerId, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import * as Field from "../kit/Field.ts"
import { relayerWarnings } from "../kit/RelayerWarnings.ts"
import { RelayersHealthCommands } from "./RelayersHealthCommands.ts"
import { RelayersNonceCommands } from "./RelayersNonceCommands.ts"
import { RelayersSponsoredCommands } from "./RelayersSponsoredCommands.ts"
import { RelayersListCommand } from "./RelayersListCommand.ts"
import * as Verb from "../kit/Verb.ts"

const create = Verb.createChecked(
  {
    schema: CreateRelayer,
    fields: {
      id: Field.text("id"),
      name: Field.text("name"),
      network_type: Field.choice("network_type", NetworkType.literals),
      network: Field.text("network"),
      signer_id: Field.text("signer_id"),
      notification_id: Field.text("notification_id"),
      paused: Field.boolean("paused")
    },
    defaults: { paused: false }
  },
  (client, payload) => client.relayers.create({ query: {}, payload }),
  (client, { data }) => relayerWarnings(client, data)
).pipe(
  Verb.about(
    "Create a relayer. Then its chain is asked; what is wrong is printed on stderr: RPC URLs, and what to send where.",
    "relayers create --id payouts --name Payouts --network-type evm --network sepolia --signer-id hot-1",
    "relayers create --data @relayer.json"
  )
)

const id = Verb.id(RelayerId)

const update = Verb.update(
  id,
  {
    schema: UpdateRelayer,
    fields: {
      name: Field.text("name"),
      paused: Field.boolean("paused"),
      notification_id: Field.text("notification_id").pipe(Flag.map(Option.map((id) => (id === "" ? null : id))))
    }
  },
  (client, payload, { id, headers }) => client.relayers.update({ params: { relayer_id: id }, headers, payload })
).pipe(
  Verb.about(
    "Change a relayer by a merge patch (RFC 7396): null removes a field.",
    `relayers update payouts --data '{"policies": {"min_balance": "100000000000000000"}}'`,
    "relayers update payouts --name 'Payouts, old' --if-match 12.3",
    "relayers update payouts --notification-id ''",
    "relayers update payouts --data @- <patch.json"
  )
)

const pausing = <const Name extends string>(name: Name, paused: boolean) =>
  Verb.change(
    name,
    Verb.versioned(id),
    (client, { id, headers }) => client.relayers.update({ params: { relayer_id: id }, headers, payload: { paused } }),
    "reverted if its files say paused"
  )

const remove = Verb.remove(
  Verb.versioned(id),
  ({ id }) => `delete the relayer ${id}`,
  (client, { id, headers }) => client.relayers.delete({ params: { relayer_id: id }, headers })
)

export const RelayersCommand = Command.make("relayers").pipe(
  Verb.about("Relayers: accounts on one network with one signer.", "relayers list", "relayers pause payouts"),
  Command.withSubcommands([
    RelayersListCommand,
    Verb.onOne("get", RelayerId, (client, id) => client.relayers.get({ params: { relayer_id: id } })).pipe(
      Verb.about("Get a relayer with its entity tag.", "relayers get payouts", "relayers get payouts --output json")
    ),
    create,
    update,
    remove.pipe(
      Verb.about("Delete a relayer; asks first.", "relayers delete payouts", "relayers delete payouts --yes")
    ),
    pausing("pause", true).pipe(Verb.about("Pause a relayer.", "relayers pause payouts")),
    pausing("resume", false).pipe(Verb.about("Resume a paused relayer.", "relayers resume payouts")),
    ...RelayersHealthCommands,
    ...RelayersNonceCommands,
    ...RelayersSponsoredCommands
  ])
)
