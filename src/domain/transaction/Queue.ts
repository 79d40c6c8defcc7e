// The order in which pending transactions of a lane get their nonces, and how many of them get one now.
import type { Command, Commands } from "./Command.ts"
import { decide } from "./Decision.ts"
import { costOf } from "./Funds.ts"
import type { LaneSituation, Terms } from "./Lane.ts"
import type { Moment } from "./Moment.ts"
import { othersOf } from "./Totals.ts"
import type { Totals } from "./Totals.ts"
import { newestRequest } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"
import type { View } from "./View.ts"

/** The place of a transaction with `not_before` begins at that moment. */
const placeOf = ({ createdAt, notBefore }: Transaction): Moment => Math.max(createdAt, notBefore ?? createdAt)

/** By priority, then by place, then by acceptance. */
export const byPlace = (one: Transaction, other: Transaction): number =>
  other.priority - one.priority || placeOf(one) - placeOf(other) || one.number - other.number

/** A pending transaction with what is needed to decide about it. */
export interface Candidate {
  readonly transaction: Transaction
  readonly terms: Terms
  readonly view: View
}

/** What is the same for all transactions of the lane. */
export type LaneBase = Omit<LaneSituation, "terms" | "others">

export interface Decided {
  readonly transaction: Transaction
  readonly commands: Commands
}

export interface Signing {
  readonly transaction: Transaction
  readonly nonce: number
  readonly sign: Extract<Command, { readonly _tag: "Sign" }>
}

export interface Plan {
  /** In the order of their nonces: signed and committed together. */
  readonly signings: ReadonlyArray<Signing>
  /** The others that were decided about. */
  readonly decided: ReadonlyArray<Decided>
}

interface Turn extends Plan {
  readonly base: LaneBase
  readonly totals: Totals
  readonly heldRelayers: ReadonlySet<number>
  readonly isLaneHeld: boolean
}

/** Whether a pending transaction could get a nonce below the one that `transaction` requires. */
const couldPrecede = (transaction: Transaction, other: Transaction, now: Moment): boolean =>
  other !== transaction &&
  !other.restored &&
  placeOf(other) <= now &&
  (other.requiredNonce ?? -1) < (transaction.requiredNonce ?? -1)

/** Those that were decided about and stay pending. */
const heldIn = ({ decided }: Turn): ReadonlyArray<Transaction> =>
  decided.filter(({ commands: [first] }) => first._tag === "Hold").map(({ transaction }) => transaction)

const withSignature = (turn: Turn, transaction: Transaction, sign: Signing["sign"], now: Moment): Turn => {
  const { lane } = turn.base
  const cost = costOf(sign, newestRequest(transaction).value)
  const { inFlight, reserved } = turn.totals
  return {
    ...turn,
    signings: [...turn.signings, { transaction, nonce: lane.nextNonce, sign }],
    base: { ...turn.base, lane: { ...lane, nextNonce: lane.nextNonce + 1 } },
    totals: { ...turn.totals, inFlight: inFlight + 1, reserved: reserved + cost, lastSignedAt: now }
  }
}

/** A held transaction keeps those behind it waiting, as far as its scope says. */
const withDecision = (turn: Turn, transaction: Transaction, commands: Commands): Turn => {
  const decided = [...turn.decided, { transaction, commands }]
  const [first] = commands
  const scope = first._tag === "Hold" ? first.scope : "transaction"
  return {
    ...turn,
    decided,
    isLaneHeld: turn.isLaneHeld || scope === "lane",
    heldRelayers: scope === "relayer" ? new Set([...turn.heldRelayers, transaction.relayerNumber]) : turn.heldRelayers
  }
}

/** Those that no longer wait after a signature are those that required exactly the next nonce. */
const nextOf = (turn: Turn, waiting: ReadonlyArray<Candidate>): Candidate | undefined => {
  const isFree = ({ transaction }: Candidate) => !turn.heldRelayers.has(transaction.relayerNumber)
  const isEarly = ({ transaction }: Candidate) => (transaction.requiredNonce ?? -1) > turn.base.lane.nextNonce
  return waiting.find((candidate) => isFree(candidate) && !isEarly(candidate)) ?? waiting.find(isFree)
}

/**
 * Decides about pending transactions in their order until `limit` of them get a nonce, or the lane is held. What was not
 * decided about waits behind those that were.
 */
export const plan = (
  candidates: ReadonlyArray<Candidate>,
  base: LaneBase,
  totals: Totals,
  now: Moment,
  limit: number
): Plan => {
  let turn: Turn = { signings: [], decided: [], base, totals, heldRelayers: new Set(), isLaneHeld: false }
  let waiting = candidates.toSorted((one, other) => byPlace(one.transaction, other.transaction))
  while (turn.signings.length < limit && !turn.isLaneHeld) {
    const candidate = nextOf(turn, waiting)
    if (candidate === undefined) break
    waiting = waiting.filter((other) => other !== candidate)
    const { transaction, terms, view } = candidate
    const pending = [...waiting.map((other) => other.transaction), ...heldIn(turn)]
    const isPendingBefore = pending.some((other) => couldPrecede(transaction, other, now))
    const others = othersOf(transaction, turn.totals, isPendingBefore)
    const commands = decide(transaction, { ...turn.base, terms, others }, view, now)
    const [first] = commands
    turn =
      first._tag === "Sign" ? withSignature(turn, transaction, first, now) : withDecision(turn, transaction, commands)
  }
  return { signings: turn.signings, decided: turn.decided }
}
