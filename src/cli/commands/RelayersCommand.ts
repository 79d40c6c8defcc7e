// `relayers`: creates, changes and deletes relayers.
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { NetworkType } from "../../domain/network/NetworkId.ts"
import { CreateRelayer, RelayerId, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import * as Body from "../kit/Body.ts"
import * as Confirm from "../kit/Confirm.ts"
import * as Field from "../kit/Field.ts"
import * as IfMatch from "../kit/IfMatch.ts"
import * as Print from "../kit/Print.ts"
import { RelayersHealthCommands } from "./RelayersHealthCommands.ts"
import { RelayersNonceCommands } from "./RelayersNonceCommands.ts"
import { RelayersListCommand } from "./RelayersListCommand.ts"
import * as Verb from "../kit/Verb.ts"

const create = Command.make(
  "create",
  {
    given: Print.flags,
    body: Body.config(
      CreateRelayer,
      {
        id: Field.text("id"),
        name: Field.text("name"),
        network_type: Field.choice("network_type", NetworkType.literals),
        network: Field.text("network"),
        signer_id: Field.text("signer_id"),
        notification_id: Field.text("notification_id"),
        paused: Field.boolean("paused")
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, body }) {
    const payload = yield* Body.read(CreateRelayer, body, { paused: false })
    return yield* Print.one(given, (client) => client.relayers.create({ payload }))
  })
).pipe(
  Verb.about(
    "Create a relayer.",
    "relayers create --id payouts --name Payouts --network-type evm --network sepolia --signer-id hot-1",
    "relayers create --data @relayer.json"
  )
)

const target = { given: Print.flags, id: Verb.id(RelayerId), ifMatch: IfMatch.flag }

const update = Command.make(
  "update",
  {
    ...target,
    body: Body.config(
      UpdateRelayer,
      {
        name: Field.text("name"),
        paused: Field.boolean("paused"),
        notification_id: Field.text("notification_id").pipe(Flag.map(Option.map((id) => (id === "" ? null : id))))
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, id, ifMatch, body }) {
    const payload = yield* Body.patch(UpdateRelayer, body)
    return yield* Print.one(given, (client) =>
      client.relayers.update({ params: { relayer_id: id }, headers: IfMatch.headers(ifMatch), payload })
    )
  })
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
  Command.make(name, target, ({ given, id, ifMatch }) =>
    Print.one(given, (client) =>
      client.relayers.update({ params: { relayer_id: id }, headers: IfMatch.headers(ifMatch), payload: { paused } })
    )
  )

const remove = Command.make("delete", { ...target, yes: Confirm.flag }, ({ given, id, ifMatch, yes }) =>
  Effect.andThen(
    Confirm.ask(yes, `delete the relayer ${id}`),
    Print.one(given, (client) =>
      client.relayers.delete({ params: { relayer_id: id }, headers: IfMatch.headers(ifMatch) })
    )
  )
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
    ...RelayersNonceCommands
  ])
)
