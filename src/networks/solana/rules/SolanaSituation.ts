// One decision about a transaction of solana: what it knows of the ledger and of the chain, and the commands that it can give.
import { Data } from "effect"
import type { Array as Arr } from "effect"
import type { FinalState, Intent, KeyHold, State } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { boundMargin, pollAfter } from "./SolanaNumbers.ts"
import { cause } from "./SolanaWords.ts"
import type { RuleCode, SolanaCause } from "./SolanaWords.ts"

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

export interface SolanaAttempt extends AttemptToProve {
  /** From 1. */
  readonly ordinal: number
  readonly kind: "original" | "refresh"
  readonly offer: SolanaOffer
  /** Lamports. */
  readonly maxFee: bigint
  readonly sends: number
  /** Absent: the service did not sign it. */
  readonly signedAt?: Moment
  /** Absent: never sent. */
  readonly lastSentAt?: Moment
  /** Whether every provider that was asked has refused it for good. */
  readonly isRefused: boolean
}

/** An attempt whose bytes exist outside of the attempts: signed by `sign-transaction`, or found on the chain after a restore. */
export type TakenAttempt = Omit<SolanaAttempt, "ordinal">

export interface SolanaMined {
  readonly ordinal: number
  readonly slot: number
  readonly isSuccess: boolean
  /** The error of the chain as JSON text. Absent: it succeeded. */
  readonly error?: string
  /** Lamports of its fee, as a provider names them. Absent: it is computed. */
  readonly paid?: bigint
}

/** Facts of a transaction that never change. */
interface SolanaFacts {
  /** Whether the blockhash may be exchanged: the relayer is the only signer, and the request allows it. */
  readonly isRefreshable: boolean
  /** Whether the request brings its own blockhash. */
  readonly isPrebuilt: boolean
  /** The signature that `sign-transaction` gave away for this message. */
  readonly given?: TakenAttempt
  /** Such a signature that the ledger has forgotten: the answer to `prepare` says until when its bytes can land. */
  readonly isForgotten?: true
}

export interface SolanaTransaction {
  readonly generation: number
  readonly facts: SolanaFacts
  readonly intent: Intent
  readonly state: State
  readonly cause?: { readonly code: string }
  /** Since when `cause` has its code. */
  readonly causeSince: Moment
  readonly mined?: SolanaMined
  /** The ledger may have forgotten attempts, cancels and replacements: no new bytes before an operator answers. */
  readonly restored: boolean
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly waitsForFunds: boolean
  /** By ordinal. */
  readonly attempts: ReadonlyArray<SolanaAttempt>
}

const finalStates: ReadonlySet<State> = new Set<FinalState>(["confirmed", "failed", "canceled", "expired"])

export const isFinal = ({ state }: Pick<SolanaTransaction, "state">): boolean => finalStates.has(state)

export interface SolanaLane {
  readonly generation: number
  readonly windowSize: number
  /** Whether the list of the address was read after a restore, when no bytes from before it could land any more. */
  readonly isRestoreRead: boolean
  /** The last block height of those bytes, and the slot up to which the list was read. Absent: not known, or not read. */
  readonly restore?: { readonly bound: number; readonly slot?: number }
}

/** What a relayer's policy, its network and the limits of the API key mean now. Amounts in lamports. */
interface SolanaTerms {
  readonly isPaused: boolean
  readonly disabled?: "relayer_disabled" | "providers_unavailable" | "chain_changed"
  /** Whether policy and limits still allow the transaction. */
  readonly isAllowed: boolean
  readonly minBalance: bigint
  /** Milliseconds without another provider's opinion after which one decides alone. */
  readonly finalityByOne: number | "never"
  /** Whether a payment of the user covers the fee. */
  readonly isSponsored: boolean
  /** Present if the API key is held, because too many of its sponsored transactions failed. */
  readonly keyHold?: KeyHold
}

/** The rest of the lane, as one of its open transactions sees it. */
interface SolanaRest {
  readonly inFlight: number
  /** Lamports that the others in flight, and signatures that were given away, can cost at most. */
  readonly reserved: bigint
  /** Since when nothing of the lane is in flight. Absent: something is. */
  readonly quietSince?: Moment | undefined
}

export interface SolanaSeen {
  readonly _tag: "Seen"
  /** Providers that are configured. */
  readonly configured: number
  /** One look of each provider that was asked. Answers are never mixed between providers. */
  readonly looks: ReadonlyArray<Look>
  /** Since when only one provider has an opinion. Absent: another one has. */
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

interface SolanaUnreachable {
  readonly _tag: "Unreachable"
  readonly code: "providers_unavailable" | "rate_limited"
  readonly retryAt: Moment
  readonly figures?: SolanaCause["figures"]
}

export interface SolanaSituation<V = SolanaSeen | SolanaUnreachable> {
  readonly transaction: SolanaTransaction
  readonly lane: SolanaLane
  readonly terms: SolanaTerms
  readonly rest: SolanaRest
  readonly view: V
  readonly now: Moment
  /** What keeps the whole lane from signing. */
  readonly stop?: SolanaCause
  readonly signerRetry?: { readonly code: "signer_unavailable" | "throttled" | "row_changed"; readonly at: Moment }
}

export type SolanaCommand = Data.TaggedEnum<{
  /** Sign, commit, then broadcast. */
  readonly Sign: {
    readonly kind: SolanaAttempt["kind"]
    readonly offer: SolanaOffer
    readonly maxFee: bigint
    readonly cause: SolanaCause
  }
  /** Record an attempt whose bytes exist already. The state is `signed`. */
  readonly Adopt: { readonly attempt: TakenAttempt }
  readonly Broadcast: { readonly ordinals: Arr.NonEmptyReadonlyArray<number> }
  /** The state stays; the code says what it waits for. */
  readonly Hold: { readonly cause: SolanaCause; readonly scope: "transaction" | "relayer" | "lane" }
  readonly Mine: {
    readonly mined: SolanaMined
    readonly state: "mined" | "submitted"
    readonly cause: SolanaCause
  }
  /** No provider shows the signature any more. The state is `submitted` again. */
  readonly Unmine: { readonly cause: SolanaCause }
  readonly Finish: {
    readonly state: FinalState
    readonly cause: SolanaCause
    readonly mined?: SolanaMined
    /** One provider decided alone, because no other had an opinion. */
    readonly confirmedBy?: 1
  }
  /**
   * `prepare`: what a signature needs. `proof`: the questions that a proof needs, of each provider. `life`: until when bytes can
   * land that only the caller knows.
   */
  readonly Ask: { readonly question: "prepare" | "proof" | "life" }
  readonly PollAt: { readonly at: Moment }
  readonly Rest: {}
}>

export const Command = Data.taggedEnum<SolanaCommand>()
export type Commands = Arr.NonEmptyReadonlyArray<SolanaCommand>

/** Undefined: the row does not hold. */
export type Row<V = SolanaSeen | SolanaUnreachable> = (situation: SolanaSituation<V>) => Commands | undefined

/** The commands of the first row that holds, else those of `otherwise`. */
export const firstOf =
  <V>(rows: ReadonlyArray<Row<V>>, otherwise: (situation: SolanaSituation<V>) => Commands) =>
  (situation: SolanaSituation<V>): Commands => {
    for (const row of rows) {
      const commands = row(situation)
      if (commands !== undefined) return commands
    }
    return otherwise(situation)
  }

type Waiting = Pick<SolanaSituation, "transaction" | "now">

/** For a pending transaction not after its own moments. */
const nextPoll = ({ transaction, now }: Waiting): Moment => {
  const next = now + pollAfter
  if (transaction.state !== "pending") return next
  const moments = [transaction.validUntil, transaction.notBefore].filter((at) => at !== undefined && at > now)
  return Math.min(next, ...moments.filter((at) => at !== undefined))
}

export const pollNext = (situation: Waiting): SolanaCommand => Command.PollAt({ at: nextPoll(situation) })

/** The state stays, with a code, until the next poll. */
export const hold = (
  situation: Waiting,
  code: SolanaCause["code"],
  figures: SolanaCause["figures"] = {},
  scope: "transaction" | "relayer" | "lane" = "transaction"
): Commands => [Command.Hold({ cause: cause(code, figures), scope }), pollNext(situation)]

/** It waits for an operator's answer: the ledger may have forgotten what became of it. */
export const holdRestored = (situation: Waiting & Pick<SolanaSituation, "lane">): Commands => {
  const { restore } = situation.lane
  const slot = restore?.slot === undefined ? {} : { slot: restore.slot }
  return hold(situation, "restored_unproven", restore === undefined ? {} : { bound: restore.bound, ...slot })
}

/** The same until a moment, and no longer than until the deadline. */
export const holdUntil = (
  { transaction, now }: Waiting,
  code: SolanaCause["code"],
  until: Moment,
  scope: "transaction" | "relayer" | "lane",
  figures: SolanaCause["figures"] = {}
): Commands => [
  Command.Hold({ cause: cause(code, { ...figures, until }), scope }),
  Command.PollAt({ at: transaction.validUntil > now ? Math.min(until, transaction.validUntil) : until })
]
