// What the answers of nodes to one broadcast mean for the attempt, its transaction and its lane.
import type { Evm } from "./Evm.ts"
import { classify, isUnexplained, minimumNeeded, wordsOf } from "./Refusal.ts"
import type { NodeAnswer, Refusal } from "./Refusal.ts"
import { cause } from "../Cause.ts"
import { Command } from "../Rules.ts"
import type { Heard } from "../Rules.ts"
import { afterSend, currentAttempts, isNoop } from "../Transaction.ts"
import type { Attempt, Transaction } from "../Transaction.ts"
import type { Point } from "../TransactionValues.ts"

/** The order in which refusals of several providers count: the first that occurs decides. A permanent one only decides if all are permanent. */
const order: ReadonlyArray<Refusal["class"]> = ["nonce", "bump", "price", "funds", "window", "order", "permanent"]

/** What the first node said whose words the table does not know. */
const unknownWords = (answers: ReadonlyArray<NodeAnswer>): string => {
  const answer = answers.find((one) => classify(one) === "unknown")
  const message = answer !== undefined && "message" in answer ? wordsOf(answer.message ?? "") : ""
  if (message !== "") return message
  return answer?._tag === "HttpError" ? `HTTP ${answer.status}` : "an error without a text"
}

/** Broadcasts in a row, this one included, that every provider refused in words that the table does not know. */
const timesAfter = ({ outcome, refusal }: Attempt<Evm>): number =>
  outcome === "refused" && refusal?.class === "unknown" ? (refusal.times ?? 0) + 1 : 1

/** What nodes say with words that the table does not know, beside what the others say. Undefined: all words are known. */
const unknownOf = (attempt: Attempt<Evm>, answers: ReadonlyArray<NodeAnswer>): Refusal | undefined => {
  const classes = answers.map(classify)
  if (!classes.includes("unknown")) return undefined
  const words = unknownWords(answers)
  if (classes.every((one) => one === "unknown")) return { class: "unknown", words, times: timesAfter(attempt) }
  return { class: order.find((one) => classes.includes(one)) ?? "unknown", words }
}

/** What all nodes say with words that the table knows. Undefined: one of them did not answer, so it may have the bytes. */
const knownOf = (answers: ReadonlyArray<NodeAnswer>): Refusal | undefined => {
  const classes = answers.map(classify)
  if (classes.some((one) => one === "provider" || one === "unknown")) return undefined
  const found = order.find((one) => classes.includes(one))
  if (found === undefined) return undefined
  const needed = answers
    .map((answer) => ("message" in answer ? minimumNeeded(answer.message ?? "") : undefined))
    .find((minimum) => minimum !== undefined)
  return needed === undefined ? { class: found } : { class: found, minimumNeeded: needed }
}

/** Not sent in vain: a pool may have it, or take it when prices or funds change. An older version is not waited for. */
const mayBeTaken = (other: Attempt<Evm>, attempt: Attempt<Evm>): boolean =>
  other.outcome !== "refused" ||
  (other.requestVersion === attempt.requestVersion && other.refusal?.class !== "permanent") ||
  other.refusal?.class === "nonce" ||
  isUnexplained(other)

/** A bump that no node takes says nothing about the attempts before it. */
const isHopeless = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, refusal: Refusal | undefined): boolean =>
  refusal?.class === "permanent" &&
  !isNoop(attempt) &&
  transaction.intent === "execute" &&
  !currentAttempts(transaction).some((other) => other.ordinal !== attempt.ordinal && mayBeTaken(other, attempt))

const intendOf = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, refusal: Refusal | undefined) =>
  isHopeless(transaction, attempt, refusal)
    ? { follows: Command.Intend({ intent: "clear", clearCode: "refused_by_all", cause: cause("refused_by_all") }) }
    : {}

/** No answers: no provider could be asked. */
export const hear = (
  transaction: Transaction<Evm>,
  attempt: Attempt<Evm>,
  answers: ReadonlyArray<NodeAnswer>,
  at: Point
): Heard<Evm> => {
  const isAccepted = answers.some((answer) => classify(answer) === "accepted")
  const refusal = isAccepted ? undefined : knownOf(answers)
  const unknown = isAccepted ? undefined : unknownOf(attempt, answers)
  const isRefused = refusal !== undefined || unknown?.times !== undefined
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : isRefused ? "refused" : "unknown",
      refusal: refusal ?? unknown
    }),
    isAccepted,
    triesOlder: isRefused && refusal?.class !== "nonce",
    isWindowFull: answers.some((answer) => classify(answer) === "window"),
    ...intendOf(transaction, attempt, refusal)
  }
}
