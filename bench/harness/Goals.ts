// The goals of the benchmark. All are ratios within one run, except starts and memory.
import type { Memory, Results, Row } from "./Results.ts"

/** The number of connections that goals refer to. */
export const usualConnections = 64

export interface Goal {
  readonly about: string
  readonly goal: string
  readonly measured: string
  readonly met: boolean
}

type Direction = "at least" | "at most"

const signs = { "at least": "≥", "at most": "≤" }

/** Judges one figure. Empty: it was not measured. */
export const judge = (
  about: string,
  measured: number | undefined,
  direction: Direction,
  goal: number,
  unit = "×",
  digits = 2
) =>
  measured === undefined || Number.isNaN(measured)
    ? []
    : [
        {
          about,
          goal: `${signs[direction]} ${goal} ${unit}`,
          measured: `${measured.toFixed(digits)} ${unit}`,
          met: direction === "at least" ? measured >= goal : measured <= goal
        } satisfies Goal
      ]

/** The ratio of `field` in two rows. `undefined`: one was not measured. */
const over = (field: "perSecond" | "p50", one: Row | undefined, other: Row | undefined) =>
  one === undefined || other === undefined ? undefined : one[field] / other[field]

/** Growth of memory in MiB per hour that counts as none. */
const unnoticed = 10

/** Minutes. Growth is only judged in runs that are long enough for the heap to reach its usual size. */
const longEnough = 10

const flatness = ({ minutes, slope, standardError }: Memory): ReadonlyArray<Goal> =>
  minutes < longEnough
    ? []
    : [
        {
          about: `memory under ${minutes} minutes of load, growth per hour`,
          goal: "≤ twice its error",
          measured: `${(slope * 60).toFixed(1)} ± ${(standardError * 60).toFixed(1)} MiB`,
          met: slope <= 2 * standardError || slope * 60 < unnoticed
        }
      ]

export const judged = ({ rows, starts, memory }: Results): ReadonlyArray<Goal> => {
  const sizes = [...new Set(rows.map(({ size }) => size))].toSorted((a, b) => a - b)
  const smallest = sizes[0] ?? 0
  const largest = sizes.at(-1) ?? 0
  const row = (name: string, contender: string, size = smallest, connections = usualConnections) =>
    rows.find(
      (each) =>
        each.case === name && each.contender === contender && each.size === size && each.connections === connections
    )
  const rate = (name: string, contender: string, other: string) =>
    over("perSecond", row(name, contender), row(name, other))
  const alone = (name: string) =>
    over("perSecond", row(name, "service", smallest, 1), row(name, "fastify", smallest, 1))
  /** The time of a request at the largest size, relative to the smallest size. */
  const growth = (name: string) =>
    largest === smallest ? undefined : over("perSecond", row(name, "service"), row(name, "service", largest))
  const spread = (name: string) => {
    const found = row(name, "service")
    return found === undefined ? undefined : found.p99 / found.p50
  }
  const at = `${largest.toLocaleString("en")} relayers, to ${smallest.toLocaleString("en")}`
  return [
    ...judge("list, to Fastify", rate("list", "service", "fastify"), "at least", 3),
    ...judge("get one, to Fastify", rate("get", "service", "fastify"), "at least", 1.2),
    ...["list", "get"].flatMap((name) => judge(`${name} with 1 connection, to Fastify`, alone(name), "at least", 0.7)),
    ...judge("create, to Fastify", rate("create", "service", "fastify"), "at least", 1.5),
    ...judge("create, to pgbench", rate("create", "service", "pgbench"), "at least", 0.5),
    ...judge(`time of the first page, ${at}`, growth("list"), "at most", 1.3),
    ...judge(`time of a page by cursor, ${at}`, growth("cursor"), "at most", 1.3),
    ...judge(`time of the last page by number, ${at}`, growth("deep"), "at most", 3),
    ...["list", "get", "mix", "create"].flatMap((name) =>
      judge(`p99 of ${name} at ${usualConnections} connections, to its p50`, spread(name), "at most", 4)
    ),
    ...starts.flatMap(({ kind, ms }) =>
      judge(
        `start, ${kind}`,
        ms / 1000,
        "at most",
        { DATABASE_URL: 0.8, "embedded, with data": 1, "embedded, first time": 2.5 }[kind],
        "s"
      )
    ),
    ...(memory === undefined
      ? []
      : [
          ...judge("memory idle, service", memory.idle.service, "at most", 150, "MiB", 0),
          ...judge("memory idle, its PostgreSQL", memory.idle.postgres, "at most", 40, "MiB", 0),
          ...flatness(memory)
        ])
  ]
}
