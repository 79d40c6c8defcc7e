// `relayers list`: lists relayers with all filters of the API.
import { Command } from "effect/cli"
import { NetworkName, NetworkType } from "../../domain/network/Network.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import { RelayerSort } from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { SignerId } from "../../domain/signer/Signer.ts"
import * as Field from "../kit/Field.ts"
import * as List from "../kit/List.ts"
import * as Verb from "../kit/Verb.ts"

const columns: List.Columns<Relayer> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  NETWORK: ({ network_type, network }) => `${network_type}:${network}`,
  SIGNER: ({ signer_id }) => signer_id,
  STATE: ({ paused, system_disabled }) => (system_disabled ? "disabled" : paused ? "paused" : "active"),
  ADDRESS: ({ address }) => address
}

const filter = {
  network_type: Field.choice("network_type", NetworkType.literals, "Only relayers on networks of this type"),
  network: Field.of("network", NetworkName, "Only relayers on this network"),
  signer_id: Field.of("signer_id", SignerId, "Only relayers with this signer"),
  notification_id: Field.of("notification_id", NotificationId, "Only relayers with this notification"),
  paused: Field.boolean("paused", "Only paused relayers; --no-paused: only the others"),
  system_disabled: Field.boolean(
    "system_disabled",
    "Only relayers that the service disabled; --no-system-disabled: only the others"
  ),
  q: Field.text("q", "Only relayers whose name or id contains this text"),
  sort: Field.choice("sort", RelayerSort.literals, "Order (default created_at); --sort=-name sorts in descending order")
}

export const RelayersListCommand = Command.make(
  "list",
  { given: List.flags, pages: { ...List.pageFlags, cursor: Field.text("cursor", "Cursor of a Link header") }, filter },
  ({ given, pages: { cursor, ...pages }, filter }) =>
    List.print(given, columns, { ...List.start(given.all, pages), ...Field.given({ cursor }) }, (client, place) =>
      client.relayers.list({ query: { ...Field.given(filter), ...place } })
    )
).pipe(
  Verb.about(
    "List relayers.",
    "relayers list --network sepolia --no-paused",
    "relayers list --all --sort=-name --output json"
  )
)
