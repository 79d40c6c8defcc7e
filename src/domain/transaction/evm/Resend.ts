// When bytes that are signed are sent again, and which of them.
import type { Array as Arr } from "effect"
import { isRefusedForGood } from "./Refusal.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { pollInterval } from "./NetworkNumbers.ts"
import { absencesBeforeRebroadcast } from "./EvmNumbers.ts"
import type { Situation } from "../Rules.ts"
import { doesTheSame, isNoop } from "../Transaction.ts"
import type { Attempt } from "../Transaction.ts"
import { rebroadcastAfter, unknownRetryAfter } from "../TransactionValues.ts"
import type { Seen } from "./View.ts"

/** Milliseconds after a send whose outcome is unknown: doubles with each one. */
const backOff = (sends: number): number => Math.min(unknownRetryAfter * 2 ** Math.max(sends - 1, 0), rebroadcastAfter)

/** Classes of refusals that another block can turn into an acceptance. */
const temporary: ReadonlySet<string> = new Set(["funds", "window", "order"])

const delayOf = ({ terms }: Situation<Evm>, { outcome, refusal, sends }: Attempt<Evm>): number => {
  if (outcome === "unknown" || refusal?.class === "unknown") return backOff(sends)
  const isTemporary = outcome === "refused" && refusal !== undefined && temporary.has(refusal.class)
  return isTemporary ? pollInterval(terms.network) : rebroadcastAfter
}

const isAbsent = ({ view }: Situation<Evm, Seen>, { ordinal }: Attempt<Evm>): boolean => {
  const sight = view.sights.get(ordinal)
  return sight?._tag === "Absent" && sight.polls >= absencesBeforeRebroadcast
}

/**
 * Bytes that execute a request which is to be canceled, expired or cleared are never sent for the first time: nobody has
 * them. If they left before, they keep the nonce moving while no no-op can be signed.
 */
const isUnwanted = ({ transaction }: Situation<Evm>, newest: Attempt<Evm>): boolean =>
  transaction.intent !== "execute" && !isNoop(newest) && newest.sends === 0

/** Chains without a mempool drop a transaction whose predecessor they do not have. */
const hasToWait = ({ transaction, terms, rest: { survey } }: Situation<Evm>): boolean => {
  const { lowestUnaccepted } = survey
  const nonce = nonceOf(transaction)
  return !terms.network.hasMempool && nonce !== undefined && lowestUnaccepted !== undefined && lowestUnaccepted < nonce
}

export type Due = "now" | "not_yet" | "after_predecessors"

export const dueIn = (situation: Situation<Evm, Seen>, newest: Attempt<Evm>): Due => {
  if (isUnwanted(situation, newest)) return "not_yet"
  const { lastSentAt = -Infinity } = newest
  const isDue = isAbsent(situation, newest) || situation.now - lastSentAt >= delayOf(situation, newest)
  if (!isDue) return "not_yet"
  return hasToWait(situation) ? "after_predecessors" : "now"
}

/** Whether bytes are sent again although no provider of their relayer answers what became of them. */
export const isDueUnseen = (situation: Situation<Evm>, newest: Attempt<Evm>): boolean =>
  !isUnwanted(situation, newest) && situation.now - (newest.lastSentAt ?? -Infinity) >= rebroadcastAfter

/** Whether an attempt that no node ever takes was to replace another version of the request. */
const replaces = (newest: Attempt<Evm>, attempt: Attempt<Evm>): boolean =>
  isRefusedForGood(newest) && !isNoop(newest) && !isNoop(attempt)

/**
 * The newest bytes, and older ones that do the same: if the newest are refused for their price or for funds, an older
 * attempt may be all that any pool takes. If a new version of the request is refused for good, that may also be an attempt of
 * a former version, which could still be mined in any case.
 */
export const candidates = (
  attempts: ReadonlyArray<Attempt<Evm>>,
  newest: Attempt<Evm>
): Arr.NonEmptyReadonlyArray<number> => [
  newest.ordinal,
  ...attempts
    .filter((attempt) => attempt !== newest && (doesTheSame(attempt, newest) || replaces(newest, attempt)))
    .map(({ ordinal }) => ordinal)
    .toReversed()
]
