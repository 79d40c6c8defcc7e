// What the answers of nodes to one broadcast mean for the attempt, its transaction and its lane.
import { isNoop } from "./Attempt.ts"
import type { Attempt, Refusal } from "./Attempt.ts"
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Moment } from "./Moment.ts"
import { classify, minimumNeeded } from "./Refusal.ts"
import type { NodeAnswer } from "./Refusal.ts"
import { currentAttempts } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

export interface Sent {
  readonly attempt: Attempt
  /** Whether a node took it: a transaction that is `signed` becomes `submitted`. */
  readonly isAccepted: boolean
  /** Whether an older attempt that does the same is worth a try: nodes refused this one, and not because of its nonce. */
  readonly triesOlder: boolean
  /** Whether a node has too many transactions of the account: the window is halved. */
  readonly isWindowFull: boolean
  /** No node will ever take it, and no other attempt can be in a pool: a no-op has to use the nonce. */
  readonly intend?: Command
}

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
const mayBeTaken = (other: Attempt, attempt: Attempt): boolean =>
  other.outcome !== "refused" ||
  (other.requestVersion === attempt.requestVersion && other.refusal?.class !== "permanent") ||
  other.refusal?.class === "nonce"

/** A bump that no node takes says nothing about the attempts before it. */
const isHopeless = (transaction: Transaction, attempt: Attempt, refusal: Refusal | undefined): boolean =>
  refusal?.class === "permanent" &&
  !isNoop(attempt) &&
  transaction.intent === "execute" &&
  !currentAttempts(transaction).some((other) => other.ordinal !== attempt.ordinal && mayBeTaken(other, attempt))

const intendOf = (transaction: Transaction, attempt: Attempt, refusal: Refusal | undefined) =>
  isHopeless(transaction, attempt, refusal)
    ? { intend: Command.Intend({ intent: "clear", clearCode: "refused_by_all", cause: cause("refused_by_all") }) }
    : {}

/** `head`: height of the chain when it was sent. An empty list of answers means that no provider could be asked. */
export const record = (
  transaction: Transaction,
  attempt: Attempt,
  answers: ReadonlyArray<NodeAnswer>,
  at: { readonly now: Moment; readonly head: number }
): Sent => {
  const { refusal: _, ...former } = attempt
  const isAccepted = answers.some((answer) => classify(answer) === "accepted")
  const refusal = isAccepted ? undefined : refusalOf(answers)
  return {
    attempt: {
      ...former,
      sends: attempt.sends + 1,
      firstSent: attempt.firstSent ?? { at: at.now, block: at.head },
      lastSentAt: at.now,
      outcome: isAccepted ? "accepted" : refusal === undefined ? "unknown" : "refused",
      ...(refusal === undefined ? {} : { refusal })
    },
    isAccepted,
    triesOlder: refusal !== undefined && refusal.class !== "nonce",
    isWindowFull: answers.some((answer) => classify(answer) === "window"),
    ...intendOf(transaction, attempt, refusal)
  }
}
