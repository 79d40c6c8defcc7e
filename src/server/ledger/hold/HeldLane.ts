// A lane that this process holds: what it reads of it, and what it writes.
import { Schema } from "effect"
import type { Attempt } from "../../../domain/transaction/Attempt.ts"
import type { Cause } from "../../../domain/transaction/Cause.ts"
import type { Command } from "../../../domain/transaction/Command.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { Heard } from "../../../domain/transaction/Rules.ts"
import type { FeeLimit } from "../NewTransaction.ts"
import type { Hold, StoredLane } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

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
