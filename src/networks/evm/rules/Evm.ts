// The family of evm: its shapes, with what a poll asks providers about one transaction, and what it has seen of the chain.
// What is not asked is unknown. Absent always means unknown, never "there is none".
import { Struct } from "effect"
import type { EvmNetwork } from "../../../domain/network/Network.ts"
import type { EvmRelayer } from "../../../domain/relayer/Relayer.ts"
import type { Family } from "../../core/Family.ts"
import type { Opinion } from "../../core/Rows.ts"
import type { Destination } from "../../core/Rules.ts"
import { currentAttempts, isFinal, isNoop } from "../../core/Transaction.ts"
import type { Attempt, Lane, Receipt, Transaction } from "../../core/Transaction.ts"
import type { Moment, Point, Speed } from "../../core/TransactionValues.ts"
import type { AuthorityState, SignedAuthorization } from "./Authorizations.ts"
import { valueOfCalls } from "./Batch.ts"
import type { BatchCall } from "./Batch.ts"
import type { CodeQuery, DelegationFacts, DelegationRecord, DelegationStage, FoundCode } from "./Delegates.ts"
import { absencesBeforeRebroadcast } from "./EvmNumbers.ts"
import type { NetworkNumbers } from "./EvmNumbers.ts"
import type { EvmTransaction, NonceState, ReplaceEvmTransaction, SendEvmTransaction, Simulation } from "./EvmSchemas.ts"
import type { Fees, Market } from "./Market.ts"
import type { NodeAnswer, Refusal } from "./Refusal.ts"

// Which providers get the bytes of a transaction, and which of its hashes are secret.

type Routed = Pick<Transaction, "route" | "origin">

/**
 * A no-op is no secret, and private providers alone may never mine it: they take a transfer to the sender itself as the word "cancel". The
 * no-op of a gap uses a nonce that later private transactions wait for.
 */
export const destinationOf = ({ route, origin }: Routed, attempt: Pick<Attempt, "kind">): Destination => {
  if (route === undefined) return origin === "request" ? "public" : "both"
  return isNoop(attempt) || route.kind === "fell_back" ? "both" : "private"
}

/** Whether only private providers get the bytes. */
export const isPrivate = (transaction: Routed, attempt: Pick<Attempt, "kind">): boolean =>
  destinationOf(transaction, attempt) === "private"

/** Whether no provider that is not private may be asked by the hash: only a block shows it to everybody. */
export const isSecret = (
  transaction: Routed & Pick<Transaction, "mined">,
  attempt: Pick<Attempt, "kind" | "ordinal">
): boolean => isPrivate(transaction, attempt) && transaction.mined?.ordinal !== attempt.ordinal

/** Whether only private providers may see its call. */
export const isEstimatedPrivately = ({ route }: Pick<Transaction, "route">): boolean =>
  route?.kind === "private" && route.estimates !== "normal"

/** Hashes that any provider may be asked by. */
export const knownHashes = (transaction: Transaction<Evm>): ReadonlyArray<string> =>
  currentAttempts(transaction).flatMap((attempt) => (isSecret(transaction, attempt) ? [] : [attempt.hash]))

// What a poll asks providers about one transaction, and what it has seen of the chain. What is not asked is unknown. Absent
// always means unknown, never "there is none".

export interface Questions {
  /** Hashes whose receipts are read: any of the attempts can be the one that was mined. */
  readonly receipts: ReadonlyArray<string>
  /** Nonce whose transaction is looked for in its block, because it may be one whose hash is secret. Absent: none. */
  readonly place?: number
  /** Hash that is looked up in the pool. Absent: none. */
  readonly pooled?: string
  /** Height whose block hash is read, at a second provider as well if the block is deep. Absent: none. */
  readonly block?: number
}

const noQuestions: Questions = { receipts: [] }

/** `count`: transactions of the account in the same poll. Only final transactions are not asked about. */
export const questionsOf = (transaction: Transaction<Evm>, count: number): Questions => {
  const { mined, place } = transaction
  if (place?.sequence === undefined || isFinal(transaction)) return noQuestions
  if (mined !== undefined) return { receipts: [], block: mined.receipt.height }
  const attempts = currentAttempts(transaction)
  if (place.sequence < BigInt(count)) {
    const receipts = knownHashes(transaction)
    return receipts.length === attempts.length ? { receipts } : { receipts, place: Number(place.sequence) }
  }
  const newest = attempts.at(-1)
  if (newest === undefined || newest.sends === 0 || isSecret(transaction, newest)) return noQuestions
  return { receipts: [], pooled: newest.hash }
}

/** What a receipt has besides the neutral fields. */
export interface ReceiptDetails {
  readonly gasUsed: bigint
  /** Wei per gas. 0: the node did not say. */
  readonly effectiveGasPrice: bigint
  /** Wei that a rollup charged for the data, besides gas. Absent: nothing. */
  readonly dataFee?: bigint
  /** Wei that a rollup charged for its operator, besides gas. Absent: nothing. */
  readonly operatorFee?: bigint
  /** Lower-case hex. Absent: nothing was created. */
  readonly contractAddress?: string
  /** The code of the account at the block, in lower case. Absent: the effect does not depend on it, or no provider has it. */
  readonly code?: string
  /** Decoded. Absent: not reverted, not asked for, or not known. */
  readonly revertReason?: string
  /** Whether it ran out of gas, as a node says. Absent: it was not asked, or does not say. */
  readonly isOutOfGas?: boolean
  /**
   * Whether each authority has its delegation at the block, in the order of the list. Null: no provider said so. Absent: it has no list, or
   * nobody was asked.
   */
  readonly delegated?: ReadonlyArray<boolean | null>
}

export interface EvmReceipt extends Receipt {
  readonly details: ReceiptDetails
}

export interface Head {
  readonly number: number
  readonly hash: string
  readonly gasLimit?: bigint
  /** When the block was made, by its own word. */
  readonly timestamp?: Moment
}

/** What a provider says about the bytes of an attempt. `missed`: the newest poll in which it did not have them. */
export type Sight =
  /** `isReasonAsked`: `inquire` has looked for the reason of a revert. */
  | { readonly _tag: "Receipt"; readonly receipt: EvmReceipt; readonly isReasonAsked?: true }
  | { readonly _tag: "InPool"; readonly missed?: Point }
  /**
   * `polls`: in a row since the newest send. `drops`: sends that a node accepted, and whose bytes it did not have in two polls
   * afterwards.
   */
  | { readonly _tag: "Absent"; readonly polls: number; readonly drops?: number; readonly missed?: Point }

/** Bytes that a provider did not have, as polls remember them. */
export interface Absence {
  /** When they were sent last, before the provider was asked. */
  readonly sentAt: Moment | undefined
  /** As in `Sight`. 0: it has them now. */
  readonly polls: number
  readonly drops: number
  readonly missed: Point
}

/** After a poll that shows the bytes, or is to count as one. */
export const withSight = (before: Absence | undefined): Absence | undefined =>
  before && { ...before, polls: 0, drops: 0 }

/** After a poll that does not show the bytes of the attempt. */
export const withAbsence = (
  before: Absence | undefined,
  { outcome, lastSentAt: sentAt }: Pick<Attempt, "outcome" | "lastSentAt">,
  missed: Point
): Absence => {
  const polls = (before?.sentAt === sentAt ? (before?.polls ?? 0) : 0) + 1
  const isDrop = outcome === "accepted" && polls === absencesBeforeRebroadcast
  return { sentAt, polls, drops: (before?.drops ?? 0) + (isDrop ? 1 : 0), missed }
}

/** `isAsked`: whether this poll has asked for the bytes. Undefined: nothing is known. */
export const sightOf = (absence: Absence | undefined, isAsked: boolean): Sight | undefined => {
  if (absence === undefined) return isAsked ? { _tag: "InPool" } : undefined
  const { drops, missed, polls } = absence
  if (drops === 0 && polls === 0) return { _tag: "InPool", missed }
  return { _tag: "Absent", polls: isAsked ? polls : 0, drops, missed }
}

/**
 * What a second provider says of one height: the hash there, and the height of the newest block that is final for it. Both
 * count: a provider with a longer fork that dies has the same block, and believes it deeper than it is. Absent: it did not
 * answer. `not_configured`: the first provider decides alone.
 */
export type SecondOpinion =
  | {
      readonly hash: string
      readonly finalHeight: number
      /** Null: it has none. Absent: it was not asked for one. */
      readonly receipt?: { readonly blockHash: string; readonly isSuccess: boolean } | null
      /** Whether its block names the transaction. Absent: unknown. */
      readonly isListed?: boolean
      /** Masked. */
      readonly host?: string
    }
  | "not_configured"

/** The block at one height. */
export interface BlockHashes {
  readonly first?: string
  readonly second?: SecondOpinion
  /** What the other providers say, if none of them agrees or has another receipt. Absent: they were not asked. */
  readonly others?: ReadonlyArray<Opinion>
  /** Two other providers contradict with the same answer, and none agrees: another one is asked first from now on. */
  readonly isOutvoted?: boolean
}

/** Whether the second provider, if there is one, has this block, and has it deep. */
export const isAgreed = (second: SecondOpinion | undefined, block: number, hash: string | undefined): boolean =>
  second === "not_configured" || (second !== undefined && second.hash === hash && block <= second.finalHeight)

/**
 * `agrees`: it has the same receipt in the same block, and has it deep. `disagrees`: it has another block there, another
 * receipt, or the same block without the transaction, and its head is far beyond. `none`: it has no opinion, or does not see the block deep yet.
 */
export const verdictOn = (
  { height, blockHash, isSuccess }: EvmReceipt,
  second: SecondOpinion | undefined
): "agrees" | "disagrees" | "none" => {
  if (second === undefined) return "none"
  if (second === "not_configured") return "agrees"
  const { finalHeight, hash, receipt, isListed } = second
  if (height > finalHeight) return "none"
  if (hash !== blockHash) return "disagrees"
  if (receipt === null || receipt === undefined) return isListed === false ? "disagrees" : "none"
  return receipt.blockHash === blockHash && receipt.isSuccess === isSuccess ? "agrees" : "disagrees"
}

/** What the estimation of the call said. */
export type Estimate =
  | { readonly _tag: "Gas"; readonly gas: bigint }
  /** `second`: what another provider says of the same call. */
  | {
      readonly _tag: "Reverts"
      readonly second: "agrees" | "differs" | "not_configured"
      readonly reason?: string
    }
  /** The node refuses to estimate a call that the balance cannot pay. */
  | { readonly _tag: "Unaffordable" }
  /** A provider that answers other questions refuses to estimate this call, in words that the service does not know. */
  | { readonly _tag: "Refused"; readonly words: string }
  /** Each provider that answers ignores authorizations, or refuses them, and overrides of code as well. */
  | { readonly _tag: "Unavailable" }
  /** No provider answers. */
  | { readonly _tag: "Unknown" }

/** What a transaction does, to compare it with requests. `to` in lower case. */
export interface ForeignCall {
  readonly to?: string
  readonly value: bigint
  readonly data: string
  /** The nonce that it used. Absent: not known. */
  readonly nonce?: number
  /** Whether it has the shape of a no-op of the service. */
  readonly isNoop?: boolean
}

export type TakerEvidence =
  /** The transaction was fetched. */
  | {
      readonly _tag: "Fetched"
      readonly hash: string
      readonly sender: string
      readonly nonce: number
      readonly call: ForeignCall
      readonly block: number
      readonly blockHash: string
      /** What a second provider says of that height. Absent: unknown. */
      readonly second?: SecondOpinion
    }
  /** An authorization of the account used the nonce in this block, so no transaction of the account has it. */
  | {
      readonly _tag: "Authorized"
      readonly block: number
      readonly blockHash: string
      /** As above. */
      readonly second?: SecondOpinion
    }
  /** The index of the provider lags behind its blocks: the look is not complete. `since`: since when each look said so. */
  | { readonly _tag: "Behind"; readonly since?: Moment }
  /** The index is complete, but the provider neither finds what used the nonce nor has the state to search for it. */
  | { readonly _tag: "NotFound" }

export interface Seen {
  readonly _tag: "Seen"
  readonly head: Head
  /** Height of the newest block that counts as final. */
  readonly finalHeight: number
  /** Transactions of the account at the head. */
  readonly count: number
  /** The same at `finalHeight`. Present if the count has passed a nonce for which no receipt was found. */
  readonly countAtFinal?: number
  readonly market?: Market
  /** Wei per gas that the only provider has shown in one block alone. Nothing is offered at it. */
  readonly firstPrice?: bigint
  /** Wei at the head. */
  readonly balance?: bigint
  /** Since when no provider has shown a newer block, if all are stalled. Absent: at least one is not. */
  readonly stalledSince?: Moment
  /** Masked URLs of the providers that accepted the newest bytes when they were sent again. Absent: none is remembered. */
  readonly acceptedBy?: ReadonlyArray<string>
  /** By ordinal of the attempt. */
  readonly sights: ReadonlyMap<number, Sight>
  /** At the height of the block that the transaction's recorded receipt names. */
  readonly minedAt?: BlockHashes
  /** Whether the chain charges for data besides gas, so that a signature needs to know how much. */
  readonly chargesForData: boolean
  /** Whether providers were asked about the newest version of the request: its gas, and what its data costs. */
  readonly isInquired?: true
  /** Whether the account has code: of an EIP-7702 delegation. Absent: no provider shows any. */
  readonly hasCode?: true
  /** The code of the account, in lower case, as this poll has read it. Absent: it is not known. */
  readonly code?: string
  /** The code at the block of the receipt. Absent: this poll did not ask. */
  readonly codeAt?: FoundCode
  /** For the newest version of the request. */
  readonly estimate?: Estimate
  /** Gas that a no-op needs on this chain and account. */
  readonly noopGas: bigint
  /** Wei that a rollup may charge for the data of the newest version, besides gas. Absent: nothing, or not known. */
  readonly dataFee?: bigint
  /** The same for a no-op. */
  readonly noopDataFee?: bigint
  /** Which transaction used the nonce. Absent: this poll did not ask. */
  readonly taker?: TakerEvidence
  /** Whether every provider answered that it has no receipt of any attempt. Absent: this poll did not ask them. */
  readonly hasNoReceipt?: boolean
  /** Whether a normal provider has its newest bytes, which only private ones got. Absent: none shows them. */
  readonly isLeaked?: true
  /** What the call would do now, as the newest answer about it says. Absent: this poll did not ask. */
  readonly revertsNow?: RevertsNow
  /** The authorities of the newest version, in the order of its list. Absent: this poll did not ask. */
  readonly authorities?: ReadonlyArray<AuthorityState>
  /** As in `ReceiptDetails`, of the attempt that is mined. Absent: this poll did not ask. */
  readonly delegated?: ReadonlyArray<boolean | null>
}

/** Whether a block is so deep that the transactions in it are final. */
export const isDeep = ({ finalHeight }: Pick<Seen, "finalHeight">, blockNumber: number): boolean =>
  blockNumber <= finalHeight

/** Blocks on top of a block, and how many make it final: `n of m` in explanations. */
export const depthOf = ({ head, finalHeight }: Seen, block: number) => ({
  block,
  blocks: Math.max(head.number - block, 0),
  required_blocks: Math.max(head.number - finalHeight, 0)
})

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
  /** As `TopUpRequest` has it. */
  readonly fails_without_funds?: true
  /** Calls that the account makes at once. `value` is what they send together, and there is no `to` and no `data`. */
  readonly calls?: ReadonlyArray<BatchCall>
  /** The contract that the account delegates to, in lower case: the bytes carry an authorization of the account itself. */
  readonly delegate?: string
  /** Authorizations of other accounts (EIP-7702). Absent: none. */
  readonly authorization_list?: ReadonlyArray<SignedAuthorization>
}

/** A body whose authorizations have their signers. */
export type SignedBody<Body extends SendEvmTransaction | ReplaceEvmTransaction> = Omit<Body, "authorization_list"> &
  Pick<Request, "authorization_list">

/** The fields of a body that decide about its effect and its price. */
const effective = [
  "to",
  "value",
  "data",
  "gas_limit",
  "gas_price",
  "max_fee_per_gas",
  "max_priority_fee_per_gas",
  "speed",
  "simulate",
  "wait_for_funds",
  "authorization_list"
] as const

/** As the ledger keeps it and compares it. */
const canonicalEntry = ({
  chainId,
  address,
  nonce,
  yParity,
  r,
  s,
  authority,
  isWithoutCode
}: SignedAuthorization): SignedAuthorization => ({
  chainId,
  address: address.toLowerCase(),
  nonce,
  yParity,
  r,
  s,
  authority,
  ...(isWithoutCode === true ? { isWithoutCode } : {})
})

/** What a body asks for. The rest of it says how the service handles the transaction. */
export const requestOfBody = (body: SignedBody<SendEvmTransaction> | SignedBody<ReplaceEvmTransaction>): Request => {
  const { calls } = body
  const request = Struct.pick(body, effective)
  const { authorization_list: list } = request
  return {
    ...request,
    ...(calls === undefined ? {} : { calls, value: valueOfCalls(calls) }),
    ...(list === undefined ? {} : { authorization_list: list.map(canonicalEntry) })
  }
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
  /** Milliseconds at the chain's count after which a private transaction becomes public. Absent: it does not. */
  readonly fallbackAfter?: number
  /** Whether its network has private providers. */
  readonly hasPrivateProviders: boolean
  /** Whether calls of private transactions are shown to private providers alone, until they are mined. */
  readonly estimatesPrivately: boolean
  /** Whether the reason of a revert is looked up. */
  readonly wantsRevertReason: boolean
  /** Who may receive something, the relayer included. Absent: everybody. */
  readonly receivers?: ReadonlyArray<string>
  /** The calls that may be made. Absent: all. */
  readonly selectors?: ReadonlyArray<string>
  /** What accounts may be delegated to by their authorizations. Absent: nothing, so that no list is sent. */
  readonly delegates?: ReadonlyArray<string>
  readonly network: NetworkNumbers
}

/** What all open transactions of a lane tell the decision about one of them. */
export interface EvmSurvey {
  /** The most urgent speed of all: the head of the lane inherits it. */
  readonly urgency: Speed
  /** How many there are. */
  readonly open: number
  /** How many of them have a nonce. Absent: none. */
  readonly placed?: number
  /** Lowest nonce in flight that no node has accepted. Absent: there is none. */
  readonly lowestUnaccepted?: number | undefined
  /** Nonces in flight whose bytes private providers do not get. Absent: there are none. */
  readonly publics?: ReadonlyArray<number>
  /** Where open delegations of the account are. Absent: there are none. */
  readonly delegation?: DelegationStage
  /** Whether every node refuses one in flight, of which no node has accepted bytes, in words that nobody understands. */
  readonly isRefused?: true
}

/** Whether the newest version of a request would revert now. */
export interface RevertsNow {
  /** Absent: no provider has answered. */
  readonly wouldRevert?: boolean
  readonly reason?: string
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
  /** Which code the account had at the block of this attempt. */
  | ({ readonly _tag: "CodeAt"; readonly ordinal: number; readonly receipt: EvmReceipt } & CodeQuery)
  /** Whether the newest version would revert now: many private providers include nothing that does. */
  | { readonly _tag: "RevertsNow" }
  /** Whether nodes would apply the authorizations of the newest version now. */
  | { readonly _tag: "Authorities" }
  /** What the authorizations of this attempt have left at its block. */
  | { readonly _tag: "Delegations"; readonly ordinal: number; readonly height: number }

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
  readonly facts: { readonly delegation?: DelegationFacts }
  readonly offer: Priced
  readonly refusal: Refusal
  readonly details: ReceiptDetails
  readonly counters: { readonly delegation?: DelegationRecord }
  readonly terms: EvmTerms
  readonly survey: EvmSurvey
  readonly seen: Seen
  readonly question: Question
  readonly answer: NodeAnswer
  /** Undefined: it could not be fetched. */
  readonly foreign: ForeignCall | undefined
  readonly shown: EvmTransaction
}

declare module "../../core/Family.ts" {
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
