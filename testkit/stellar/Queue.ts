// The queue of a node: `TransactionQueue`, `TxQueueLimiter` and `HerderImpl::recvTransaction` of stellar-core.
import { accountIn, availableBalance } from "./Entries.ts"
import { feeSourceOf, fullFeeOf, hashOf, inclusionFeeOf, operationsOf } from "./Envelope.ts"
import type { Envelope } from "./Envelope.ts"
import { isSuccess } from "./Results.ts"
import type { Refusal, Verdict } from "./Results.ts"
import { check, isValid } from "./Validity.ts"
import type { Checked } from "./Validity.ts"

/** Ledgers in which a hash that was applied, dropped or refused by the limit is not taken again (`TRANSACTION_QUEUE_BAN_LEDGERS`). */
const banLedgers = 10

/** Ledgers that a transaction waits in the queue (`TRANSACTION_QUEUE_TIMEOUT_LEDGERS`). */
const timeoutLedgers = 4

/** Times the inclusion rate that a fee bump needs to replace a queued transaction (`FEE_MULTIPLIER`). */
const replacementFactor = 10n

export type Answer =
  | { readonly status: "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER" }
  | { readonly status: "ERROR"; readonly verdict: Verdict }

interface Queued {
  readonly envelope: Envelope
  readonly age: number
}

const tryAgain: Answer = { status: "TRY_AGAIN_LATER" }

const refused = (code: Refusal, feeCharged: bigint): Answer => ({
  status: "ERROR",
  verdict: { outcome: { code }, feeCharged }
})

/** Negative if `a` pays the lower inclusion rate. */
export const compareRates = (a: Envelope, b: Envelope): number => {
  const difference = inclusionFeeOf(a) * operationsOf(b) - inclusionFeeOf(b) * operationsOf(a)
  if (difference === 0n) return 0
  return difference < 0n ? -1 : 1
}

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

const operationsKey = ({ isSoroban }: Envelope): string => `operations ${isSoroban}`

const feesKey = (envelope: Envelope): string => `fees ${envelope.isSoroban} ${feeSourceOf(envelope)}`

export class Queue {
  /** Operations of each kind that the queue holds at most. */
  capacity: bigint
  #queued = new Map<string, Queued>()
  /** Operations by kind, and fees by kind and payer, of what is queued. */
  readonly #totals = new Map<string, bigint>()
  /** Hashes by ledger, the newest first. */
  #banned: Array<Set<string>> = []

  constructor(capacity: bigint) {
    this.capacity = capacity
    this.restart()
  }

  /** A node that starts again has forgotten what it queued and what it banned. */
  restart(): void {
    this.#queued = new Map()
    this.#totals.clear()
    this.#banned = Array.from({ length: banLedgers }, () => new Set<string>())
  }

  get envelopes(): ReadonlyArray<Envelope> {
    return [...this.#queued.values()].map(({ envelope }) => envelope)
  }

  #count(envelope: Envelope, sign: 1n | -1n): void {
    const totals = [
      [operationsKey(envelope), operationsOf(envelope)],
      [feesKey(envelope), fullFeeOf(envelope)]
    ] as const
    for (const [key, amount] of totals) this.#totals.set(key, (this.#totals.get(key) ?? 0n) + sign * amount)
  }

  #insert(envelope: Envelope, age: number): void {
    this.#queued.set(envelope.source, { envelope, age })
    this.#count(envelope, 1n)
  }

  #remove(envelope: Envelope): void {
    this.#queued.delete(envelope.source)
    this.#count(envelope, -1n)
  }

  #ban(envelope: Envelope): void {
    this.#banned[0]?.add(hashOf(envelope))
  }

  /** `TransactionQueue::canReplaceByFee`. Undefined: the fee is high enough. */
  #missingFee(envelope: Envelope, queued: Envelope): bigint | undefined {
    const needed = replacementFactor * inclusionFeeOf(queued) * operationsOf(envelope)
    if (inclusionFeeOf(envelope) * operationsOf(queued) >= needed) return undefined
    return divideUp(needed, operationsOf(queued)) + envelope.resourceFee
  }

  /** What the transaction of the same account that is queued already says about this one. */
  #beside(envelope: Envelope, queued: Envelope): Answer | undefined {
    if (hashOf(envelope) === hashOf(queued) || hashOf(envelope) === queued.inner.hash) return { status: "DUPLICATE" }
    if (envelope.sequence < queued.sequence) return refused("txBadSeq", fullFeeOf(envelope))
    if (envelope.bump === undefined || envelope.sequence !== queued.sequence) return tryAgain
    const missing = this.#missingFee(envelope, queued)
    return missing === undefined ? undefined : refused("txInsufficientFee", missing)
  }

  /** `TxQueueLimiter::canAddTx`: the transactions to drop, or the fee that would be enough. */
  #room(envelope: Envelope, replaced: Envelope | undefined): ReadonlyArray<Envelope> | bigint {
    const used =
      (this.#totals.get(operationsKey(envelope)) ?? 0n) - (replaced === undefined ? 0n : operationsOf(replaced))
    let excess = used + operationsOf(envelope) - this.capacity
    if (excess <= 0n) return []
    const others = this.envelopes.filter((other) => other.isSoroban === envelope.isSoroban && other !== replaced)
    const dropped: Array<Envelope> = []
    for (const other of others.toSorted(compareRates)) {
      if (excess <= 0n) break
      if (compareRates(other, envelope) >= 0) {
        return (inclusionFeeOf(other) * operationsOf(envelope)) / operationsOf(other) + 1n + envelope.resourceFee
      }
      dropped.push(other)
      excess -= operationsOf(other)
    }
    return excess > 0n ? 0n : dropped
  }

  /** `TransactionQueue::tryAdd`. */
  add(envelope: Envelope, at: Checked): Answer {
    const queued = this.#queued.get(envelope.source)
    if (queued !== undefined && queued.envelope.isSoroban !== envelope.isSoroban) return tryAgain
    if (this.#banned.some((hashes) => hashes.has(hashOf(envelope)))) return tryAgain
    if (inclusionFeeOf(envelope) < 0n) return refused("txMalformed", 0n)
    const beside = queued === undefined ? undefined : this.#beside(envelope, queued.envelope)
    if (beside !== undefined) return beside
    const room = this.#room(envelope, queued?.envelope)
    if (typeof room === "bigint") {
      this.#ban(envelope)
      return room === 0n ? tryAgain : refused("txInsufficientFee", room)
    }
    const verdict = check(envelope, at)
    if (!isSuccess(verdict)) return { status: "ERROR", verdict }
    const payer = feeSourceOf(envelope)
    const account = accountIn(at.reads, payer)
    const replacedFee = queued !== undefined && feeSourceOf(queued.envelope) === payer ? fullFeeOf(queued.envelope) : 0n
    const fees = (this.#totals.get(feesKey(envelope)) ?? 0n) - replacedFee + fullFeeOf(envelope)
    if (account === undefined || availableBalance(account, at.reads) < fees) {
      return refused("txInsufficientBalance", fullFeeOf(envelope))
    }
    for (const dropped of room) {
      this.#remove(dropped)
      this.#ban(dropped)
    }
    if (queued !== undefined) this.#remove(queued.envelope)
    this.#insert(envelope, queued?.age ?? 0)
    return { status: "PENDING" }
  }

  /** `removeApplied`, `shift` and the ban of what became invalid, after a ledger. */
  close(applied: ReadonlyArray<Envelope>, at: Checked): void {
    for (const envelope of applied) {
      const queued = this.#queued.get(envelope.source)
      if (queued !== undefined && queued.envelope.sequence <= envelope.sequence) this.#remove(queued.envelope)
      this.#ban(envelope)
    }
    this.#banned.pop()
    this.#banned.unshift(new Set())
    for (const [source, { envelope, age }] of this.#queued) {
      if (age + 1 < timeoutLedgers && isValid(envelope, at)) {
        this.#queued.set(source, { envelope, age: age + 1 })
      } else {
        this.#remove(envelope)
        this.#ban(envelope)
      }
    }
  }
}
