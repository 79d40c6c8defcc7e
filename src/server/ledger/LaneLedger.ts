// The ledger for the holder of a lane. Every write checks that the process still holds the lane; a lost lane writes nothing.
import { Context, Schema } from "effect"
import type { Array as Arr, Effect } from "effect"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Command } from "../../domain/transaction/Command.ts"
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Sent } from "../../domain/transaction/Sending.ts"
import type { Effect as ChainEffect } from "../../domain/transaction/Taker.ts"
import type { Hold, LaneId, LaneState, StoredLane } from "./StoredLane.ts"
import type { Bytes, StoredTransaction } from "./StoredTransaction.ts"

/** Another process has claimed the lane, an operator has begun a new generation, or the lease has passed. */
export class LaneLost extends Schema.TaggedError<LaneLost>()("LaneLost", { laneId: Schema.Int }) {}

/** A caller or an operator changed a transaction meanwhile. Nothing was written: read the lane again. */
export class LaneChanged extends Schema.TaggedError<LaneChanged>()("LaneChanged", { laneId: Schema.Int }) {}

export interface HeldLane {
  readonly hold: Hold
  readonly stored: StoredLane
}

export interface LaneContents {
  readonly stored: StoredLane
  /** All transactions that have a nonce and are not final, by nonce. */
  readonly inFlight: ReadonlyArray<StoredTransaction>
  /** Those that could get the next nonces, or whose code could change: at most `pendingLimit` of each relayer and kind. */
  readonly pending: ReadonlyArray<StoredTransaction>
  readonly pendingCount: number
  /** The earliest deadline or beginning of a pending transaction. Absent: there is none. */
  readonly nextMoment?: Moment
}

/** A signature of a pending transaction, or of one that keeps its nonce. */
export interface Signature {
  readonly stored: StoredTransaction
  /** With the nonce and the generation of the lane. */
  readonly attempt: Attempt
  readonly raw: Uint8Array
  readonly cause: Cause
}

/** A no-op for a nonce that nothing uses. */
export interface GapSignature {
  readonly id: TransactionId
  readonly attempt: Attempt
  readonly raw: Uint8Array
  readonly cause: Cause
}

export interface SentAttempt {
  readonly id: TransactionId
  readonly sent: Sent
}

export interface Decided {
  readonly stored: StoredTransaction
  readonly command: Command
}

/** How a lane is given back. `idle`: only if nothing of it is open. `next`: others wait. `draining`: the process stops. */
export type ReleaseReason = "idle" | "next" | "draining"

export class LaneLedger extends Context.Service<
  LaneLedger,
  {
    /** Claims free lanes with open transactions, those whose look is due the longest first. `among`: only these lanes. */
    claim(limit: number, among?: ReadonlyArray<LaneId>): Effect.Effect<ReadonlyArray<HeldLane>>
    /** Extends the lease. Returns the lanes that are still held. */
    renew(holds: ReadonlyArray<Hold>): Effect.Effect<ReadonlyArray<Hold>>
    /** False if an idle lane has an open transaction: it is still held. True if it is not held any more. */
    release(hold: Hold, reason: ReleaseReason): Effect.Effect<boolean>
    /** Whether lanes that no living process holds have open transactions. */
    readonly hasWork: Effect.Effect<boolean>
    /** The highest number of a pending transaction, by lane. Lanes without pending transactions are left out. */
    newestPending(lanes: ReadonlyArray<LaneId>): Effect.Effect<ReadonlyMap<LaneId, number>>

    /** Rows that did not change since the last read are not read again. */
    read(hold: Hold): Effect.Effect<LaneContents, LaneLost>
    bytes(
      attempts: ReadonlyArray<{ readonly id: TransactionId; readonly ordinal: number }>
    ): Effect.Effect<ReadonlyArray<Bytes>>
    /** Nonces of all transactions of the lane's generation from `from` on, final ones included. */
    committedFrom(hold: Hold, from: number): Effect.Effect<ReadonlyArray<number>>
    /** Final transactions of the lane's generation with a nonce from `from` on, for a reorganisation that is too deep. */
    finalFrom(hold: Hold, from: number): Effect.Effect<ReadonlyArray<StoredTransaction>>

    /**
     * Commits nonces and bytes together. Attempts of pending transactions have the nonces from `nextNonce` of the lane on, in
     * this order. Broadcast after it, and only what it returns.
     */
    commitSignatures(
      hold: Hold,
      signatures: Arr.NonEmptyReadonlyArray<Signature>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost | LaneChanged>
    /** `owner`: its relayer is shown for the gaps. */
    commitGaps(
      hold: Hold,
      owner: StoredTransaction,
      gaps: Arr.NonEmptyReadonlyArray<GapSignature>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost | LaneChanged>
    /** Records what nodes answered, also if the transaction was changed meanwhile. */
    recordSends(
      hold: Hold,
      sends: Arr.NonEmptyReadonlyArray<SentAttempt>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /**
     * Applies commands that change the ledger. A transaction that was changed meanwhile is left as it is, and decided again at
     * the next look. Returns the new states.
     */
    apply(
      hold: Hold,
      decided: Arr.NonEmptyReadonlyArray<Decided>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /** Ends pending transactions of the lane whose deadline has passed. */
    expire(hold: Hold): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    saveLane(hold: Hold, state: LaneState): Effect.Effect<StoredLane, LaneLost>
    /**
     * A transaction of the account that is in no attempt was found: marks the open requests that it could be. `effect`: absent
     * if it could not be fetched. Returns those that were marked.
     */
    markRestored(hold: Hold, effect: ChainEffect | undefined): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /** Reports that a reorganisation opened the nonces of final transactions again. */
    reportReorgedFinal(hold: Hold, transactions: ReadonlyArray<StoredTransaction>): Effect.Effect<void, LaneLost>
  }
>()("effect-relayer/server/ledger/LaneLedger") {}
