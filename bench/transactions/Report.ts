// Tables of a run, for a terminal and for `bench/performance.md`.
import type { Goal } from "../harness/Goals.ts"
import * as Markdown from "../harness/Markdown.ts"
import * as Print from "../harness/Print.ts"
import { fields } from "./Results.ts"
import type { Acceptance, Results, Row } from "./Results.ts"

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value)
    ? ""
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })

const columns: Readonly<Record<string, (row: Row) => string>> = {
  case: (row) => row.case,
  "final before": ({ stored }) => number(stored),
  "accepted/s": ({ acceptedPerSecond }) => number(acceptedPerSecond),
  "on chain/s": ({ onChainPerSecond }) => number(onChainPerSecond),
  "end to end/s": ({ perSecond }) => number(perSecond),
  "per block": ({ perBlock }) => number(perBlock, 1),
  "to broadcast ms": ({ toBroadcast }) => number(toBroadcast),
  "block to event ms": ({ toEvent }) => number(toEvent),
  "last event ms": ({ lastToEvent }) => number(lastToEvent),
  "PUT to node ms": ({ toReplace }) => number(toReplace),
  "DELETE to node ms": ({ toCancel }) => number(toCancel),
  "RPC calls": ({ calls }) => number(calls, 1),
  statements: ({ statements }) => number(statements, 2),
  "of one lane": ({ alone }) => number(alone, 3),
  "CPU ms, service": ({ serverMs }) => number(serverMs, 2),
  "CPU ms, PostgreSQL": ({ postgresMs }) => number(postgresMs, 2),
  rows: ({ inserted }) => number(inserted, 1),
  updates: ({ updated }) => number(updated, 1),
  "WAL bytes": ({ walBytes }) => number(walBytes),
  "landed %": ({ landed }) => number(landed === undefined ? undefined : 100 * landed, 1),
  "signature ms": ({ signMs }) => number(signMs, 3)
}

const lines = (rows: ReadonlyArray<Row>) => rows.map((row) => Object.values(columns).map((column) => column(row)))

const rowsOf = (rows: ReadonlyArray<Row>): string => Print.aligned([Object.keys(columns), ...lines(rows)], 1)

const acceptance = ({ stored, accepted, created, changedRelayer, changedNetwork }: Acceptance): string =>
  `Nothing is sent, ${number(stored)} final before: ${number(accepted)} transactions a second, ${number(created)} relayers a second. ` +
  `While as much as possible is accepted, the slowest change of a relayer takes ${number(changedRelayer)} ms, and that of a network ${number(changedNetwork)} ms.`

const facts = (results: Results): ReadonlyArray<string> => [
  ...results.acceptances.map(acceptance),
  `The first transaction of a process is with a node after ${number(results.firstOfProcess)} ms.`,
  `Load of the machine ${results.loadBefore} before and ${results.loadAfter} at the end of ${results.minutes} minutes; medians of ${results.rounds} rounds.`
]

const times = (now: number, before: number): string => `${(now / before).toFixed(2)} ×`

/** The figures of a case now, relative to those before. */
const relative = (now: Row, before: Row): string =>
  fields
    .flatMap((field) => {
      const [one, other] = [now[field], before[field]]
      return one === undefined || other === undefined || other === 0 ? [] : [`${field} ${times(one, other)}`]
    })
    .join(", ")

/** A line per case: now, relative to an earlier checkout. */
export const ratios = ({ acceptances, before, rows }: Results): ReadonlyArray<string> => {
  const ofCases = (before?.rows ?? []).flatMap((other) => {
    const row = rows.find((each) => each.case === other.case && each.stored === other.stored)
    const found = row === undefined ? "" : relative(row, other)
    return found === "" ? [] : [`${other.case}, ${number(other.stored)} final before: ${found}`]
  })
  const ofAcceptance = (before?.acceptances ?? []).flatMap((other) => {
    const found = acceptances.find(({ stored }) => stored === other.stored)
    if (found === undefined) return []
    const { accepted, created, stored } = found
    return [
      `nothing is sent, ${number(stored)} final before: accepted ${times(accepted, other.accepted)}, created ${times(created, other.created)}`
    ]
  })
  return [...ofCases, ...ofAcceptance]
}

/** `goals`: of the network. */
export const text = (results: Results, goals: ReadonlyArray<Goal>): string => {
  const compared = ratios(results)
  return [
    rowsOf(results.rows),
    facts(results).join("\n"),
    Print.goals(goals),
    ...(compared.length === 0 ? [] : [["Now, relative to the other checkout:", ...compared].join("\n")])
  ].join("\n\n")
}

/** By the name of their section. `of`: what follows the names of the sections of a network. */
export const sections = (
  results: Results,
  goals: ReadonlyArray<Goal>,
  of: string
): Readonly<Record<string, string>> => ({
  [`transaction goals${of}`]: Markdown.goals(goals),
  [`transactions${of}`]: `${Markdown.table(Object.keys(columns), lines(results.rows))}\n\n${facts(results).join("\n")}`
})
