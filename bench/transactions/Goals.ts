// The goals of the benchmark of transactions. Rates are ratios within one run.
import { judge } from "../harness/Goals.ts"
import { geometricMean } from "../harness/Statistics.ts"
import type { Goal } from "../harness/Goals.ts"
import { blockTime } from "./World.ts"
import type { Figures, Results, Row } from "./Results.ts"

/** Figures that history may make worse by this factor. */
const growth = 1.3

/** Milliseconds in which a command about a transaction in flight reaches a node. */
const commandLimit = 250

/** Rates, of which a lower one is worse. */
const rates = ["acceptedPerSecond", "perSecond"] as const
/** Times and costs, of which a higher one is worse. */
const costs = ["toBroadcast", "toEvent", "lastToEvent", "calls", "serverMs", "postgresMs", "walBytes"] as const

type Rate = (typeof rates)[number]
type Cost = (typeof costs)[number]

const isRate = (field: Rate | Cost): field is Rate => rates.some((rate) => rate === field)

const names: Readonly<Record<Rate | Cost, string>> = {
  acceptedPerSecond: "acceptance",
  perSecond: "end to end",
  toBroadcast: "request to broadcast",
  toEvent: "block to event",
  lastToEvent: "last event",
  calls: "RPC calls",
  serverMs: "CPU of the service",
  postgresMs: "CPU of PostgreSQL",
  walBytes: "write-ahead log"
}

const ratio = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one / other

export const judged = ({ rows, acceptances, idleCalls }: Results): ReadonlyArray<Goal> => {
  const row = (name: string, stored = 0): Row | undefined =>
    rows.find((each) => each.case === name && each.stored === stored)
  /** A rate relative to the blast's from its first request until its last transaction is confirmed. */
  const toBlast = (name: string, field: Rate) => ratio(row(name)?.[field], row("blast")?.perSecond)
  const seconds = (name: string, field: keyof Figures) => ratio(row(name)?.[field], 1000)
  const [empty, full] = acceptances
  const filled = full?.stored ?? 0

  /** How much worse each figure is with history: the geometric mean over its cases, because one median moves by a fifth. */
  const growthOf = (field: Rate | Cost): number | undefined => {
    const cases = rows.filter(({ stored, case: name }) => stored === 0 && name !== "blast")
    const ratios = cases.flatMap(({ case: name }) => {
      const times = ratio(row(name, filled)?.[field], row(name)?.[field])
      return times === undefined || Number.isNaN(times) ? [] : [isRate(field) ? 1 / times : times]
    })
    return ratios.length === 0 ? undefined : geometricMean(ratios)
  }
  const worst = [...rates, ...costs]
    .flatMap((field) => {
      const times = growthOf(field)
      return times === undefined ? [] : [{ about: names[field], times }]
    })
    .toSorted((one, other) => other.times - one.times)[0]
  const at = filled.toLocaleString("en")

  return [
    ...judge(
      "accepted while nothing is sent, to creating relayers",
      ratio(empty?.accepted, empty?.created),
      "at least",
      0.8
    ),
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
    ...judge("RPC calls per transaction at 50/s in one lane", row("50/s in one lane")?.calls, "at most", 3, "calls"),
    ...judge(
      "RPC calls per transaction at 50/s in twenty lanes",
      row("50/s in twenty lanes")?.calls,
      "at most",
      3,
      "calls"
    ),
    ...judge("RPC calls about idle relayers", idleCalls, "at most", 0, "calls", 0),
    ...judge(
      `acceptance while nothing is sent, with ${at} final, worse by`,
      filled === 0 ? undefined : ratio(empty?.accepted, full?.accepted),
      "at most",
      growth
    ),
    ...judge(
      `worst figure with ${at} final, mean over the cases (${worst?.about}), worse by`,
      filled === 0 ? undefined : worst?.times,
      "at most",
      growth
    )
  ]
}
