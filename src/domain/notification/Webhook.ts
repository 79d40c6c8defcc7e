// What a receiver of a relayer's events is sent: the body, in the convention that receivers know.
import { DateTime, Schema } from "effect"
import type { EventType } from "../event/Event.ts"
import { Value } from "../request/ExactJson.ts"
import { Instant } from "../request/Instant.ts"
import { Relayer } from "../relayer/Relayer.ts"

/** As it arrives. */
export const Webhook = Schema.Struct({
  /** The same however often it arrives, and that of the header `webhook-id`. */
  id: Schema.String,
  /** `relayer_state_update`, `relayer_update` or `test`; others may come. */
  event: Schema.String,
  /** `payload_type` tells what it holds; integers beyond 2^53 are `bigint`. */
  payload: Value,
  /** When it happened. */
  timestamp: Instant
})
export type Webhook = typeof Webhook.Type

/** Of the relayer itself; all others are of its state. */
const updates: ReadonlySet<EventType> = new Set(["relayer.created", "relayer.updated", "relayer.deleted"])

const details = (type: EventType, relayer: Relayer) => {
  if (type === "relayer.disabled") return { disable_reason: relayer.disabled_reason?.details ?? "" }
  return type === "relayer.enabled" ? { retry_count: 0 } : {}
}

const encodeRelayer = Schema.encodeSync(Relayer)

interface Told {
  readonly id: string
  readonly at: DateTime.Utc
}

const text = ({ id, at }: Told, event: string, payload: object) =>
  JSON.stringify({ id, event, payload, timestamp: DateTime.formatIso(at) })

/** The amounts of the relayer keep their digits. */
export const relayerBody = (told: Told & { readonly type: EventType; readonly relayer: Relayer }): string =>
  text(told, updates.has(told.type) ? "relayer_update" : "relayer_state_update", {
    payload_type: told.type.replace(".", "_"),
    relayer: encodeRelayer(told.relayer),
    ...details(told.type, told.relayer)
  })

export const testBody = (told: Told & { readonly notificationId: string }): string =>
  text(told, "test", { payload_type: "test", notification_id: told.notificationId })
