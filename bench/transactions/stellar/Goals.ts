// The goals on the stand-in ledger. Rates are ratios within one run, or transactions per ledger.
import { judge } from "../../harness/Goals.ts"
import type { Goal } from "../../harness/Goals.ts"
import * as Goals from "../Goals.ts"
import { ratio, rowOf } from "../Goals.ts"
import type { Figures, Results } from "../Results.ts"
import { full } from "./Scale.ts"

export const contender = "raw sender"

/** Channels of the two relayers together. */
const allOfMany = 2 * full.many

export const judged = (results: Results): ReadonlyArray<Goal> => {
  const row = (name: string) => rowOf(results, name)
  const seconds = (name: string, field: keyof Figures) => ratio(row(name)?.[field], 1000)
  const perLedger = (name: string, lanes: number) => ratio(row(name)?.perBlock, lanes)
  const calls = (name: string, most: number) =>
    judge(`RPC calls per transaction, ${name}`, row(name)?.calls, "at most", most, "calls")
  return [
    ...Goals.acceptance(results),
    ...judge("one account, transactions per ledger", perLedger("one account", 1), "at least", 0.95, ""),
    ...judge(`few channels, to ${full.few} per ledger`, perLedger("few channels", full.few), "at least", 0.9),
    ...judge(
      `many channels of two relayers, to ${allOfMany} per ledger`,
      perLedger("many channels of two relayers", allOfMany),
      "at least",
      0.85
    ),
    ...judge(
      "fee bumps, end to end, to raw sender",
      ratio(row("fee bumps")?.perSecond, row(contender)?.perSecond),
      "at least",
      0.3
    ),
    ...judge("request to broadcast when idle, median", row("single")?.toBroadcast, "at most", 50, "ms", 0),
    ...judge("ledger to event, one account, median", seconds("one account", "toEvent"), "at most", 0.3, "s"),
    ...judge("ledger to event, few channels, median", seconds("few channels", "toEvent"), "at most", 0.3, "s"),
    ...judge("last event after its ledger, 2,000 in flight", seconds("drain", "lastToEvent"), "at most", 2, "s"),
    ...calls("few channels", 3),
    ...calls("calls by few channels", 4),
    ...Goals.idle(results),
    ...Goals.withHistory(results, contender)
  ]
}
