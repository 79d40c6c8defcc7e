// The order in which pending transactions of a lane get their places, how many get one now, and what they all can cost.
import type { Family } from "./Family.ts"
import type { Ask, Commands, LaneSituation, OwnDoubt, Rules, Sign, Unreachable } from "./Rules.ts"
import {
  accountAt,
  currentAttempts,
  isFinal,
  isInFlight,
  isNoop,
  newestRequest,
  requestOf,
  withAccount
} from "./Transaction.ts"
import type { RestOfLane, Terms, Transaction } from "./Transaction.ts"
import type { Moment, Place } from "./TransactionValues.ts"

// What the open transactions of a lane amount to, computed once per round of decisions, and what one counts for its API key.

type Costs<F extends Family> = Pick<Rules<F>, "costOf">

/**
 * What a transaction in flight reserves, in the smallest unit of the chain: any of its attempts may be mined, so the most
 * expensive one counts.
 */
export const reservationOf = <F extends Family>(rules: Costs<F>, transaction: Transaction<F>): bigint => {
  let most = 0n
  for (const attempt of currentAttempts(transaction)) {
    const cost = rules.costOf(isNoop(attempt) ? undefined : requestOf(transaction, attempt), attempt.offer)
    if (cost > most) most = cost
  }
  return most
}

export interface Totals<F extends Family = Family> {
  readonly inFlight: number
  /** In the smallest unit of the chain. */
  readonly reserved: bigint
  /** Lowest sequence of the first account that an open transaction has. Absent: there is none. */
  readonly lowestOpen?: bigint | undefined
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing is in flight. */
  readonly quietSince?: Moment | undefined
  readonly survey: F["survey"]
}

const lowest = (one: bigint | undefined, other: bigint | undefined): bigint | undefined =>
  one === undefined || other === undefined ? (one ?? other) : one < other ? one : other

/** `since`: what the holder of the lane remembers from earlier polls. */
export const totalsOf = <F extends Family>(
  rules: Pick<Rules<F>, "costOf" | "survey">,
  transactions: ReadonlyArray<Transaction<F>>,
  since: Pick<Totals, "lastSignedAt" | "quietSince">
): Totals<F> => {
  const open = transactions.filter((transaction) => !isFinal(transaction))
  let inFlight = 0
  let reserved = 0n
  let lowestOpen: bigint | undefined
  for (const transaction of open) {
    lowestOpen = lowest(lowestOpen, transaction.place?.sequence)
    if (!isInFlight(transaction)) continue
    inFlight += 1
    reserved += reservationOf(rules, transaction)
  }
  return { inFlight, reserved, lowestOpen, ...since, survey: rules.survey(open) }
}

/** What one transaction sees of the rest of its lane. `isPendingBefore`: of the queue, for required sequences. */
export const restOf = <F extends Family>(
  rules: Costs<F>,
  transaction: Transaction<F>,
  totals: Totals<F>,
  isPendingBefore: boolean
): RestOfLane<F> => {
  const { inFlight, reserved, lastSignedAt, quietSince, survey } = totals
  return {
    inFlight,
    reserved: reserved - (isInFlight(transaction) ? reservationOf(rules, transaction) : 0n),
    isPendingBefore,
    lastSignedAt,
    quietSince: inFlight === 0 ? quietSince : undefined,
    survey
  }
}

/**
 * What it counts toward the `max_fee_per_day` of its API key, in the smallest unit of its chain. If it is final: what it has
 * cost. While it is open: what its attempts can cost; `reserved` before there are any.
 */
export const feeOf = (transaction: Transaction, reserved: bigint): bigint => {
  const { mined, place, paidBefore = 0n } = transaction
  if (isFinal(transaction)) return paidBefore + (mined?.receipt.paid ?? 0n)
  const attempts = currentAttempts(transaction)
  if (place === undefined || attempts.length === 0) return paidBefore + reserved
  return attempts.reduce((most, { maxFee }) => (maxFee > most ? maxFee : most), 0n) + paidBefore
}

/** The turn of a transaction with `not_before` begins at that moment. */
const turnOf = ({ createdAt, notBefore }: Transaction): Moment => Math.max(createdAt, notBefore ?? createdAt)

/** By priority, then by the moment of its turn, then by acceptance. */
const byTurn = (one: Transaction, other: Transaction): number =>
  other.priority - one.priority || turnOf(one) - turnOf(other) || one.number - other.number

/** A pending transaction with what is needed to decide about it. */
export interface Candidate<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly terms: Terms<F>
  readonly view: F["seen"] | Unreachable
  /** The same text means the same providers. */
  readonly providers: string
  /** Why the providers of its relayer allow no place, or not to all. Absent: they allow places. */
  readonly doubt?: OwnDoubt
}

interface Decided<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly commands: Commands<F>
}

export interface PlannedSignature<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly place: Place
  readonly sign: Sign<F>
}

interface PlannedQuestion<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly question: F["question"]
}

export interface Plan<F extends Family = Family> {
  /** In the order of their places: signed and committed together. */
  readonly signings: ReadonlyArray<PlannedSignature<F>>
  /** Others that were decided about. */
  readonly decided: ReadonlyArray<Decided<F>>
  /** Those that the chain has to be asked about. With the answers, the plan is made again. */
  readonly questions: ReadonlyArray<PlannedQuestion<F>>
}

interface Turn<F extends Family> extends Plan<F> {
  readonly base: LaneSituation<F>
  readonly totals: Totals<F>
  readonly heldRelayers: ReadonlySet<number>
  /** Relayers with a transaction that the chain is asked about: none of their later ones overtakes it. */
  readonly askingRelayers: ReadonlySet<number>
  readonly heldProviders: ReadonlySet<string>
  readonly isLaneHeld: boolean
}

/** Whether a pending transaction could get a sequence below the one that `transaction` requires. */
const couldPrecede = (transaction: Transaction, other: Transaction, now: Moment): boolean =>
  other !== transaction &&
  !other.restored &&
  turnOf(other) <= now &&
  (other.requiredSequence ?? -1n) < (transaction.requiredSequence ?? -1n)

/** Those that were decided about and stay pending. */
const heldIn = <F extends Family>({ decided }: Turn<F>): ReadonlyArray<Transaction<F>> =>
  decided.filter(({ commands: [first] }) => first._tag === "Hold").map(({ transaction }) => transaction)

/** The account after it has given `count` places away. A foreign account counts nothing. */
const withPlace = <F extends Family>({ base }: Turn<F>, { account, sequence }: Place, count = 1n): LaneSituation<F> => {
  const found = accountAt(base.lane, account)
  if (found === undefined || sequence === undefined) return base
  return { ...base, lane: withAccount(base.lane, { ...found, nextSequence: sequence + count }) }
}

const withSignature = <F extends Family>(
  rules: Rules<F>,
  turn: Turn<F>,
  transaction: Transaction<F>,
  { place, sign }: { readonly place: Place; readonly sign: Sign<F> },
  now: Moment
): Turn<F> => {
  const { inFlight, reserved } = turn.totals
  const cost = rules.costOf(newestRequest(transaction), sign.offer)
  const isAlone = sign.next !== undefined
  return {
    ...turn,
    signings: [...turn.signings, { transaction, place, sign }],
    // What follows is decided when the second row is there.
    isLaneHeld: turn.isLaneHeld || isAlone,
    base: withPlace(turn, place, isAlone ? 2n : 1n),
    totals: { ...turn.totals, inFlight: inFlight + 1, reserved: reserved + cost, lastSignedAt: now }
  }
}

/** The question takes room in the window, or the place itself, so that the lane asks no more questions than it could sign. */
const withQuestion = <F extends Family>(
  turn: Turn<F>,
  transaction: Transaction<F>,
  { question, takesPlace }: Ask<F>,
  place: Place | undefined
): Turn<F> => ({
  ...turn,
  base: takesPlace === true && place !== undefined ? withPlace(turn, place) : turn.base,
  questions: [...turn.questions, { transaction, question }],
  askingRelayers: new Set([...turn.askingRelayers, transaction.relayerNumber]),
  totals: { ...turn.totals, inFlight: turn.totals.inFlight + 1 }
})

/** A held transaction keeps those behind it waiting, as far as its scope says. */
const withDecision = <F extends Family>(
  turn: Turn<F>,
  { transaction, providers }: Candidate<F>,
  commands: Commands<F>
): Turn<F> => {
  const decided = [...turn.decided, { transaction, commands }]
  const [first] = commands
  const scope = first._tag === "Hold" ? first.scope : "transaction"
  return {
    ...turn,
    decided,
    isLaneHeld: turn.isLaneHeld || scope === "lane",
    heldProviders: scope === "providers" ? new Set([...turn.heldProviders, providers]) : turn.heldProviders,
    heldRelayers: scope === "relayer" ? new Set([...turn.heldRelayers, transaction.relayerNumber]) : turn.heldRelayers
  }
}

/** Those that no longer wait after a signature are those that required exactly the next sequence. */
const nextOf = <F extends Family>(turn: Turn<F>, waiting: ReadonlyArray<Candidate<F>>): Candidate<F> | undefined => {
  const [{ nextSequence }] = turn.base.lane.accounts
  const isFree = ({ transaction, providers }: Candidate<F>) =>
    !turn.heldRelayers.has(transaction.relayerNumber) && !turn.heldProviders.has(providers)
  const isEarly = ({ transaction }: Candidate<F>) => (transaction.requiredSequence ?? -1n) > nextSequence
  return waiting.find((candidate) => isFree(candidate) && !isEarly(candidate)) ?? waiting.find(isFree)
}

const decideOne = <F extends Family>(
  rules: Rules<F>,
  turn: Turn<F>,
  candidate: Candidate<F>,
  waiting: ReadonlyArray<Candidate<F>>,
  now: Moment
): Turn<F> => {
  const { transaction, terms, view, doubt } = candidate
  const pending = [...waiting.map((other) => other.transaction), ...heldIn(turn)]
  const isPendingBefore =
    transaction.requiredSequence !== undefined && pending.some((other) => couldPrecede(transaction, other, now))
  const rest = restOf(rules, transaction, turn.totals, isPendingBefore)
  const commands = rules.decide({ ...turn.base, ...doubt, transaction, terms, rest, view, now })
  const [first] = commands
  if (first._tag !== "Ask" && first._tag !== "Sign") return withDecision(turn, candidate, commands)
  const place = rules.placeOf(turn.base.lane, transaction, terms)
  if (first._tag === "Ask") return withQuestion(turn, transaction, first, place)
  // Its turn comes in the plan that is made with the answers.
  if (place === undefined || turn.askingRelayers.has(transaction.relayerNumber)) return turn
  return withSignature(rules, turn, transaction, { place, sign: first }, now)
}

/**
 * Decides about pending transactions in their order until `limit` of them get a place, or the lane is held. What was not
 * decided about waits behind those that were.
 */
export const plan = <F extends Family>(
  rules: Rules<F>,
  candidates: ReadonlyArray<Candidate<F>>,
  base: LaneSituation<F>,
  totals: Totals<F>,
  now: Moment,
  limit: number
): Plan<F> => {
  let turn: Turn<F> = {
    signings: [],
    decided: [],
    questions: [],
    base,
    totals,
    heldRelayers: new Set(),
    askingRelayers: new Set(),
    heldProviders: new Set(),
    isLaneHeld: false
  }
  let waiting = candidates.toSorted((one, other) => byTurn(one.transaction, other.transaction))
  while (turn.signings.length + turn.questions.length < limit && !turn.isLaneHeld) {
    const candidate = nextOf(turn, waiting)
    if (candidate === undefined) break
    waiting = waiting.filter((other) => other !== candidate)
    turn = decideOne(rules, turn, candidate, waiting, now)
  }
  const { signings, decided, questions } = turn
  return { signings, decided, questions }
}
