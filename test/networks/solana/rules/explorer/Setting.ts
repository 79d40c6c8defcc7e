// What an episode of the explorer is made of: its faults, and the rule that it runs without.
import type { decide } from "../../../../../src/networks/solana/rules/SolanaDecision.ts"
import type { Look } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"

export type Decide = typeof decide

/** Steps of one episode, before its fair end. A step stands for `stepMillis`. */
export interface Setting {
  readonly name: string
  readonly rows: number
  /** Messages that `sign-transaction` signs and that may be posted later. */
  readonly given: number
  readonly length: number
  /** Probability that a block takes a transaction that it could take. */
  readonly land: number
  /** Probability that a call fails. */
  readonly errors: number
  /** Probability that a back end has no history, and that it is pruned. */
  readonly noHistory: number
  readonly pruned: number
  /** Probability that the index of a back end lags. */
  readonly indexLag: number
  readonly providers: number
  /** Whether the first provider lies. */
  readonly liar: boolean
  /** Whether the second provider is silent for long times, and at the end. */
  readonly silent: boolean
  readonly restores: boolean
  /** Whether all requests are equal. */
  readonly equal: boolean
  readonly without: Without
}

/** A rule that is taken out. Absent: it holds. */
export interface Without {
  readonly decide?: (decide: Decide) => Decide
  readonly look?: (look: Look) => Look
  /** Providers that the decision believes to be configured. */
  readonly configured?: number
  /** P2 without the search in history. */
  readonly history?: true
  /** P1 at the newest block instead of the finalized one. */
  readonly finality?: true
  /** A failed call counts as an empty answer. */
  readonly errors?: true
  /** A list after a restore is taken for complete, however far the index is. */
  readonly index?: true
  /** The bound is the reported height alone. */
  readonly secondBound?: true
  /** Bytes are stored after they were sent. */
  readonly storage?: true
  /** Rows of a restored ledger are not marked. */
  readonly restoreMarks?: true
  /** The bound of a restore is read from a provider that may lag. */
  readonly freshBound?: true
  /** Two rows may have one signature. */
  readonly unique?: true
  /** A process that has lost the lane may commit. */
  readonly fence?: true
  /** A commit does not compare the version of its row. */
  readonly version?: true
}

export const stepMillis = 2500

export const base: Setting = {
  name: "two providers",
  rows: 2,
  given: 0,
  length: 240,
  land: 0.25,
  errors: 0.15,
  noHistory: 0.1,
  pruned: 0.1,
  indexLag: 0.2,
  providers: 2,
  liar: false,
  silent: false,
  restores: false,
  equal: false,
  without: {}
}
