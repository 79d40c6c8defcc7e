// What the holder of a lane remembers from poll to poll, and loses with the lane. Correctness does not depend on it: it
// makes polls cheaper, and records how long a condition has lasted.
import type { Claim } from "../../domain/transaction/Floor.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { SignerRetry } from "../../domain/transaction/Lane.ts"
import type { EvmProviders } from "../chains/evm/EvmProviders.ts"
import type { ChainPoll } from "./ChainPoll.ts"

export interface LaneMemory {
  /** A count that was not believed yet. */
  claim: Claim | undefined
  /** Transactions of the account that polls have proven to be in final blocks. */
  finalCount: number
  /** The balance when it was last read. Undefined: it was not read yet. */
  balance: { readonly wei: bigint; readonly readAt: Moment } | undefined
  /** Polls in a row in which a node did not have the bytes, by hash. */
  readonly absences: Map<string, number>
  /** Code of the account itself. Undefined: not asked yet. */
  accountCode: string | undefined
  /** The new window, if it has changed since the last poll. */
  window: number | undefined
  lastSignedAt: Moment | undefined
  /** Wei that a rollup charged besides gas, according to the receipt that was read last. */
  lastRollupFee: bigint | undefined
  /** Since when nothing is in flight. */
  quietSince: Moment | undefined
  signerRetry: SignerRetry | undefined
  /** How often the signer has failed in a row. */
  signerFailures: number
  /** Relayers that the lane could not use when they were last loaded. */
  unusable: ReadonlySet<RelayerId>
  /** By genesis hash and `LaneRelayer.urlsKey`. */
  readonly providers: Map<string, EvmProviders>
  /** The newest poll, by `LaneRelayer.urlsKey`. */
  polls: ReadonlyMap<string, ChainPoll>
  polledAt: Moment | undefined
  nextPollAt: Moment
  /** Transactions that got a nonce since the lane was claimed. */
  signed: number
}

export const make = (): LaneMemory => ({
  claim: undefined,
  finalCount: 0,
  balance: undefined,
  absences: new Map(),
  accountCode: undefined,
  window: undefined,
  lastSignedAt: undefined,
  lastRollupFee: undefined,
  quietSince: undefined,
  signerRetry: undefined,
  signerFailures: 0,
  unusable: new Set(),
  providers: new Map(),
  polls: new Map(),
  polledAt: undefined,
  nextPollAt: 0,
  signed: 0
})
