// What the validators of a network have voted and decides about envelopes: reserve, fee, close time and limits of calls.
import type { Moment } from "../TransactionValues.ts"
import { baseFee, baseReserve, ledgerTime, lateLedgers } from "./StellarNumbers.ts"

/** What one transaction may declare for a call at most. */
export interface CallLimits {
  readonly instructions: number
  readonly diskReadBytes: number
  readonly writeBytes: number
}

export interface LedgerSettings {
  /** Stroops that an account locks per entry (`LedgerHeader.baseReserve`). */
  readonly baseReserve: bigint
  /** Stroops per operation at least (`LedgerHeader.baseFee`). */
  readonly baseFee: bigint
  /** Milliseconds between two ledgers that validators aim at (`ConfigSettingSCPTiming`). Absent: not read. */
  readonly closeTime?: number
  /** Absent: not read. */
  readonly limits?: CallLimits
  /** Calls of contracts in one ledger at most, where a fee bump counts as two. Absent: not read. */
  readonly callsPerLedger?: number
}

/** Those of the public network, which count as long as no provider says others. */
export const publicSettings: LedgerSettings = { baseReserve, baseFee }

/** Milliseconds between two ledgers. */
export const ledgerTimeOf = ({ closeTime = ledgerTime }: LedgerSettings): number => closeTime

/** What is known of the present time of the network. Seconds, except for `closeTime` in unix seconds. */
export interface LedgerClock {
  /** The close time of the newest ledger. */
  readonly closeTime: number
  /** Since it was seen. The clocks of a node and of the service may differ, so only this difference counts. */
  readonly quiet: number
  /** How long before `maxTime` a node refuses an envelope. */
  readonly slack: number
}

const secondsIn = (milliseconds: number): number => milliseconds / 1000

/** `newestSince`: when the newest ledger was seen. */
export const ledgerClock = (
  closeTime: number,
  { newestSince, settings = publicSettings }: { readonly newestSince: Moment; readonly settings?: LedgerSettings },
  now: Moment
): LedgerClock => ({
  closeTime,
  quiet: Math.max(0, Math.floor(secondsIn(now - newestSince))),
  slack: Math.ceil(secondsIn(lateLedgers * ledgerTimeOf(settings)))
})

/** The units that a call declares: with the margin, but no more than the network takes of one transaction. */
export const withinLimit = (units: number, withMargin: number, limit: number | undefined): number =>
  limit === undefined ? withMargin : Math.max(units, Math.min(withMargin, limit))

/** Ledger transactions that a call counts as if another account than its source pays for it. */
const callsOfBump = 2

/** Why such a call waits in the queue for ever. */
export const noRoomForPaidCalls =
  "a ledger of this network takes one call, and a call for which another account than its source pays counts as two"

/** Whether a ledger can contain a call that another account than its source pays for. */
export const takesPaidCalls = ({ callsPerLedger = callsOfBump }: LedgerSettings): boolean =>
  callsPerLedger >= callsOfBump
