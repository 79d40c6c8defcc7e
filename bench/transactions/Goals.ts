// The goals that every network has in the benchmark of transactions. Rates are ratios within one run.
import { judge } from "../harness/Goals.ts"
import type { Goal } from "../harness/Goals.ts"
import { geometricMean } from "../harness/Statistics.ts"
import type { Results, Row } from "./Results.ts"

/** Figures that history may make worse by this factor. */
const growth = 1.3

/** Accepted transactions while nothing is sent, relative to created relayers. */
const acceptanceAtLeast = 0.8

/** Milliseconds in which a change of a relayer or a network is answered while as much as possible is accepted. */
const changeAtMost = 1000

/** Rates, of which a lower one is worse. */
const rates = ["acceptedPerSecond", "perSecond"] as const
/** Times and costs, of which a higher one is worse. */
const costs = ["toBroadcast", "toEvent", "lastToEvent", "calls", "serverMs", "postgresMs", "walBytes"] as const

export type Rate = (typeof rates)[number]
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

export const ratio = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one / other

export const rowOf = ({ rows }: Results, name: string, stored = 0): Row | undefined =>
  rows.find((each) => each.case === name && each.stored === stored)

/** While nothing is sent. */
export const acceptance = ({ acceptances: [empty] }: Results): ReadonlyArray<Goal> => [
  ...judge(
    "accepted while nothing is sent, to creating relayers",
    ratio(empty?.accepted, empty?.created),
    "at least",
    acceptanceAtLeast
  ),
  ...judge(
    "change of a relayer while as much as possible is accepted, slowest",
    empty?.changedRelayer,
    "at most",
    changeAtMost,
    "ms",
    0
  ),
  ...judge(
    "change of a network while as much as possible is accepted, slowest",
    empty?.changedNetwork,
    "at most",
    changeAtMost,
    "ms",
    0
  )
]

export const idle = ({ idleCalls }: Results): ReadonlyArray<Goal> =>
  judge("RPC calls about idle relayers", idleCalls, "at most", 0, "calls", 0)

/** What the second part of the run, which has history, may lose. `contender`: the name of its row, which history does not affect. */
export const withHistory = (results: Results, contender: string): ReadonlyArray<Goal> => {
  const { acceptances, rows } = results
  const [empty, full] = acceptances
  const filled = full?.stored ?? 0

  /** How much worse each figure is with history: the geometric mean over its cases, because one median moves by a fifth. */
  const growthOf = (field: Rate | Cost): number | undefined => {
    const cases = rows.filter(({ stored, case: name }) => stored === 0 && name !== contender)
    const ratios = cases.flatMap(({ case: name }) => {
      const times = ratio(rowOf(results, name, filled)?.[field], rowOf(results, name)?.[field])
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
