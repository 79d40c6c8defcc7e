// What providers say about transactions of solana: proofs and verdicts from what one of them said in one look, and what a signature needs.
import type { Moment } from "../../core/TransactionValues.ts"
import { totalFee } from "./Programs.ts"
import { boundMargin, maxComputeUnits, microLamports } from "./SolanaNumbers.ts"
import type { RuleCode } from "./SolanaWords.ts"

// What one provider said in one look, and what follows from it about the signatures of one transaction.

/** The state of a signature at a provider. */
export interface SignatureStatus {
  readonly slot: number
  readonly level: "processed" | "confirmed" | "finalized"
  readonly isSuccess: boolean
  /** The error of the chain as JSON text. Absent: it succeeded. */
  readonly error?: string
}

/** Slots and heights of which an answer was shown to miss nothing. */
export interface IndexedRange {
  readonly fromSlot: number
  readonly toHeight: number
}

/**
 * The answers of one provider, asked in this order. An absent answer means an error, or a question that was not asked: it is
 * unknown, never "there is none". The first answer names the slot that the later ones must have reached.
 */
export interface Look {
  /** `getEpochInfo` at the commitment `finalized`. */
  readonly finalized?: { readonly slot: number; readonly height: number }
  /** `getSignatureStatuses` with the search in history, by signature. `slot` is the slot of the answer's context. */
  readonly statuses?: {
    readonly slot: number
    readonly of: ReadonlyMap<string, SignatureStatus | null>
    /**
     * What the index of the provider was shown to have. An index lags behind the slot that the answer names, and it is filled
     * block by block, and a younger back end has kept later blocks alone: an answer that has a transaction from before the
     * signatures and one of a later finalized block misses nothing between them. Blocks that were read as empty need no index.
     * Absent: nothing was shown.
     */
    readonly indexed?: ReadonlyArray<IndexedRange>
  }
  /** `getSignaturesForAddress` of the relayer at `finalized`: complete from the slot `from` to the finalized slot. */
  readonly listed?: {
    readonly from: number
    readonly signatures: ReadonlySet<string>
    /** The list ended: the node has no older entry. It has entries, because something has funded the account. */
    readonly isWhole?: true
    /** The node has no entry at all. That is the whole list only of an account whose entries the node has dropped: `kept`. */
    readonly isEmpty?: true
  }
  /** `isBlockhashValid`, by blockhash. `slot` is the lowest slot of the answers' contexts. */
  readonly blockhashes?: { readonly slot: number; readonly valid: ReadonlyMap<string, boolean> }
  /** `getFirstAvailableBlock`, the higher one of two answers: before the list was asked for, and after it. */
  readonly firstAvailable?: number
  /** The lower one of them. Absent: one of the two was not answered. */
  readonly keptFrom?: number
  /** The URL of the provider, masked. */
  readonly host?: string
  /** What this provider concluded in the looks before, without interruption. */
  readonly earlier?: EarlierConclusion
}

/** What a proof needs to know of an attempt. */
export interface AttemptToProve {
  readonly hash: string
  readonly offer: {
    readonly blockhash: string
    /** The last block height at which the bytes can land. */
    readonly bound: number
    /** A slot before which the bytes cannot have landed. */
    readonly signedSlot: number
  }
}

/** A signature of the relayer that is known as finalized, of whatever transaction. */
export interface KnownSignature {
  readonly hash: string
  readonly slot: number
}

/** What a provider says of a transaction that is finalized. Absent: it does not name it. */
export interface Landing {
  /** The fee in lamports. */
  readonly paid?: bigint
  /** The time of its block, in whole seconds. */
  readonly at?: Moment
}

/** `Landed`: a signature is finalized. `Dead`: none of the signatures has landed, and none of them can land. */
export type Conclusion =
  | ({ readonly _tag: "Landed"; readonly hash: string } & Omit<SignatureStatus, "level">)
  | { readonly _tag: "Dead"; readonly attempts: number }

export interface EarlierConclusion {
  readonly at: Moment
  readonly conclusion: Conclusion
}

/**
 * A list without entries, although the account was funded: the node must have dropped its oldest blocks, before and after the list
 * was asked for, and with them each own transaction that is known.
 */
const isEmptied = (
  { finalized, keptFrom = 0 }: Required<Pick<Look, "finalized">> & Pick<Look, "keptFrom">,
  known: ReadonlyArray<KnownSignature>
): boolean => keptFrom > 0 && known.every(({ slot }) => slot < keptFrom || slot > finalized.slot)

/** `firstAvailable` says that a list which ended before `from` has lost nothing since. */
const isListComplete = (
  { finalized, listed, ...rest }: Required<Pick<Look, "finalized" | "listed">> & Pick<Look, "keptFrom">,
  from: number,
  known: ReadonlyArray<KnownSignature>
): boolean =>
  (listed.from <= from ||
    listed.isWhole === true ||
    (listed.isEmpty === true && isEmptied({ finalized, ...rest }, known))) &&
  known.every(({ hash, slot }) => slot <= from || slot > finalized.slot || listed.signatures.has(hash))

/** What a proof asks of a provider, in this order. What can never be answered comes first, because nothing else helps then. */
export type ProofQuestion = "finalized_height" | "history" | "statuses" | "list" | "blockhash" | "index"

/** The first question that keeps this provider from proving that the bytes of an attempt are dead. Undefined: it proves it. */
const openQuestion = (
  { finalized, statuses, listed, blockhashes, firstAvailable, keptFrom }: Look,
  { hash, offer }: AttemptToProve,
  known: ReadonlyArray<KnownSignature>
): ProofQuestion | undefined => {
  if (finalized === undefined || finalized.height < offer.bound + boundMargin) return "finalized_height"
  if (firstAvailable === undefined || firstAvailable > offer.signedSlot) return "history"
  if (statuses === undefined || statuses.of.get(hash) !== null || statuses.slot < finalized.slot) return "statuses"
  if (listed === undefined || listed.signatures.has(hash)) return "list"
  const list = { finalized, listed, ...(keptFrom === undefined ? {} : { keptFrom }) }
  if (!isListComplete(list, offer.signedSlot, known)) return "list"
  const isDead = blockhashes?.valid.get(offer.blockhash) === false && blockhashes.slot >= finalized.slot
  if (!isDead) return "blockhash"
  const isIndexed = statuses.indexed?.some(
    ({ fromSlot, toHeight }) => fromSlot <= offer.signedSlot && toHeight >= offer.bound
  )
  return isIndexed === true ? undefined : "index"
}

/** The same for all attempts of a transaction. */
export const openQuestionOf = (
  look: Look,
  attempts: ReadonlyArray<AttemptToProve>,
  known: ReadonlyArray<KnownSignature>
): ProofQuestion | undefined => {
  for (const attempt of attempts) {
    const question = openQuestion(look, attempt, known)
    if (question !== undefined) return question
  }
  return undefined
}

/** Whether the finalized height of this provider is so high that the bytes of an attempt should be dead. */
export const isPastBound = ({ finalized }: Look, { offer }: AttemptToProve): boolean =>
  finalized !== undefined && finalized.height >= offer.bound + boundMargin

/** What this provider says in this look. Undefined: nothing that could end the transaction. */
export const conclude = (
  look: Look,
  attempts: ReadonlyArray<AttemptToProve>,
  known: ReadonlyArray<KnownSignature>
): Conclusion | undefined => {
  for (const { hash } of attempts) {
    const status = look.statuses?.of.get(hash)
    if (status?.level === "finalized") {
      const { level: _, ...result } = status
      return { _tag: "Landed", hash, ...result }
    }
  }
  const isDead = attempts.length > 0 && openQuestionOf(look, attempts, known) === undefined
  return isDead ? { _tag: "Dead", attempts: attempts.length } : undefined
}

export const isSameConclusion = (one: Conclusion | undefined, other: Conclusion | undefined): boolean => {
  if (one?._tag === "Landed" && other?._tag === "Landed") {
    return one.hash === other.hash && one.slot === other.slot && one.isSuccess === other.isSuccess
  }
  return one?._tag === "Dead" && other?._tag === "Dead" && one.attempts === other.attempts
}

/** What is kept of a provider's looks: the first one of those that ended without interruption in the same conclusion. */
export const rememberConclusion = (
  look: Look,
  conclusion: Conclusion | undefined,
  now: Moment
): EarlierConclusion | undefined => {
  if (conclusion === undefined) return undefined
  return look.earlier !== undefined && isSameConclusion(look.earlier.conclusion, conclusion)
    ? look.earlier
    : { at: now, conclusion }
}

// What a signature needs to know of the chain, besides what the ledger has.

/** What one attempt offers, and until when its bytes can land. */
export interface SolanaOffer {
  readonly blockhash: string
  /** The last block height at which the bytes can land. It does not rest on one provider. */
  readonly bound: number
  /** A slot before which the bytes cannot have landed. */
  readonly signedSlot: number
  /** Absent: the message has no limit, and the runtime takes its default. */
  readonly computeUnitLimit?: number
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
  /** The blockhash was dead when a signature that was given away was taken over: no new bytes follow. */
  readonly isLast?: true
}

/**
 * The blockhash of the next bytes. `unavailable`: no two providers agree about one. `dead`: the blockhash that the request
 * brings is not valid at as many providers as must agree.
 */
export type Lifetime = Pick<SolanaOffer, "blockhash" | "bound" | "signedSlot"> | "unavailable" | "dead"

/**
 * Accounts that the rules read: lookup tables, and token accounts that the relayer spends from. `missing_table`: a table does
 * not exist, or is too short, at as many providers as must agree. `young_table`: the slot that extended it last is not finalized yet.
 */
export type ReadState =
  | "read"
  | "table_unavailable"
  | "young_table"
  | "missing_table"
  | "account_unavailable"
  | "price_unavailable"

/**
 * What simulations of the message say. `fails_alone`: it fails at one provider, and no other has an opinion. `broken`: the
 * relayer's accounts are not as the rules want them, in two looks at different blocks. `TableUnknown`: the node does not know an entry
 * of a lookup table yet.
 */
export type SimulationVerdict =
  | { readonly _tag: "Succeeds" | "Disagrees" | "FailsAlone" | "BrokenOnce" | "TableUnknown" | "Unknown" }
  | { readonly _tag: "Fails"; readonly error: string }
  | {
      readonly _tag: "Broken"
      readonly code: Extract<RuleCode, "lamports_out" | "fee_payer_changed" | "authority_changed" | "payment_missing">
    }

export interface Preparation {
  readonly lifetime: Lifetime
  readonly accounts: ReadState
  /** The slot that extended a lookup table last, if that is not finalized yet. */
  readonly extendedIn?: number
  /** The first rule that the message breaks, with its accounts resolved. Absent: none. */
  readonly broken?: RuleCode | "already_accepted"
  /** What is wrong with the payment of the user, or with its price. */
  readonly problem?: string
  /**
   * The fee in lamports at the lowest price that the network takes now, and at the price that is offered. `isOwn`: the cap is that of
   * the request or of its API key, which says nothing about others of the relayer.
   */
  readonly fee: { readonly floor: bigint; readonly offered: bigint; readonly cap: bigint; readonly isOwn?: true }
  readonly price: Pick<SolanaOffer, "computeUnitLimit" | "computeUnitPrice">
  /** Lamports that the request itself takes from the relayer. */
  readonly out: bigint
  /** Lamports that an account without data needs on the cluster. Absent: unknown. */
  readonly rent?: bigint
  /** Lamports on the account. Absent: unknown. */
  readonly balance?: bigint
  /** Absent: the request is not simulated. */
  readonly simulated?: SimulationVerdict
}

/** The API key may leave less for the fee than the policy. Bytes that the service builds offer a lower price then. */
export const withFeeLimit = (preparation: Preparation, limit: bigint | undefined, isPrebuilt: boolean): Preparation => {
  const { fee, price } = preparation
  if (limit === undefined || limit >= fee.offered) return preparation
  const capped = { ...preparation, fee: { ...fee, cap: limit, isOwn: true as const } }
  if (isPrebuilt || limit < fee.floor) return capped
  const units = price.computeUnitLimit ?? maxComputeUnits
  const computeUnitPrice = ((limit - fee.floor) * microLamports) / BigInt(units)
  const offered = fee.floor + totalFee(0, computeUnitPrice, units)
  return { ...capped, fee: { ...capped.fee, offered }, price: { ...price, computeUnitPrice } }
}

/** The cap may be what the request gives. */
export const withOwnCap = (preparation: Preparation, given: bigint | undefined): Preparation =>
  given === preparation.fee.cap ? { ...preparation, fee: { ...preparation.fee, isOwn: true } } : preparation

/** Bytes that exist outside of the attempts: signed by `sign-transaction`, or found on the chain after a restore. */
export interface TakenAttempt {
  readonly hash: string
  readonly offer: SolanaOffer
  /** Lamports. */
  readonly maxFee: bigint
}

export interface SolanaSeen {
  readonly _tag: "Seen"
  /** Providers that are configured. */
  readonly configured: number
  /** One look of each provider that was asked. Answers are never mixed between providers. */
  readonly looks: ReadonlyArray<Look>
  /** Since when this process has seen only one provider answer. Absent: another one does. */
  readonly aloneSince?: Moment
  /** Signatures of the relayer that are known as finalized. */
  readonly known: ReadonlyArray<KnownSignature>
  /** What a provider says of own signatures that are finalized. */
  readonly landings?: ReadonlyMap<string, Landing>
  /** Whether the question `proof` was asked in this look. */
  readonly isProofAsked?: true
  /** The answer to the question `prepare`. */
  readonly preparation?: Preparation
  /** What the list of the address shows that the restored ledger has forgotten: it executed this request. */
  readonly found?: TakenAttempt
  /** The bytes of a signature that the ledger has forgotten. `unavailable`: nobody says until when they can land. */
  readonly forgotten?: TakenAttempt | "unavailable"
}
