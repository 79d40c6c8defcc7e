// What is known of the top-ups of a relayer: what was paid, what is open, and why a low balance is not topped up.
import { Schema } from "effect"
import type { DateTime } from "effect"
import { RelayerId } from "../relayer/Relayer.ts"
import type { TopUp } from "../relayer/TopUp.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"

/** Why an account with a low balance is not topped up. */
const holdCodes = [
  "balance_unconfirmed",
  "top_up_capped",
  "payer_capped",
  "payer_unavailable",
  "payer_refuses",
  "payer_short",
  "top_up_failed",
  "top_ups_unknown",
  "amount_too_small"
] as const
export type HoldCode = (typeof holdCodes)[number]

/** What an operator can do something about. */
export const isForOperator = (code: string): boolean => forOperators.has(code)

const forOperators: ReadonlySet<string> = new Set<HoldCode>([
  "top_up_capped",
  "payer_capped",
  "payer_unavailable",
  "payer_refuses",
  "payer_short"
])

interface Words {
  readonly reason: string
  readonly next: string
}

const soon = "The next check of the relayer decides again."

/** Why an account with a low balance is not topped up, and what helps. */
export const topUpWords: Readonly<Record<HoldCode, Words>> = {
  balance_unconfirmed: {
    reason: "One RPC provider shows a low balance, and no second one confirms it.",
    next: `${soon} Two providers have to show it, at blocks that contain the last top-up.`
  },
  top_up_capped: {
    reason: "The balance is low, and the top-ups of the last 24 hours have used `max_per_day` of the policy `top_up`.",
    next: "It is topped up when enough of them are older than 24 hours. Look at what the relayer spends: a stolen key would do the same. A higher `max_per_day`, or funds from elsewhere, help."
  },
  payer_capped: {
    reason:
      "The balance is low, and the top-ups that its payer made in the last 24 hours have used `top_up_out_per_day` of the payer.",
    next: "It is topped up when enough of them are older than 24 hours. A higher `top_up_out_per_day` of the payer, or funds from elsewhere, help."
  },
  payer_unavailable: {
    reason:
      "The balance is low, and its payer cannot pay: it is paused or disabled, or has transactions that wait for an answer after a restore.",
    next: `${soon} Resume the payer, or see why it is disabled.`
  },
  payer_refuses: {
    reason: "The balance is low, and the payment is refused: by the policy of its payer, or by the chain.",
    next: `${soon} The policy of the payer has to allow a transfer to the address of the relayer: \`whitelist_receivers\` on evm, \`fee_payment_strategy\` \`relayer\` on solana, and \`createAccount\` in \`allowed_operations\` on stellar for an account that does not exist.`
  },
  payer_short: {
    reason:
      "The balance is low, and its payer has too little beside its `min_balance` and what its transactions in flight can cost.",
    next: `${soon} Send funds to the payer.`
  },
  top_up_failed: {
    reason: "The balance is low, and the last top-up paid nothing.",
    next: "It is topped up again ten minutes after the end of that transaction, which says why it failed."
  },
  top_ups_unknown: {
    reason:
      "The balance is low, and the database was restored from a copy less than 24 hours ago: what was paid since then is not known, and counts as used.",
    next: "It is topped up again 24 hours after the restore was noticed. Send funds from elsewhere until then."
  },
  amount_too_small: {
    reason: "The balance is low, and what is missing to `to` is less than ten times the fee of a payment.",
    next: `${soon} A higher \`to\` of the policy \`top_up\` helps.`
  }
}

const KnownTopUpCode = Schema.Literals(holdCodes).annotate({ identifier: "KnownTopUpCode" })

const TopUpCode = Shown.openList(KnownTopUpCode).annotate({
  identifier: "TopUpCode",
  description:
    "Why a relayer is not topped up although its balance is low, for programs. A later version of the service may add to these.",
  examples: ["top_up_capped"]
})

export const TopUpReport = Schema.Struct({
  from: field(RelayerId, "The relayer that pays.", "treasury"),
  used: field(
    Shown.Digits,
    "What the account got in the last 24 hours, or may have got, in the smallest unit of the chain.",
    "600000000000000000"
  ),
  left: field(Shown.Digits, "What `max_per_day` leaves.", "400000000000000000"),
  transaction_id: shown(
    TransactionId,
    "The payment that is open, a transaction of the payer. Absent: none is, or the API key lacks the scope `transactions:read`.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  code: shown(TopUpCode, "Why the account is not topped up although its balance is low.", "top_up_capped"),
  since: shown(Instant, "Since when.", "2026-01-02T03:04:05.678Z"),
  reason: shown(Shown.Words, "The same for people.", topUpWords.top_up_capped.reason),
  next: shown(Shown.Words, "What happens next, and what helps, for people.", topUpWords.top_up_capped.next)
}).annotate({ identifier: "TopUpReport", description: "The top-ups of a relayer." })
export type TopUpReport = typeof TopUpReport.Type

/** What the ledger says. */
export interface TopUpFacts {
  readonly used: bigint
  readonly transactionId: TransactionId | undefined
  readonly code: string | undefined
  readonly since: DateTime.Utc | undefined
}

export const topUpReportOf = (
  { from, max_per_day }: TopUp,
  { code, since, transactionId, used }: TopUpFacts
): TopUpReport => {
  const words = code === undefined ? undefined : Shown.entryOf(topUpWords, code)
  return {
    from: RelayerId.make(from),
    used,
    left: used < max_per_day ? max_per_day - used : 0n,
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
    ...(code === undefined ? {} : { code }),
    ...(since === undefined ? {} : { since }),
    ...words
  }
}
