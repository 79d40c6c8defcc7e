// Why the ledger does not accept a transaction, besides conflicts and invalid requests.
import { Schema } from "effect"
import * as Shown from "../request/Shown.ts"

/** The operator has paused the relayer: nothing new is sent or signed. */
export class RelayerPaused extends Schema.TaggedError<RelayerPaused>()("RelayerPaused", {}) {
  override readonly message = "the relayer is paused; resume it first"
}

/** The fees of an API key would exceed its `max_fee_per_day`. Amounts in the smallest unit of the network. */
export class FeeLimitExceeded extends Schema.TaggedError<FeeLimitExceeded>()("FeeLimitExceeded", {
  /** Id of the API key that has the limit: the caller's, or of a key that it descends from. */
  keyId: Shown.Id,
  limit: Shown.Digits,
  /** What the last 24 hours have cost, and what open transactions can cost. */
  used: Shown.Digits
}) {
  override readonly message = `max_fee_per_day is ${this.limit}, and ${this.used} of it is used or reserved`
}
