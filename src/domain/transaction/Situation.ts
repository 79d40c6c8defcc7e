// One decision: a transaction, its lane, what was seen of the chain, and the time. Rows of a table decide; the first that
// holds wins.
import type { Cause, Figures } from "./Cause.ts"
import type { Commands } from "./Command.ts"
import type { Family } from "./Family.ts"
import type { Lane, RestOfLane, SignerRetry, Terms } from "./Lane.ts"
import type { Moment } from "./Moment.ts"
import type { Transaction } from "./Transaction.ts"

/** No provider answered. */
export interface Unreachable {
  readonly _tag: "Unreachable"
  readonly code: "providers_unavailable" | "rate_limited"
  readonly retryAt: Moment
  /** A provider, masked, and what it did not answer. Absent: nobody was asked, or the network does not say. */
  readonly figures?: Pick<Figures, "host" | "error">
}

/** What is the same for all transactions of a lane. */
export interface LaneSituation<F extends Family = Family> {
  readonly lane: Lane<F>
  /** What keeps the whole lane from giving away places. */
  readonly stop?: Cause
  /** Whether the place of a final transaction is open again. */
  readonly isDeepReorg: boolean
  /** Why the signer cannot sign, and when it is asked again. Absent: it can. */
  readonly signerRetry?: SignerRetry
}

/** Why transactions get no place while their providers are in doubt. It applies only to relayers with the same providers. */
export interface OwnDoubt {
  /** The reason, if no transaction of these relayers gets a place. */
  readonly ownStop?: Cause
  /** Transactions that the service accepted before this moment get no place yet. */
  readonly unsettledBefore?: Moment
}

export interface Situation<F extends Family = Family, V = F["seen"] | Unreachable> extends LaneSituation<F>, OwnDoubt {
  readonly transaction: Transaction<F>
  readonly terms: Terms<F>
  readonly rest: RestOfLane<F>
  readonly view: V
  readonly now: Moment
}

/** Whether the transaction was accepted before a start of the database, and no poll of its providers is younger than the start. */
export const isUnsettled = ({ createdAt }: Pick<Transaction, "createdAt">, before: Moment | undefined): boolean =>
  before !== undefined && createdAt < before

/** Undefined: the row does not hold. */
export type Row<F extends Family, V = F["seen"] | Unreachable> = (situation: Situation<F, V>) => Commands<F> | undefined

/** The commands of the first row that holds, else those of `otherwise`. */
export const firstOf =
  <F extends Family, V>(rows: ReadonlyArray<Row<F, V>>, otherwise: (situation: Situation<F, V>) => Commands<F>) =>
  (situation: Situation<F, V>): Commands<F> => {
    for (const row of rows) {
      const commands = row(situation)
      if (commands !== undefined) return commands
    }
    return otherwise(situation)
  }
