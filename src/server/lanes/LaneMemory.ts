// What the holder of a lane remembers from step to step, and loses with the lane. Correctness does not depend on it: it makes
// polls cheaper, and records how long a condition has lasted. What only one network remembers is in its own `LaneChain`.
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { SignerRetry } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Poll } from "./LaneNetwork.ts"

export interface LaneMemory {
  /** The new window, if it has changed since the last poll. */
  window: number | undefined
  lastSignedAt: Moment | undefined
  /** Since when nothing is in flight. */
  quietSince: Moment | undefined
  signerRetry: SignerRetry | undefined
  /** How often the signer has failed in a row. */
  signerFailures: number
  /** Relayers that the lane could not use when they were last loaded. */
  unusable: ReadonlySet<RelayerId>
  /** The newest one. */
  poll: Poll | undefined
  polledAt: Moment | undefined
  nextPollAt: Moment
  /** Transactions that got a place since the lane was claimed. */
  signed: number
}

export const make = (): LaneMemory => ({
  window: undefined,
  lastSignedAt: undefined,
  quietSince: undefined,
  signerRetry: undefined,
  signerFailures: 0,
  unusable: new Set(),
  poll: undefined,
  polledAt: undefined,
  nextPollAt: 0,
  signed: 0
})
