// What the answers of nodes to one broadcast mean for the attempt, its transaction and its lane.
import { afterSend, isNoop } from "../Attempt.ts"
import type { Attempt } from "../Attempt.ts"
import type { Heard } from "../Rules.ts"
import type { Point } from "../Moment.ts"
import type { Evm } from "./Evm.ts"
import { cause } from "../Cause.ts"
import { Command } from "../Command.ts"
import { classify, minimumNeeded } from "./Refusal.ts"
import type { NodeAnswer, Refusal } from "./Refusal.ts"
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"

/** The order in which refusals of several providers count: the first that occurs decides. A permanent one only decides if all are permanent. */
const order: ReadonlyArray<Refusal["class"]> = ["nonce", "bump", "price", "funds", "window", "order", "permanent"]

const refusalOf = (answers: ReadonlyArray<NodeAnswer>): Refusal | undefined => {
  const classes = answers.map(classify)
  // A node that did not answer, or not in a way that the table knows, may have the bytes.
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
  other.refusal?.class === "nonce"

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
  const refusal = isAccepted ? undefined : refusalOf(answers)
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : refusal === undefined ? "unknown" : "refused",
      refusal
    }),
    isAccepted,
    triesOlder: refusal !== undefined && refusal.class !== "nonce",
    isWindowFull: answers.some((answer) => classify(answer) === "window"),
    ...intendOf(transaction, attempt, refusal)
  }
}
