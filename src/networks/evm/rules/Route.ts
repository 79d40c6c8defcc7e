// When the bytes of a private evm transaction leave, and when its route changes.
import { Struct } from "effect"
import { Command } from "../../core/Rules.ts"
import type { Commands, Row, Situation } from "../../core/Rules.ts"
import { currentAttempts, isInFlight } from "../../core/Transaction.ts"
import type { Attempt, Lane, Route, Transaction } from "../../core/Transaction.ts"
import { rebroadcastAfter } from "../../core/TransactionValues.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { isPrivate, nonceOf } from "./Evm.ts"
import type { Evm, EvmSurvey, Seen } from "./Evm.ts"
import { privateBlocks } from "./EvmNumbers.ts"
import type { NetworkNumbers } from "./EvmNumbers.ts"

/** Nonces in flight whose bytes private providers do not get. */
export const publicNonces = (open: ReadonlyArray<Transaction<Evm>>): ReadonlyArray<number> =>
  open.flatMap((transaction) => {
    const nonce = nonceOf(transaction)
    const isPublic = transaction.route === undefined && transaction.origin === "request"
    return isPublic && isInFlight(transaction) && nonce !== undefined ? [nonce] : []
  })

/**
 * Private providers refuse a nonce beyond the next that they know. Until everything between the chain's count and the nonce is theirs, the
 * first send would only show them bytes that they do not take.
 */
export const isHeldBack = (
  transaction: Transaction<Evm>,
  attempt: Attempt<Evm>,
  { accounts: [{ chainSequence }] }: Lane<Evm>,
  { publics = [] }: EvmSurvey
): boolean => {
  const nonce = nonceOf(transaction)
  if (nonce === undefined || !isPrivate(transaction, attempt)) return false
  if (currentAttempts(transaction).some(({ sends }) => sends > 0)) return false
  return publics.some((other) => BigInt(other) >= chainSequence && other < nonce)
}

/** Milliseconds after which private providers get the same bytes again: they keep them for a number of blocks alone. */
export const privateRebroadcastAfter = ({ blockTime }: Pick<NetworkNumbers, "blockTime">): number =>
  Math.max(rebroadcastAfter, privateBlocks.betweenSends * blockTime)

/** Bytes that were only sent while the transaction was private. */
export const isUnpublished = ({ route }: Pick<Transaction, "route">, { lastSentAt }: Pick<Attempt, "lastSentAt">) =>
  route?.kind === "fell_back" && route.since !== undefined && (lastSentAt ?? -Infinity) <= route.since

/** What follows when a private transaction becomes public. */
export const fallenBack = (route: Route, since: Moment): Route => ({ ...route, kind: "fell_back", since })

/** Whether the poll and the lane both say that the chain takes its nonce next. */
const isAtCount = ({ transaction, lane, view }: Situation<Evm, Seen>): boolean => {
  const nonce = nonceOf(transaction)
  return nonce === view.count && BigInt(nonce) === lane.accounts[0].chainSequence
}

/** Whether a predecessor is open. The count of one poll does not decide: a provider that lags would begin the time anew again and again. */
const isBeyondCount = ({ transaction, lane }: Situation<Evm, Seen>): boolean =>
  (transaction.place?.sequence ?? 0n) > lane.accounts[0].chainSequence

/** Blocks since the transaction was sent at the chain's count, by their number and by the time that they take. */
export const blocksWaited = ({ transaction, view, terms, now }: Situation<Evm, Seen>): number => {
  const { route } = transaction
  const firstSent = currentAttempts(transaction).at(-1)?.firstSent
  if (route?.kind !== "private" || route.since === undefined || firstSent === undefined) return 0
  return Math.min(view.head.number - firstSent.height, Math.floor((now - route.since) / terms.network.blockTime))
}

/** What private providers were to keep from everybody is out. It is said once, and changes nothing else: the providers still get it. */
export const leaking: Row<Evm, Seen> = ({ transaction: { route }, view, now }) =>
  view.isLeaked === true && route?.kind === "private" && route.seenPublicly === undefined
    ? [Command.Reroute({ route: { ...route, seenPublicly: now } }), Command.PollAt({ at: now })]
    : undefined

/**
 * The time until a fallback runs while the nonce is at the chain's count: what a slow predecessor takes does not count. At the count the
 * bytes are sent again at once, because private providers may have refused them while the nonce was beyond the next.
 */
export const rerouting =
  (sendAgain: (situation: Situation<Evm, Seen>) => Commands<Evm>): Row<Evm, Seen> =>
  (situation) => {
    const { transaction, terms, now } = situation
    const { intent, route } = transaction
    const newest = currentAttempts(transaction).at(-1)
    if (route?.kind !== "private" || intent !== "execute" || newest === undefined) return undefined
    if (route.since === undefined) {
      return isAtCount(situation) && terms.hasPrivateProviders
        ? [Command.Reroute({ route: { ...route, since: now } }), ...sendAgain(situation)]
        : undefined
    }
    if (isBeyondCount(situation)) {
      return [Command.Reroute({ route: Struct.omit(route, ["since"]) }), Command.PollAt({ at: now })]
    }
    const { fallbackAfter } = route
    return fallbackAfter !== undefined && now - route.since >= fallbackAfter
      ? [Command.Reroute({ route: fallenBack(route, now) }), Command.PollAt({ at: now })]
      : undefined
  }
