// A lane as the ledger stores it.
import { Schema } from "effect"
import type { Code } from "../../domain/transaction/Code.ts"
import type { Family } from "../../domain/transaction/Family.ts"
import type { Lane } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"

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
