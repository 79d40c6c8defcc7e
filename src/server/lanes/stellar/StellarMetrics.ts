// The metrics that only lanes of stellar have.
import { Effect, Metric } from "effect"
import type { NodeAnswer } from "../../../domain/transaction/stellar/QueueAnswer.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Transaction } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { LaneWithChannels } from "../../ledger/LaneChannels.ts"

const total = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const feesBid = total(
  "stellar_fees_bid_stroops_total",
  "What the envelopes that were applied had offered at most, in stroops. Envelopes that somebody else paid for are not counted."
)

const feesCharged = total(
  "stellar_fees_charged_stroops_total",
  "What the network has charged for these envelopes, in stroops."
)

const envelopesDead = total(
  "stellar_envelopes_dead_total",
  "Envelopes of transactions that became final which no ledger has applied: they died, or another one had their sequence."
)

const sequencesTaken = total(
  "stellar_sequences_taken_total",
  "Sequences of transactions that became final which something else had used: the key is used elsewhere."
)

const sends = total(
  "stellar_sends_total",
  "Answers of nodes to envelopes, by answer. `try_again_later`: the node has another one of the account, or has banned it."
)

const ledgerAge = Metric.gauge("stellar_ledger_age_seconds", {
  description: "Age of the newest ledger that the newest poll of a lane has seen, by network."
})

const channels = Metric.gauge("stellar_channels", {
  description: "Channels of all accounts, by state: `ready`, or `unready` while they are made or ended."
})

const placesInUse = Metric.gauge("stellar_channel_places_in_use", {
  description:
    "Channels of all accounts on which a transaction has a place. All in use for long: more channels send more."
})

export const all = [channels, placesInUse, feesBid, feesCharged, envelopesDead, sequencesTaken, sends, ledgerAge]

const countFees = Effect.fnUntraced(function* ({ attempts, mined }: Transaction<Stellar>) {
  const applied = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
  if (applied === undefined || mined === undefined || mined.receipt.paid === 0n) return
  yield* Metric.update(feesBid, Number(applied.offer.fee))
  yield* Metric.update(feesCharged, Number(mined.receipt.paid))
})

/** Counts the fee, the dead envelopes and the foreign uses of a transaction when it becomes final. */
export const countFinal = Effect.fnUntraced(function* (transaction: Transaction<Stellar>) {
  const { attempts, mined, requeues } = transaction
  const dead = attempts.length - (mined === undefined || attempts.length === 0 ? 0 : 1)
  yield* countFees(transaction)
  yield* Metric.update(envelopesDead, dead)
  yield* Metric.update(sequencesTaken, requeues)
})

const nameOf = ({ status }: NodeAnswer): string => status.toLowerCase()

export const countAnswers = (answers: ReadonlyArray<NodeAnswer>) =>
  Effect.forEach(answers, (answer) => Metric.update(Metric.withAttributes(sends, { answer: nameOf(answer) }), 1), {
    discard: true
  })

/** `closeTime`: of the newest ledger. */
export const showLedgerAge = (network: string, closeTime: Moment, now: Moment) =>
  Metric.update(Metric.withAttributes(ledgerAge, { network }), Math.max(0, now - closeTime) / 1000)

const sumOf = <A>(items: ReadonlyArray<A>, of: (item: A) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)

export const showChannels = Effect.fnUntraced(function* (lanes: ReadonlyArray<LaneWithChannels>) {
  const unready = sumOf(lanes, (lane) => lane.unready)
  const ready = sumOf(lanes, ({ count }) => count) - unready
  yield* Metric.update(Metric.withAttributes(channels, { state: "ready" }), ready)
  yield* Metric.update(Metric.withAttributes(channels, { state: "unready" }), unready)
  yield* Metric.update(
    placesInUse,
    sumOf(lanes, ({ used }) => used)
  )
})
