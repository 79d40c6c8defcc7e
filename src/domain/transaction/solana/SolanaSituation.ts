// One decision about a transaction of solana: the transaction, its lane, what was seen of the chain, and the time; and what
// the state machine tells the driver to do.
import { Data } from "effect"
import type { Array as Arr } from "effect"
import type { FinalState, Intent, KeyHold, State } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import type { KnownSignature, Landing, Look, AttemptToProve } from "./Look.ts"
import type { Preparation, SolanaOffer } from "./Preparation.ts"
import { pollAfter } from "./SolanaNumbers.ts"
import { cause } from "./SolanaCode.ts"
import type { SolanaCause } from "./SolanaCode.ts"

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
export type Taken = Omit<SolanaAttempt, "ordinal">

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
  readonly given?: Taken
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
  readonly found?: Taken
  /** The bytes of a signature that the ledger has forgotten. `unavailable`: nobody says until when they can land. */
  readonly forgotten?: Taken | "unavailable"
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
  readonly Adopt: { readonly attempt: Taken }
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
