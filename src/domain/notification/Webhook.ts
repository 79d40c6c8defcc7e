// The body of a webhook, in the format that receivers of other relayer services know.
import { DateTime, Schema } from "effect"
import type { KnownEventType } from "../event/Event.ts"
import { Relayer } from "../relayer/Relayer.ts"
import { parse, Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"

/** The body of any webhook, also of a later version. `WebhookPayload` has the types of this version's bodies. */
export const Webhook = Schema.Struct({
  id: field(
    Shown.Id,
    "The same in every attempt, and the same as the header `webhook-id`.",
    "0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"
  ),
  type: Schema.optionalKey(
    field(
      Shown.shaped(/^[a-z]{1,12}\.[a-z]{1,12}$/),
      "What happened, as in `type` of the event feed.",
      "relayer.created"
    )
  ),
  event: field(
    Shown.shaped(/^[a-z]{1,12}(_[a-z]{1,12}){0,2}$/),
    "`relayer_state_update`, `relayer_update`, `transaction_update` or `test`; further ones may be added.",
    "relayer_update"
  ),
  payload: field(Value, "`payload_type` says what it contains. Integers beyond 2^53 are `bigint`.", {
    payload_type: "relayer_created"
  }),
  timestamp: field(Instant, "When it happened.", "2026-01-02T03:04:05.678Z")
})
export type Webhook = typeof Webhook.Type

/** Events about the relayer itself. All others are about its state. */
const updates: ReadonlySet<KnownEventType> = new Set(["relayer.created", "relayer.updated", "relayer.deleted"])

const details = (type: KnownEventType, relayer: Relayer) => {
  if (type === "relayer.disabled") return { disable_reason: relayer.disabled_reason?.details ?? "" }
  return type === "relayer.enabled" ? { retry_count: 0 } : {}
}

const encodeRelayer = Schema.encodeSync(Relayer)

interface Origin {
  readonly id: string
  readonly at: DateTime.Utc
}

const fieldsOf = (json: string): object => Object(parse(json))

type Type = KnownEventType | "test"

/** Receivers of other relayer services know `event` and `payload_type`. `type` is the name that the event feed uses. */
const text = ({ id, at }: Origin, type: Type, event: string, payload: object) =>
  JSON.stringify({ id, type, event, payload, timestamp: DateTime.formatIso(at) })

/** The amounts of the relayer keep every digit. */
export const relayerBody = (origin: Origin & { readonly type: KnownEventType; readonly relayer: Relayer }): string =>
  text(origin, origin.type, updates.has(origin.type) ? "relayer_update" : "relayer_state_update", {
    payload_type: origin.type.replace(".", "_"),
    relayer: encodeRelayer(origin.relayer),
    ...details(origin.type, origin.relayer)
  })

/** `transaction` is JSON text of the transaction, whose fields stand beside `payload_type`. */
export const transactionBody = (
  origin: Origin & { readonly type: KnownEventType; readonly transaction: string }
): string =>
  text(origin, origin.type, "transaction_update", { payload_type: "transaction", ...fieldsOf(origin.transaction) })

export const testBody = (origin: Origin & { readonly notificationId: string }): string =>
  text(origin, "test", "test", { payload_type: "test", notification_id: origin.notificationId })
