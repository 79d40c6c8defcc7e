// The entries of the ledger: transactions, signatures and lanes, as they are handed in, stored and held.
import { Context, Layer, Schema } from "effect"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Cause, Code } from "../../networks/core/Cause.ts"
import type { Family } from "../../networks/core/Family.ts"
import type { Command, Heard, LaneKey, NextRow, Rules } from "../../networks/core/Rules.ts"
import type { Attempt, Lane, Route, Transaction } from "../../networks/core/Transaction.ts"
import type { ReadRow } from "../../sql/Rows.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import { rulesOfUnknown } from "../../networks/core/UnknownNetwork.ts"

// A lane as the ledger stores it.

export const LaneId = Schema.Int.pipe(Schema.brand("LaneId"))
export type LaneId = typeof LaneId.Type

/** Time after which another process may claim a lane that was not renewed: longer than the longest call of a provider. */
export const defaultLease = "30 seconds"

/** Proof that this process held the lane when it was claimed. Each commit checks that no other claim came after it. */
export interface Hold {
  readonly laneId: LaneId
  readonly epoch: number
}

/** The PostgreSQL channel on which instances notify holders of lanes that a caller has canceled or replaced something. */
export const commandsChannel = "effect_relayer_commands"

export interface StoredLane<F extends Family = Family> {
  readonly id: LaneId
  readonly chain: string
  readonly lane: Lane<F>
  /** Hash of block 0. Absent: not seen in this generation. */
  readonly genesis?: string
  /** An operator said that the chain's count is right, however far it is ahead. */
  readonly trustsCount: boolean
  /** What keeps the whole lane from giving away places. */
  readonly code?: Code
  readonly codeSince?: Moment
  readonly nextPollAt: Moment
  /** What signatures that were given can take from the balance while they can land, in the smallest unit. Absent: none can. */
  readonly givenCost?: bigint
  /** When the database was started. Absent: not known. */
  readonly databaseStartedAt?: Moment
  /** Whether a process holds it at present. */
  readonly isHeld: boolean
}

/** Whether a lane belongs to a network type, so that its shapes are those of the family. */
export const isLaneOf = <F extends Family>(
  { type }: Pick<Rules<F>, "type">,
  stored: StoredLane
): stored is StoredLane<F> => stored.chain.startsWith(`${type}:`)

export interface LaneCounts {
  /** Open transactions without a place. */
  readonly pending: number
  /** Open transactions with a place. */
  readonly inFlight: number
  /** The lowest sequence of an open transaction. */
  readonly oldestSequence?: bigint
}

/** What the holder of a lane stores after a poll. */
export interface LaneState {
  readonly chain: string
  /** As the step read it: nothing is saved if its counters or its next poll are others by now. */
  readonly read: Pick<StoredLane, "lane" | "nextPollAt">
  readonly lane: Lane
  readonly genesis?: string
  /** Accounts that the lane gives up. Those with an open transaction stay. Absent: none. */
  readonly released?: ReadonlyArray<string>
  /** The operator's word about the count is used up. One that was given meanwhile stays. */
  readonly usedTrust: boolean
  /** Absent: nothing stops the lane. */
  readonly code?: Code
  readonly nextPollAt: Moment
}

export interface StoredTransaction<F extends Family = Family> {
  readonly id: TransactionId
  /** The version of the row, which each change increments. */
  readonly version: number
  readonly laneId: LaneId
  readonly relayerId: RelayerId
  /** The chain of its lane, such as `evm:8453`. */
  readonly chain: string
  /** The first account of its lane, in the canonical form of the network. */
  readonly from: string
  readonly externalId?: string
  readonly apiKeyId?: string
  /** The request that it was accepted by. */
  readonly requestId?: string
  /** `traceparent` of the request that it was accepted by. */
  readonly trace?: string
  readonly confirmedAt?: Moment
  /** What it can cost, or has cost, in the smallest unit of the chain. Absent: its API key has no limit of fees. */
  readonly fee?: bigint
  readonly transaction: Transaction<F>
}

/** Whether a transaction belongs to a network type, so that its shapes are those of the family. */
export const isTransactionOf = <F extends Family>(
  { type }: Pick<Rules<F>, "type">,
  stored: StoredTransaction
): stored is StoredTransaction<F> => stored.chain.startsWith(`${type}:`)

/** Signed bytes of one attempt. */
export interface AttemptBytes {
  readonly id: TransactionId
  readonly ordinal: number
  readonly raw: Uint8Array
}

// A transaction that the ledger is to accept.

/** Rows as they were read. What was decided by them counts only if none of them is another by now. */
export interface RememberedTerms {
  /** The state of the row of the relayer (`rowState`). */
  readonly relayer: string
  /** The row of its network, and of each network that this one inherits from. */
  readonly networks: ReadonlyArray<ReadRow>
}

/** A relayer that was read, with its network, and the rows that they were read from. */
export interface ReadRelayer {
  readonly id: RelayerId
  readonly terms: RememberedTerms
}

/** Remembered terms are not the present ones, or cannot be compared for this transaction: decide by fresh ones. */
export class TermsForgotten extends Schema.TaggedError<TermsForgotten>()("TermsForgotten", {}) {}

/** The relayer that sends, and its lane. */
export interface Account extends LaneKey {
  readonly relayerId: RelayerId
  /** `StoredRelayer.number`. */
  readonly relayerNumber: number
  /** Which receives its events, when it was read. Absent: none does. */
  readonly notificationId?: string
  /** Its terms, if they were read for an earlier request. Absent: they were read for this one. */
  readonly terms?: RememberedTerms
  /** Transactions in flight that a new lane begins with. */
  readonly window: number
}

export interface NewTransaction {
  readonly id: TransactionId
  readonly request: unknown
  readonly facts: unknown
  /** As `Rules.identityOf` says. */
  readonly identity?: string
  /** As `Rules.exclusiveOf` says. */
  readonly exclusive?: string
  /** As `Rules.authoritiesOf` says. Absent: none. */
  readonly authorities?: ReadonlyArray<string>
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly requiredSequence?: bigint
  readonly priority: number
  /** Absent: it is public. */
  readonly route?: Route
  readonly externalId?: string
  /** Canonical text of the body: a repeated `external_id` has to come with the same one. */
  readonly body: string
  /** Wei that its fees can cost. Absent: the API key has no limit of fees. */
  readonly fee?: bigint
}

/** Has what another transaction may have, too. The rest is inserted faster without a look for conflicts. */
export const canConflict = ({
  externalId,
  identity,
  exclusive,
  authorities
}: Pick<NewTransaction, "externalId" | "identity" | "exclusive" | "authorities">): boolean =>
  externalId !== undefined || identity !== undefined || exclusive !== undefined || authorities !== undefined

/** Identifies a body, so that its repeats are recognized. */
export interface NamedBody extends Pick<NewTransaction, "body" | "externalId" | "identity"> {}

/** A limit of the fees in 24 hours of an API key and its descendants on networks of a type, in their smallest unit. */
export interface FeeLimit {
  readonly keyId: string
  readonly networkType: string
  readonly maximum: bigint
}

export interface Accepted {
  readonly stored: StoredTransaction
  /** False: its `external_id` was accepted before, with the same body. */
  readonly isNew: boolean
}

// Signed bytes that a caller gets and the service does not send: the caller, or anybody else, can send them while they are valid.

export interface GivenSignature {
  /** As `Rules.identityOf` says of the same bytes as a transaction. */
  readonly identity?: string
  readonly hash: string
  readonly raw: Uint8Array
  /** The most that it can cost in fees, in the smallest unit of the chain. */
  readonly fee: bigint
  /**
   * The last moment, or the last height, at which a block can contain it. The network adds what clocks and blocks can differ by.
   * The height is counted as `LaneAccount.chainBlock` is.
   */
  readonly end: { readonly validUntil: Moment } | { readonly lastHeight: number }
  /** What its operations take from the balance besides the fee, in the smallest unit. Absent: nothing. */
  readonly outflow?: bigint
  /** The sequence that it uses. Absent: no transaction of the lane has to wait for it. */
  readonly sequence?: bigint
  /** What an attempt with these bytes would have as its offer: a shape of the network. Absent: a transaction never takes the bytes over. */
  readonly offer?: unknown
}

/** A sequence of the lane's own account that a signature can use until a moment. */
export interface GivenPlace {
  readonly hash: string
  readonly sequence: bigint
  readonly validUntil: Moment
}

/** What the caller gets. */
export interface IssuedSignature {
  readonly hash: string
  readonly raw: Uint8Array
  /** False: the same bytes were given to a caller of the relayer before. */
  readonly isNew: boolean
}

// A lane that this process holds: what it reads of it, and what it writes.

/** Another process has claimed the lane, an operator has begun a new generation, or the lease has passed. */
export class LaneLost extends Schema.TaggedError<LaneLost>()("LaneLost", { laneId: Schema.Int }) {}

/**
 * A caller or an operator changed a transaction meanwhile, another lane used the fees that an API key had left, or the lane is not as it
 * was read. Nothing was written: read the lane again.
 */
export class LaneChanged extends Schema.TaggedError<LaneChanged>()("LaneChanged", { laneId: Schema.Int }) {}

export interface HeldLane {
  readonly hold: Hold
  readonly stored: StoredLane
}

export interface LaneContents {
  readonly stored: StoredLane
  /** All transactions that have a place and are not final, by sequence. */
  readonly inFlight: ReadonlyArray<StoredTransaction>
  /** Those that could get the next places, or whose code could change: at most `pendingLimit` of each relayer and kind. */
  readonly pending: ReadonlyArray<StoredTransaction>
  readonly pendingCount: number
  /** The earliest deadline or beginning of a pending transaction. Absent: there is none. */
  readonly nextMoment?: Moment
  /** Those of the given relayers whose rows, and those of their networks, are as they were read. Absent: they were not compared. */
  readonly asRead?: ReadonlySet<RelayerId>
}

/** A signature of a pending transaction, or of one that keeps its place. */
export interface Signature {
  readonly stored: StoredTransaction
  /** With its place and the generation of the lane. */
  readonly attempt: Attempt
  readonly raw: Uint8Array
  readonly cause: Cause
  /** The limits of fees that its API key has to keep. Absent: none. */
  readonly feeLimits?: ReadonlyArray<FeeLimit>
  /** The row that explains the sequence after its own, which its bytes use, too. Absent: they use one. */
  readonly next?: NextRow & { readonly id: TransactionId }
}

/** A no-op for a sequence that nothing uses. */
export interface GapSignature {
  readonly id: TransactionId
  readonly request: unknown
  readonly attempt: Attempt
  readonly raw: Uint8Array
  readonly cause: Cause
}

export interface SentAttempt {
  readonly id: TransactionId
  readonly sent: Heard
}

export interface Decided {
  readonly stored: StoredTransaction
  readonly command: Command
}

/** How a lane is given back. `idle`: only if nothing of it is open. `next`: others wait. `draining`: the process stops. */
export type ReleaseReason = "idle" | "next" | "draining"

/** What callers have left for a lane. */
export interface LaneNews {
  /** The highest number of a pending transaction. 0: none is pending. */
  readonly newest: number
  /** Transactions in flight that callers have canceled or replaced, with a text that changes with each command. */
  readonly commands: ReadonlySet<string>
}

// The rules of the networks whose transactions the ledger stores. A row finds its rules by the chain of its lane.

/** Schemas are compiled once per network, not for each row. */
const codecOf = <A>(codec: Schema.Codec<A, unknown>) => {
  const encode = Schema.encodeUnknownSync(codec)
  return {
    decode: Schema.decodeUnknownSync(codec),
    /** JSON text of a value. */
    text: (value: A): string => JSON.stringify(encode(value))
  }
}

const networkOf = (rules: Rules) => ({
  rules,
  request: codecOf(rules.request),
  facts: codecOf(rules.facts),
  offer: codecOf(rules.offer),
  refusal: codecOf(rules.refusal),
  counters: codecOf(rules.counters),
  receipt: codecOf(rules.receipt),
  shown: codecOf(rules.shown)
})

/** The rules of a network, and how its shapes are stored. */
export type LedgerNetwork = ReturnType<typeof networkOf>

export class LedgerRules extends Context.Service<
  LedgerRules,
  {
    /**
     * By the chain of a lane, such as `evm:8453`. A newer version of the service may have stored rows of a network that this
     * one does not know: they are shown, and nothing is decided about them.
     */
    of(chain: string): LedgerNetwork
  }
>()("effect-relayer/server/ledger/LedgerEntries/LedgerRules") {
  static readonly layer = (...known: ReadonlyArray<Rules>) =>
    Layer.sync(LedgerRules, () => {
      const networks = new Map(known.map((rules) => [rules.type, networkOf(rules)]))
      return LedgerRules.of({
        of: (chain) => {
          const type = chain.split(":", 1)[0] ?? chain
          const found = networks.get(type) ?? networkOf(rulesOfUnknown(type))
          networks.set(type, found)
          return found
        }
      })
    })
}
