// One exposition of the metrics of several processes: counts are added up, gauges are joined by what they mean.
import * as Metrics from "../server/observability/Metrics.ts"

interface Family {
  /** Its `# HELP` and `# TYPE` lines. */
  readonly head: ReadonlyArray<string>
  readonly type: string
  /** By name and labels. */
  readonly samples: Map<string, number>
}

type Families = Map<string, Family>

type Join = (one: number, other: number) => number

const add: Join = (one, other) => one + other

/** The others have an older one, of the same thing. */
const asIs: Join = (one) => one

/** What is not named is added up. */
const gauges = new Map<string, Join>([
  [Metrics.databaseConnections.id, asIs],
  [Metrics.relayers.id, asIs],
  [Metrics.webhookDeliveriesPending.id, asIs],
  [Metrics.workerHealthy.id, Math.min],
  [Metrics.eventLoopDelaySeconds.id, Math.max]
])

const parse = (exposition: string): Families => {
  const families: Families = new Map()
  let head: Array<string> = []
  let samples = new Map<string, number>()
  for (const line of exposition.split("\n")) {
    if (line.startsWith("# HELP ")) head = [line]
    else if (line.startsWith("# TYPE ")) {
      const [, , name = "", type = ""] = line.split(" ")
      samples = new Map()
      families.set(name, { head: [...head, line], type, samples })
      head = []
    } else if (line !== "") {
      const end = line.lastIndexOf(" ")
      samples.set(line.slice(0, end), Number(line.slice(end + 1)))
    }
  }
  return families
}

const format = (families: Families): string =>
  [...families.values()]
    .flatMap(({ head, samples }) => [...head, ...[...samples].map(([sample, value]) => `${sample} ${value}`)])
    .map((line) => `${line}\n`)
    .join("")

const joinOf = (name: string, { type }: Family): Join => (type === "gauge" ? (gauges.get(name) ?? add) : add)

/** Prometheus' text format. The first is the one that has just been read anew, with what it knows of the database. */
export const merge = (expositions: ReadonlyArray<string>): string => {
  const merged: Families = new Map()
  for (const exposition of expositions) {
    for (const [name, family] of parse(exposition)) {
      const known = merged.get(name)
      if (known === undefined) {
        merged.set(name, family)
        continue
      }
      const join = joinOf(name, family)
      for (const [sample, value] of family.samples) {
        const before = known.samples.get(sample)
        known.samples.set(sample, before === undefined ? value : join(before, value))
      }
    }
  }
  return format(merged)
}

/** What stays of a process that has ended: its counts, so that the sums never fall. */
export const counts = (exposition: string): string => {
  const families = parse(exposition)
  for (const [name, { type }] of families) if (type === "gauge") families.delete(name)
  return format(families)
}
