// The state machine of stellar transactions: what to do next about one transaction, from what the ledger knows and what one
// look has seen of the chain. Pure and total; there is always at least one command.
import { cause } from "../Cause.ts"
import { holdUntil } from "../Rows.ts"
import { Command } from "../Rules.ts"
import type { Commands, Situation } from "../Rules.ts"
import { isFinal } from "../Transaction.ts"
import { decideInFlight } from "./DecideInFlight.ts"
import { decidePending } from "./DecidePending.ts"
import type { Stellar } from "./Stellar.ts"
import { holdFor } from "./StellarHolding.ts"

export const decide = (situation: Situation<Stellar>): Commands<Stellar> => {
  const { stop, terms, transaction, view } = situation
  if (isFinal(transaction)) return [Command.Rest()]
  // Nothing that another chain says is believed, and nothing is sent to it.
  if (stop?.code === "chain_changed" || terms.disabled === "chain_changed") {
    return holdFor(situation, cause("chain_changed"), "lane")
  }
  if (transaction.state === "pending") return decidePending(situation)
  if (view._tag === "Unreachable") {
    return holdUntil(situation, cause(view.code, { ...view.figures, until: view.retryAt }), "lane", view.retryAt)
  }
  return decideInFlight({ ...situation, view })
}
