// How a network type pays for top-ups: plain payments of native tokens from one relayer to another.
import type { Effect } from "effect"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { BadGateway, BadRequest } from "../../domain/request/Request.ts"
import type { Family } from "../../networks/core/Family.ts"
import type { PaymentKind } from "../../networks/core/TopUpDecision.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"

export interface Transfer {
  readonly to: string
  /** In the smallest unit. */
  readonly amount: bigint
  readonly kind: PaymentKind
  /** As its quote has it. */
  readonly executionLimit?: bigint
}

/** What a payment costs, and what keeps it from being sent now. */
export interface QuotedTransfer {
  /** At most, in the smallest unit. */
  readonly fee: bigint
  /** `short`: the account does not have it beside its minimum and what is in flight. `refused`: a rule or the chain refuses it. */
  readonly problem?: "short" | "refused"
  /** The work that the fee is of, in the unit of the network. The code of an account could do any other when it is sent. Absent: its network has no such code. */
  readonly executionLimit?: bigint
}

/** `Payer`: the sender of a request. */
export interface Transfers<F extends Family, Payer> {
  /** What is sent. Its admission checks the policy of the payer. */
  bodyOf(transfer: Transfer, payer: Payer, now: Moment): Effect.Effect<F["body"]>
  /** Asks providers of the payer. */
  quote(
    transfer: Transfer,
    body: F["body"],
    payer: Payer,
    now: Moment
  ): Effect.Effect<QuotedTransfer, RelayerNotFound | BadRequest | BadGateway | TooManyRequests>
}
