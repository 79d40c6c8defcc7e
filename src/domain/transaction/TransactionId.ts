// Identifiers and states of transactions, the same for all networks.
import { Schema } from "effect"
import { text } from "../request/Text.ts"
import { maxExternalIdLength } from "./Numbers.ts"

export const TransactionId = Schema.String.check(Schema.isUUID())
  .annotate({ description: "Identifier of the transaction.", examples: ["4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"] })
  .pipe(Schema.brand("TransactionId"))
export type TransactionId = typeof TransactionId.Type

/** The caller's own identifier of a transaction. */
export const ExternalId = text(1, maxExternalIdLength)

/** `sent`: signed and on its way. `submitted`: a node has it. */
export const TransactionStatus = Schema.Literals([
  "pending",
  "sent",
  "submitted",
  "mined",
  "confirmed",
  "failed",
  "canceled",
  "expired"
]).annotate({
  identifier: "TransactionStatus",
  message: "Expected pending, sent, submitted, mined, confirmed, failed, canceled or expired"
})
export type TransactionStatus = typeof TransactionStatus.Type

export class TransactionNotFound extends Schema.TaggedError<TransactionNotFound>()("TransactionNotFound", {}) {
  override readonly message = "the relayer has no transaction with this id"
}
