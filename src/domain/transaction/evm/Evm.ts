// The family of evm: its shapes.
import type { NonceState } from "./NonceState.ts"
import type { EvmNetwork } from "../../network/Network.ts"
import type { EvmRelayer } from "../../relayer/Relayer.ts"
import type { Family } from "../Family.ts"
import type { EvmTransaction } from "./EvmTransaction.ts"
import type { Fees } from "./Fees.ts"
import type { NetworkNumbers } from "./NetworkNumbers.ts"
import type { NodeAnswer, Refusal } from "./Refusal.ts"
import type { ReplaceEvmTransaction, SendEvmTransaction } from "./SendEvmTransaction.ts"
import type { Simulation } from "./Simulation.ts"
import type { Attempt, Lane, Transaction } from "../Transaction.ts"
import type { Speed } from "../TransactionValues.ts"
import type { EvmReceipt, ForeignCall, ReceiptDetails, Seen } from "./View.ts"

/** What a caller asked for. Amounts in wei. */
export interface Request {
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
  readonly gas_limit?: bigint
  readonly gas_price?: bigint
  readonly max_fee_per_gas?: bigint
  readonly max_priority_fee_per_gas?: bigint
  readonly speed?: Speed
  /** Whether the call is estimated before it is signed. Absent: if there is no `gas_limit`. */
  readonly simulate?: boolean
  /** Whether it waits for funds until its deadline. */
  readonly wait_for_funds?: boolean
}

/** What an attempt offers, which determines its cost besides its value. */
export interface Priced {
  readonly fees: Fees
  readonly gasLimit: bigint
  /** Wei that a rollup may charge besides gas: for the data, and for its operator. Absent: nothing, or not known. */
  readonly rollupFee?: bigint
}

/** What policy and network allow now. */
export interface EvmTerms {
  /** The address of the account. */
  readonly address: string
  /** Wei per gas. Absent: no cap. */
  readonly cap?: bigint
  /** Wei that must stay on the account. */
  readonly minBalance: bigint
  /** Whether prices without given fees are EIP-1559. */
  readonly isEip1559: boolean
  /** Whether the service estimates the gas of requests that give no limit. */
  readonly estimatesGas: boolean
  /** Whether transactions are to bypass the public mempool. */
  readonly isPrivate: boolean
  /** Whether the reason of a revert is looked up. */
  readonly wantsRevertReason: boolean
  /** Who may receive something, the relayer included. Absent: everybody. */
  readonly receivers?: ReadonlyArray<string>
  readonly network: NetworkNumbers
}

/** What all open transactions of a lane tell the decision about one of them. */
export interface EvmSurvey {
  /** The most urgent speed of all: the head of the lane inherits it. */
  readonly urgency: Speed
  /** How many there are. */
  readonly open: number
  /** Lowest nonce in flight that no node has accepted. Absent: there is none. */
  readonly lowestUnaccepted?: number | undefined
  /** Whether every node refuses one in flight, of which no node has accepted bytes, in words that nobody understands. */
  readonly isRefused?: true
}

export type Question =
  /** What the newest version of the request needs: gas, and what its data costs. */
  | { readonly _tag: "Estimate" }
  /** Which transaction used the nonce. */
  | { readonly _tag: "Foreign"; readonly nonce: number }
  /** Why the call of this attempt failed in its block. */
  | {
      readonly _tag: "RevertReason"
      readonly ordinal: number
      readonly receipt: EvmReceipt
      readonly isWanted: boolean
    }

/** A relayer and its network. */
export interface EvmTarget {
  readonly relayer: typeof EvmRelayer.Type
  readonly network: typeof EvmNetwork.Type
}

export interface Evm extends Family {
  readonly type: "evm"
  readonly target: EvmTarget
  readonly body: SendEvmTransaction
  readonly replacement: ReplaceEvmTransaction
  readonly simulation: Simulation
  readonly signing: never
  readonly sequences: { readonly shown: NonceState }
  readonly quote: never
  readonly build: never
  readonly request: Request
  readonly facts: {}
  readonly offer: Priced
  readonly refusal: Refusal
  readonly details: ReceiptDetails
  readonly counters: {}
  readonly terms: EvmTerms
  readonly survey: EvmSurvey
  readonly seen: Seen
  readonly question: Question
  readonly answer: NodeAnswer
  /** Undefined: it could not be fetched. */
  readonly foreign: ForeignCall | undefined
  readonly shown: EvmTransaction
}

declare module "../Family.ts" {
  interface Families {
    readonly evm: Evm
  }
}

/** Nonces are numbers here: JSON numbers are exact up to the highest one that the service assigns. */
const numberOf = (sequence: bigint | undefined): number | undefined =>
  sequence === undefined ? undefined : Number(sequence)

/** The nonce of a transaction. Undefined: it has none. */
export const nonceOf = ({ place }: Pick<Transaction, "place">): number | undefined => numberOf(place?.sequence)

/** The nonce that the request requires. */
export const requiredNonceOf = ({ requiredSequence }: Pick<Transaction, "requiredSequence">): number | undefined =>
  numberOf(requiredSequence)

/** The nonce of an attempt. */
export const attemptNonceOf = ({ place }: Pick<Attempt, "place">): number => Number(place.sequence)

/** The nonces of a lane. Always `settledNonce <= chainNonce <= nextNonce`. */
export interface Nonces {
  /** Lower-case hex. */
  readonly address: string
  readonly generation: number
  /** The nonce that is assigned next. */
  readonly nextNonce: number
  /** The highest count that was believed. Falls only with a reorganisation that was seen, or with a correction. */
  readonly chainNonce: number
  /** The block at which `chainNonce` was read. Absent: no poll in this generation yet. */
  readonly chainBlock?: { readonly number: number; readonly hash: string }
  /** Every transaction below it is final. Falls only after a reorganisation deeper than what counts as final. */
  readonly settledNonce: number
  /** Transactions that may be in flight at once, at present. */
  readonly windowSize: number
}

export const noncesOf = ({ generation, windowSize, accounts: [account] }: Lane): Nonces => ({
  address: account.address,
  generation,
  windowSize,
  nextNonce: Number(account.nextSequence),
  chainNonce: Number(account.chainSequence),
  settledNonce: Number(account.settledSequence),
  ...(account.chainBlock === undefined ? {} : { chainBlock: account.chainBlock })
})

export const laneOf = ({
  address,
  generation,
  windowSize,
  nextNonce,
  chainNonce,
  settledNonce,
  chainBlock
}: Nonces): Lane<Evm> => ({
  generation,
  windowSize,
  accounts: [
    {
      address,
      nextSequence: BigInt(nextNonce),
      chainSequence: BigInt(chainNonce),
      settledSequence: BigInt(settledNonce),
      ...(chainBlock === undefined ? {} : { chainBlock })
    }
  ]
})
