// What an API key may send, in addition to the policies of relayers. Amounts in wei.
import { Schema } from "effect"
import * as Shown from "../request/Shown.ts"
import { contractCreation } from "../relayer/Policy.ts"
import { list, maybe } from "../request/Text.ts"
import { EvmAddress } from "./SendEvmTransaction.ts"
import type { Request } from "./Transaction.ts"
import type { Violation } from "../request/Request.ts"
import { Wei } from "./Wei.ts"

const Receiver = Schema.Union([EvmAddress, Schema.Literal(contractCreation)])

export const TransactionLimits = Schema.Struct({
  max_value: maybe(Wei, { description: "Most wei that one transaction may send.", examples: ["1000000000000000000"] }),
  max_fee_per_day: maybe(Wei, {
    description:
      "Most wei that transactions may pay in fees within 24 hours. Transactions of keys that this key created count as well.",
    examples: ["50000000000000000"]
  }),
  receivers: maybe(list(Receiver), {
    description: "Receivers that it may send to; `contract_creation` allows creations. If absent, all.",
    examples: [["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]]
  })
}).annotate({ identifier: "TransactionLimits", description: "What an API key may send." })
export type TransactionLimits = typeof TransactionLimits.Type

/** Whether a receiver stands in a list. Addresses are compared in lower case. */
export const includes = (receivers: ReadonlyArray<string>, to: string | undefined): boolean => {
  const wanted = (to ?? contractCreation).toLowerCase()
  return receivers.some((receiver) => receiver.toLowerCase() === wanted)
}

/** What a request exceeds. Fees per day are summed by the ledger. */
export const exceeded = (
  { to, value }: Request,
  { max_value, receivers }: TransactionLimits
): Violation | undefined => {
  if (max_value !== undefined && value > max_value) {
    return { field: "value", message: `must be at most ${max_value}, the max_value of the API key` }
  }
  return receivers === undefined || includes(receivers, to)
    ? undefined
    : { field: "to", message: "is not among the receivers of the API key" }
}

const isAtMost = (limit: bigint | undefined, parent: bigint | undefined): boolean =>
  parent === undefined || (limit !== undefined && limit <= parent)

/** Whether a derived key has at most the limits of its creator. */
export const isWithin = (limits: TransactionLimits, parent: TransactionLimits): boolean =>
  isAtMost(limits.max_value, parent.max_value) &&
  isAtMost(limits.max_fee_per_day, parent.max_fee_per_day) &&
  (parent.receivers === undefined ||
    (limits.receivers?.every((receiver) => includes(parent.receivers ?? [], receiver)) ?? false))

/** The transaction is beyond what the API key may send. */
export class TransactionLimitExceeded extends Schema.TaggedError<TransactionLimitExceeded>()(
  "TransactionLimitExceeded",
  {
    /** Names the field and the limit. */
    error: Shown.Words
  }
) {
  override readonly message = this.error
}
