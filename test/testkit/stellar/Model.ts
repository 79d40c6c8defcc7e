// A small model of the queue's rules on plain data. It shares no code with the stand-in ledger.

/** An envelope as its author describes it. The same number means the same hash. */
export interface Plan {
  readonly id: number
  /** The number of the transaction inside of a fee bump; equal to `id` without one. */
  readonly innerId: number
  readonly source: string
  readonly sequence: bigint
  readonly operations: bigint
  readonly fee: bigint
  readonly resource: bigint
  readonly isSoroban: boolean
  readonly minTime: number
  readonly maxTime: number
  readonly signed: "well" | "not" | "wrong" | "twice"
  readonly bump?: { readonly payer: string; readonly fee: bigint; readonly signed: Plan["signed"] }
}

interface Waiting {
  readonly plan: Plan
  age: number
}

interface Holding {
  balance: bigint
  sequence: bigint
}

const reserve = 10_000_000n
const resourceCost = 50_000n

const payerOf = ({ bump, source }: Plan) => bump?.payer ?? source
const totalOf = ({ bump, fee }: Plan) => bump?.fee ?? fee
const countOf = ({ bump, operations }: Plan) => operations + (bump === undefined ? 0n : 1n)
const bidOf = (plan: Plan) => totalOf(plan) - plan.resource
const atLeastOne = (count: bigint) => (count > 0n ? count : 1n)

const signature = (signed: Plan["signed"]): string | undefined => {
  if (signed === "twice") return "txBadAuthExtra"
  return signed === "well" ? undefined : "txBadAuth"
}

export class Model {
  readonly holdings: Map<string, Holding>
  #waiting: Array<Waiting> = []
  /** Ledgers for which a number is still banned. */
  #banned = new Map<number, number>()

  constructor(holdings: Map<string, Holding>) {
    this.holdings = holdings
  }

  #spendable(name: string): bigint | undefined {
    const holding = this.holdings.get(name)
    return holding && holding.balance - reserve
  }

  /** What is wrong with the transaction itself. `pays`: it pays its own fee. */
  #inner(plan: Plan, now: number, slack: number, lastClose: number, pays: boolean): string | undefined {
    const holding = this.holdings.get(plan.source)
    if (plan.operations === 0n) return "txMissingOperation"
    if (plan.minTime > lastClose) return "txTooEarly"
    if (plan.maxTime !== 0 && plan.maxTime < now + slack) return "txTooLate"
    if (pays && plan.fee - plan.resource < 100n * plan.operations) return "txInsufficientFee"
    if (holding === undefined) return "txNoAccount"
    if (plan.sequence !== holding.sequence + 1n) return "txBadSeq"
    const unsigned = signature(plan.signed)
    if (unsigned === "txBadAuth") return unsigned
    if (pays && holding.balance - reserve < plan.fee) return "txInsufficientBalance"
    return unsigned
  }

  #whole(plan: Plan, now: number, slack: number, lastClose: number): string | undefined {
    const { bump } = plan
    if (bump === undefined) return this.#inner(plan, now, slack, lastClose, true)
    const count = countOf(plan)
    const innerBid = plan.fee - plan.resource
    const isTooCheap = bidOf(plan) < 100n * count || bidOf(plan) * atLeastOne(plan.operations) < innerBid * count
    if (isTooCheap) return "txInsufficientFee"
    const spendable = this.#spendable(bump.payer)
    if (spendable === undefined) return "txNoAccount"
    const unsigned = signature(bump.signed)
    if (unsigned === "txBadAuth") return unsigned
    if (spendable < bump.fee) return "txInsufficientBalance"
    if (unsigned !== undefined) return unsigned
    return this.#inner(plan, now, slack, lastClose, false) === undefined ? undefined : "txFeeBumpInnerFailed"
  }

  /** `now` and `lastClose` in unix seconds. */
  send(plan: Plan, now: number, lastClose: number): string {
    const same = this.#waiting.find(({ plan: { source } }) => source === plan.source)
    if (same !== undefined && same.plan.isSoroban !== plan.isSoroban) return "TRY_AGAIN_LATER"
    if (this.#banned.has(plan.id)) return "TRY_AGAIN_LATER"
    if (bidOf(plan) < 0n) return "txMalformed"
    if (same !== undefined) {
      const queued = same.plan
      if (queued.id === plan.id || (plan.bump === undefined && queued.innerId === plan.innerId)) return "DUPLICATE"
      if (plan.sequence < queued.sequence) return "txBadSeq"
      if (plan.bump === undefined || plan.sequence > queued.sequence) return "TRY_AGAIN_LATER"
      if (bidOf(plan) * countOf(queued) < 10n * bidOf(queued) * countOf(plan)) return "txInsufficientFee"
    }
    const problem = this.#whole(plan, Math.max(now, lastClose), 10, lastClose)
    if (problem !== undefined) return problem
    const others = this.#waiting.filter((one) => one !== same && payerOf(one.plan) === payerOf(plan))
    const fees = others
      .filter((one) => one.plan.isSoroban === plan.isSoroban)
      .reduce((sum, one) => sum + totalOf(one.plan), 0n)
    if ((this.#spendable(payerOf(plan)) ?? 0n) < fees + totalOf(plan)) return "txInsufficientBalance"
    if (same === undefined) this.#waiting.push({ plan, age: 0 })
    else this.#waiting = this.#waiting.map((one) => (one === same ? { plan, age: same.age } : one))
    return "PENDING"
  }

  /** A ledger that takes everything that is valid at `closeTime`. */
  close(closeTime: number, now: number): void {
    const taken = this.#waiting.filter(({ plan }) => this.#whole(plan, closeTime, 0, closeTime) === undefined)
    for (const { plan } of taken) {
      const payer = this.holdings.get(payerOf(plan))
      const source = this.holdings.get(plan.source)
      const market = 100n * countOf(plan)
      if (payer !== undefined)
        payer.balance -= (market < bidOf(plan) ? market : bidOf(plan)) + (plan.isSoroban ? resourceCost : 0n)
      if (source !== undefined) source.sequence = plan.sequence
    }
    for (const [id, left] of this.#banned) {
      if (left === 1) this.#banned.delete(id)
      else this.#banned.set(id, left - 1)
    }
    for (const { plan } of taken) this.#banned.set(plan.id, 9)
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one))
    for (const one of this.#waiting) one.age++
    const isOver = ({ plan, age }: Waiting) =>
      age >= 4 || this.#whole(plan, Math.max(now, closeTime), 10, closeTime) !== undefined
    for (const { plan } of this.#waiting.filter(isOver)) this.#banned.set(plan.id, 10)
    this.#waiting = this.#waiting.filter((one) => !isOver(one))
  }
}
