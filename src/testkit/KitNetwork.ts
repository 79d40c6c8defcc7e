// What a network type gives to the kit: its chain in memory, the door to it, and how its transactions are accepted and sent. Each is loaded
// with the first chain of its type.
import { DateTime, Schema } from "effect"
import type { Result } from "effect"
import type { HttpClient } from "effect/http"
import type { CreateNetwork, Network } from "../domain/network/Network.ts"
import type { Violation } from "../domain/request/Request.ts"
import type { Family, TransactionBody } from "../networks/core/Family.ts"
import type { Rules } from "../networks/core/Rules.ts"
import type { Terms, Transaction } from "../networks/core/Transaction.ts"
import type { Moment } from "../networks/core/TransactionValues.ts"
import type { FailingChain, Payment } from "./chain/Chain.ts"
import type { Key } from "./Keys.ts"

interface Described<Type extends string> {
  readonly type: Type
  readonly name: string
  /** Milliseconds between two blocks. */
  readonly blockTime: number
  /** Blocks on top of a block that make it final. */
  readonly confirmations: number
  readonly providers: 1 | 2
  /** The smallest units of an account that has sent and received nothing. */
  readonly funds: bigint
}

/** What an evm chain is made from. */
export interface EvmTestNetwork extends Described<"evm"> {
  readonly chainId: number
  /** Wei per gas. */
  readonly baseFee: bigint
}

/** What a solana cluster is made from. Its blocks are those that the cluster has: some slots have none. */
export interface SolanaTestNetwork extends Described<"solana"> {
  /** Micro-lamports per compute unit, below which no block takes a transaction. */
  readonly baseFee: bigint
}

/** What a stellar network is made from. Its ledgers are final when they close. */
export interface StellarTestNetwork extends Described<"stellar"> {
  readonly passphrase: string
  /** Stroops per operation, below which no ledger takes a transaction. */
  readonly baseFee: bigint
}

/** What a chain is made from. */
export type TestNetwork = EvmTestNetwork | SolanaTestNetwork | StellarTestNetwork

// How transactions are accepted and sent.

/** What is stored of a body. */
export interface Admitted<F extends Family = Family> {
  readonly request: F["request"]
  readonly facts: F["facts"]
  readonly validUntil: Moment
  readonly priority: number
  readonly notBefore?: Moment
  readonly requiredSequence?: bigint
}

/** What is stored of a body that takes the place of an earlier one. */
export interface Replacement<F extends Family = Family> {
  readonly request: F["request"]
  /** Undefined: that of the transaction stays. */
  readonly deadline: Moment | undefined
}

/** The rows of a lane, as the ledger of the kit has them. */
export interface Rows<F extends Family = Family> {
  /** Of this lane, by number. */
  all(): ReadonlyArray<Transaction<F>>
  nextNumber(): number
  /** Adds a row, or writes the next state of it. `bytes`: of an attempt that was just signed. */
  store(transaction: Transaction<F>, bytes?: { readonly ordinal: number; readonly raw: Uint8Array }): void
  termsOf(transaction: Transaction<F>): Terms<F>
}

export interface LaneOptions<F extends Family = Family> {
  readonly address: string
  readonly key: Key
  readonly target: F["target"]
  readonly relayerNumber: number
  readonly rows: Rows<F>
}

export interface KitLane {
  /** One poll, and what follows from it. */
  step(now: Moment): void
  /** Height of the newest block that the lane has seen. */
  height(): number
}

export interface Sending<F extends Family = Family> {
  readonly rules: Rules<F>
  readonly body: Schema.Codec<F["body"], unknown>
  readonly replacement: Schema.Codec<F["replacement"], unknown>
  readonly batch: Schema.Codec<{ readonly transactions: ReadonlyArray<F["body"]> }, unknown>
  /** Whether transactions are found by a nonce. */
  readonly hasSequences: boolean
  nameOf(body: F["body"]): string | undefined
  /** What the kit does not do for a relayer with this policy. Undefined: it does all. `body`: of a send, absent for a replacement. */
  lacking(target: F["target"], request: F["request"], body?: F["body"]): string | undefined
  admit(body: F["body"], target: F["target"], now: Moment): Result.Result<Admitted<F>, ReadonlyArray<Violation>>
  replacementOf(body: F["replacement"]): Replacement<F>
  replacementViolations(body: F["replacement"], target: F["target"], now: Moment): ReadonlyArray<Violation>
  openLane(options: LaneOptions<F>): KitLane
}

export interface KitNetwork {
  readonly chain: FailingChain
  /** Answers the URLs of the providers. */
  readonly client: HttpClient.HttpClient
  readonly sending: Sending
  /** Milliseconds between two polls of a lane. */
  readonly pollInterval: number
  /** The body that makes the network of the chain. */
  readonly createNetwork: CreateNetwork
  /** Why a network is not the one of the chain. */
  violationOf(network: Network): Violation | undefined
  /** The policy of a relayer that a test makes without one. */
  readonly policies: object | undefined
  /** The body of a send that makes a payment. */
  bodyOf(from: string, payment: Payment): TransactionBody
  /** Blocks within which everything ends on a chain without faults. */
  readonly patience: number
  /** Blocks after the deadline of a payment in which nothing of it may land, so that it is never executed. */
  readonly blocksToEnd: number
}

/** A moment that a body names. */
export const momentOf = (instant: DateTime.Utc | undefined): Moment | undefined =>
  instant === undefined ? undefined : DateTime.toEpochMillis(instant)

/** What a replacement without it keeps. */
interface Inherited {
  readonly max_value?: bigint | undefined
  readonly wait_for_funds?: boolean | undefined
}

/** Whether the newest version of a transaction came from this replacement, so that a repeat of it changes nothing. */
export const isNewest = <F extends Family>(
  { rules }: Pick<Sending<F>, "rules">,
  { validUntil, versions }: Transaction<F>,
  { request, deadline }: Replacement<F>
): boolean => {
  const encode = Schema.encodeUnknownSync(rules.request)
  const textOf = (one: object) => JSON.stringify(encode(one))
  const newest: object & Inherited = Object(versions.at(-1))
  const { max_value, wait_for_funds } = newest
  const inherited = {
    ...(max_value === undefined ? {} : { max_value }),
    ...(wait_for_funds === undefined ? {} : { wait_for_funds })
  }
  return (
    versions.length > 1 &&
    textOf(newest) === textOf({ ...inherited, ...Object(request) }) &&
    (deadline === undefined || deadline === validUntil)
  )
}

/** What makes the network type of a chain. */
export type Make<N extends TestNetwork> = (network: N, timeOf: (height: number) => Moment) => KitNetwork
