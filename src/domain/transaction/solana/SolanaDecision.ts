// The state machine of solana transactions: what to do next about one transaction, from what the ledger knows and what one
// look has seen of the chain. Pure and total; there is always at least one command.
import { decideInFlight } from "./DecideInFlight.ts"
import { decideSignature } from "./DecideSignature.ts"
import { cause } from "./SolanaCode.ts"
import { Command, firstOf, hold, holdRestored, holdUntil, isFinal, pollNext } from "./SolanaSituation.ts"
import type { Commands, Row, SolanaSituation } from "./SolanaSituation.ts"

const final: Row = ({ transaction }) => (isFinal(transaction) ? [Command.Rest()] : undefined)

/** Bytes of an older generation belong to a chain that is gone. */
const olderGeneration: Row = ({ transaction, lane }) =>
  transaction.attempts.length > 0 && transaction.generation !== lane.generation
    ? [Command.Finish({ state: "failed", cause: cause("chain_changed") })]
    : undefined

/** Nothing that another chain says is believed, and nothing is sent to it. */
const otherChain: Row = (situation) =>
  situation.transaction.state !== "pending" &&
  (situation.stop?.code === "chain_changed" || situation.terms.disabled === "chain_changed")
    ? hold(situation, "chain_changed", {}, "lane")
    : undefined

/** A transaction on the chain executed it, after the copy that the database was restored from was made. */
const found: Row = ({ transaction, view }) =>
  transaction.restored && view._tag === "Seen" && view.found !== undefined
    ? [Command.Adopt({ attempt: view.found })]
    : undefined

/** Until the list of the address was read, nobody knows which signatures the ledger has forgotten. */
const restoreUnread: Row = (situation) =>
  situation.transaction.restored && !situation.lane.isRestoreRead ? holdRestored(situation) : undefined

/** Its bytes are outside already, so neither a cancel nor a deadline nor a policy ends it. */
const given: Row = (situation) => {
  const { transaction, view } = situation
  const { facts, attempts, state } = transaction
  if (state !== "pending" || attempts.length > 0) return undefined
  if (facts.given !== undefined) return [Command.Adopt({ attempt: facts.given })]
  if (facts.isForgotten !== true) return undefined
  if (view._tag === "Unreachable") return holdUntil(situation, view.code, view.retryAt, "transaction")
  if (view.forgotten === undefined) return [Command.Ask({ question: "life" }), pollNext(situation)]
  return view.forgotten === "unavailable"
    ? hold(situation, "blockhash_unavailable")
    : [Command.Adopt({ attempt: view.forgotten })]
}

/**
 * A pending transaction of a restored database. Before the restore, the service may have told the caller that it was canceled,
 * replaced or failed, so it waits for the operator.
 */
const restored: Row = (situation) =>
  situation.transaction.state === "pending" && situation.transaction.restored ? holdRestored(situation) : undefined

const canceled: Row = ({ transaction }) =>
  transaction.state === "pending" && transaction.intent === "cancel"
    ? [Command.Finish({ state: "canceled", cause: cause("canceled") })]
    : undefined

const deadline: Row = ({ transaction, now }) =>
  transaction.state === "pending" && now >= transaction.validUntil
    ? [Command.Finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
    : undefined

const sign = decideSignature("original")

const withChain = (situation: SolanaSituation): Commands => {
  const { view, transaction } = situation
  if (view._tag === "Unreachable") {
    return situation.stop === undefined
      ? // Each transaction says so by itself: those behind the first one would seem to be signed next.
        hold(situation, view.code, view.figures)
      : hold(situation, situation.stop.code, situation.stop.figures, "lane")
  }
  return transaction.state === "pending" ? sign({ ...situation, view }) : decideInFlight({ ...situation, view })
}

export const decide: (situation: SolanaSituation) => Commands = firstOf(
  [final, olderGeneration, otherChain, found, restoreUnread, given, restored, canceled, deadline],
  withChain
)
