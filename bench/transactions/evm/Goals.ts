// The goals on anvil. Rates are ratios within one run.
import { judge } from "../../harness/Goals.ts"
import type { Goal } from "../../harness/Goals.ts"
import * as Goals from "../Goals.ts"
import { ratio, rowOf } from "../Goals.ts"
import type { Figures, Results } from "../Results.ts"
import { blockTime } from "./World.ts"

/** Statements per transaction at an even rate, without `BEGIN` and `COMMIT`. */
const statementsAtMost = { inOneLane: 3, inTwentyLanes: 4.5 } as const

/** Statements per transaction that write for one lane: one per cent of the three writes of a transaction. */
const aloneAtMost = 0.03

/** Milliseconds in which a command about a transaction in flight reaches a node. */
const commandLimit = 250

export const judged = (results: Results): ReadonlyArray<Goal> => {
  const row = (name: string) => rowOf(results, name)
  /** A rate relative to the blast's from its first request until its last transaction is confirmed. */
  const toBlast = (name: string, field: Goals.Rate) => ratio(row(name)?.[field], row("blast")?.perSecond)
  const seconds = (name: string, field: keyof Figures) => ratio(row(name)?.[field], 1000)

  return [
    ...Goals.acceptance(results),
    ...judge(
      "accepted while all is sent, one lane, to blast",
      toBlast("one lane", "acceptedPerSecond"),
      "at least",
      0.35
    ),
    ...judge(
      "accepted while all is sent, twenty lanes, to blast",
      toBlast("twenty lanes", "acceptedPerSecond"),
      "at least",
      0.35
    ),
    ...judge("one lane, end to end, to blast", toBlast("one lane", "perSecond"), "at least", 0.3),
    ...judge("twenty lanes, end to end, to blast", toBlast("twenty lanes", "perSecond"), "at least", 0.3),
    ...judge("last event after its block, one lane", seconds("one lane", "lastToEvent"), "at most", 2, "s"),
    ...judge("last event after its block, twenty lanes", seconds("twenty lanes", "lastToEvent"), "at most", 2, "s"),
    ...judge("last event after its block, 2,000 in one block", seconds("drain", "lastToEvent"), "at most", 2, "s"),
    ...judge("block to event, single, median", seconds("single", "toEvent"), "at most", 1.2 * blockTime + 0.3, "s"),
    ...judge(
      "block to event at 50/s, median",
      seconds("50/s in one lane", "toEvent"),
      "at most",
      1.2 * blockTime + 0.3,
      "s"
    ),
    ...judge("request to broadcast when idle, median", row("single")?.toBroadcast, "at most", 50, "ms", 0),
    ...judge("PUT to a node when idle, median", row("commands")?.toReplace, "at most", commandLimit, "ms", 0),
    ...judge("DELETE to a node when idle, median", row("commands")?.toCancel, "at most", commandLimit, "ms", 0),
    ...judge("PUT to a node at 50/s, median", row("commands at 50/s")?.toReplace, "at most", commandLimit, "ms", 0),
    ...judge("DELETE to a node at 50/s, median", row("commands at 50/s")?.toCancel, "at most", commandLimit, "ms", 0),
    ...judge("RPC calls per transaction at 50/s in one lane", row("50/s in one lane")?.calls, "at most", 3, "calls"),
    ...judge(
      "RPC calls per transaction at 50/s in twenty lanes",
      row("50/s in twenty lanes")?.calls,
      "at most",
      3,
      "calls"
    ),
    ...judge(
      "statements per transaction at 50/s in one lane",
      row("50/s in one lane")?.statements,
      "at most",
      statementsAtMost.inOneLane,
      "statements"
    ),
    ...judge(
      "statements per transaction at 50/s in twenty lanes",
      row("50/s in twenty lanes")?.statements,
      "at most",
      statementsAtMost.inTwentyLanes,
      "statements"
    ),
    ...judge(
      "statements per transaction at 50/s in twenty lanes that write for one lane",
      row("50/s in twenty lanes")?.alone,
      "at most",
      aloneAtMost,
      "statements",
      3
    ),
    ...Goals.idle(results),
    ...Goals.withHistory(results, "blast")
  ]
}
