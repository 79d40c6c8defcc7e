// What callers ask the list of relayers for: filters, orders, and their health.
import { Schema } from "effect"
import { HealthStatus } from "../health/ListedHealth.ts"
import { NetworkName, NetworkType } from "../network/NetworkId.ts"
import { NotificationId } from "../notification/Notification.ts"
import { field } from "../request/Field.ts"
import { CursorQuery } from "../request/Page.ts"
import { flag, text } from "../request/Text.ts"
import { SignerId } from "../signer/SignerId.ts"

export const RelayerFilter = {
  network_type: Schema.optionalKey(field(NetworkType, "Only relayers of this network type.")),
  network: Schema.optionalKey(field(NetworkName.schema, "Only relayers on networks of this name.")),
  signer_id: Schema.optionalKey(field(SignerId.schema, "Only relayers with this signer.")),
  notification_id: Schema.optionalKey(field(NotificationId.schema, "Only relayers with this notification.")),
  paused: Schema.optionalKey(flag("Only relayers that are paused, or that are not.")),
  system_disabled: Schema.optionalKey(flag("Only relayers that the service has disabled, or has not.")),
  state: Schema.optionalKey(field(HealthStatus, "Only relayers whose last check left them in this state.", "disabled")),
  q: Schema.optionalKey(
    field(text(1, 256), "Only relayers whose name or id contains this text, in upper or lower case.", "pay")
  )
}
export type RelayerFilter = { readonly [K in keyof typeof RelayerFilter]?: (typeof RelayerFilter)[K]["Type"] }

export const RelayerSort = Schema.Literals(["created_at", "-created_at", "name", "-name", "attention"])
export type RelayerSort = typeof RelayerSort.Type

export const RelayerQuery = {
  ...CursorQuery,
  ...RelayerFilter,
  sort: Schema.optionalKey(
    field(
      RelayerSort,
      "Order of the list. `-` means descending; names are compared by code points. `attention`: disabled relayers first, then failing ones, degraded ones, those with a low balance, and all others in creation order; a relayer whose state changes between two pages may be skipped or repeated. The default is `created_at`.",
      "-name"
    )
  ),
  include: Schema.optionalKey(
    field(
      Schema.Literal("health"),
      "`health`: each relayer has its last check and its open transactions, as the service has stored them. No chain is asked.",
      "health"
    )
  )
}
export interface RelayerQuery extends CursorQuery, RelayerFilter {
  readonly include?: "health"
  readonly sort?: RelayerSort
}
