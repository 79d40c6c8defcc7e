// The results of a run of the benchmark of transactions.
import { Struct } from "effect"
import type { Machine } from "../harness/Machine.ts"
import { median } from "../harness/Statistics.ts"
import type { Measured } from "./Sending.ts"

/** What a case does not measure is absent. */
export interface Figures {
  readonly acceptedPerSecond?: number
  readonly onChainPerSecond?: number
  readonly perSecond?: number
  readonly perBlock?: number
  /** Milliseconds. */
  readonly toBroadcast?: number
  readonly toEvent?: number
  readonly lastToEvent?: number
  readonly toReplace?: number
  readonly toCancel?: number
  /** Figures per transaction. */
  readonly calls?: number
  readonly statements?: number
  readonly alone?: number
  readonly serverMs?: number
  readonly postgresMs?: number
  readonly inserted?: number
  readonly updated?: number
  readonly walBytes?: number
  /** The share whose first bytes are on the chain, although nodes drop a part of what they are sent. */
  readonly landed?: number
  /** Milliseconds of processor time for a signature. */
  readonly signMs?: number
}

/** A case, with medians over the rounds. */
export interface Row extends Figures {
  readonly case: string
  /** Final transactions that are stored. */
  readonly stored: number
}

export interface Acceptance {
  readonly stored: number
  /** Per second, while nothing is sent. */
  readonly accepted: number
  readonly created: number
  /** Milliseconds of the slowest change of a relayer, and of its network, while as much as possible is accepted. */
  readonly changedRelayer: number
  readonly changedNetwork: number
}

export interface Results {
  readonly machine: Machine
  /** Load average of the machine before and at the end of the run. */
  readonly loadBefore: number
  readonly loadAfter: number
  readonly minutes: number
  readonly rounds: number
  readonly acceptances: ReadonlyArray<Acceptance>
  readonly rows: ReadonlyArray<Row>
  /** Those of an earlier checkout, in the same run in turn. Absent: there was none. */
  readonly before?: { readonly acceptances: ReadonlyArray<Acceptance>; readonly rows: ReadonlyArray<Row> }
  /** Milliseconds from the request of the first transaction of a process until a node has it. */
  readonly firstOfProcess: number
  /** Calls about relayers without open transactions, in some seconds. */
  readonly idleCalls: number
}

export const fields = [
  "acceptedPerSecond",
  "onChainPerSecond",
  "perSecond",
  "perBlock",
  "toBroadcast",
  "toEvent",
  "lastToEvent",
  "toReplace",
  "toCancel",
  "calls",
  "statements",
  "alone",
  "serverMs",
  "postgresMs",
  "inserted",
  "updated",
  "walBytes",
  "landed",
  "signMs"
] as const satisfies ReadonlyArray<keyof Figures>

export const figuresOf = ({ usage, ...rest }: Measured): Figures => ({ ...rest, ...usage })

/** Figures of a case with a fixed rate. */
export const withoutRates = (measured: Measured): Figures => ({
  ...measured.usage,
  ...Struct.pick(measured, ["toBroadcast", "toEvent", "lastToEvent"])
})

/** Costs per transaction mean nothing for a few transactions over many seconds: most of them are the idle work of the processes. */
export const latencies = ({ usage, ...rest }: Measured): Figures => ({
  calls: usage.calls,
  ...Struct.pick(rest, ["toBroadcast", "toEvent"])
})

export const summary = (name: string, stored: number, rounds: ReadonlyArray<Figures>): Row => {
  const known = fields.flatMap((field) => {
    const values = rounds.flatMap((round) => round[field] ?? [])
    return values.length === 0 ? [] : [[field, median(values)] as const]
  })
  return { case: name, stored, ...Object.fromEntries(known) }
}
