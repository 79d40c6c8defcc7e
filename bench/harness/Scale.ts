// The scale of a run, from the command line and its defaults.
import { Option } from "effect"
import { cases } from "./Cases.ts"
import { usualConnections } from "./Goals.ts"
import type { Rounds } from "./Measure.ts"
import type { Given } from "./Options.ts"

export interface Scale extends Rounds {
  readonly cases: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
  /** `undefined`: the numbers of the case. */
  readonly connections: ReadonlyArray<number> | undefined
  /** Number of starts of each kind. */
  readonly starts: number
  /** Duration of the load under which memory is measured. */
  readonly minutes: number
}

const full: Scale = {
  cases: [...cases.map(({ name }) => name), "starts", "memory"],
  sizes: [1000, 100_000, 1_000_000],
  connections: undefined,
  rounds: 5,
  seconds: 3,
  warmUp: 8,
  starts: 7,
  minutes: 10
}

const quick: Scale = {
  ...full,
  cases: cases.map(({ name }) => name),
  sizes: [1000, 100_000],
  connections: [usualConnections],
  rounds: 3,
  seconds: 2,
  warmUp: 4,
  starts: 3,
  minutes: 2
}

const smoke: Scale = {
  ...quick,
  cases: ["list", "get", "create"],
  sizes: [100],
  connections: [4],
  rounds: 1,
  seconds: 1,
  warmUp: 0
}

export const of = (given: Given): Scale => {
  const scale = given.smoke ? smoke : given.quick ? quick : full
  return {
    ...scale,
    cases: Option.getOrElse(given.cases, () => scale.cases),
    sizes: Option.getOrElse(given.sizes, () => scale.sizes),
    connections: Option.getOrElse(given.connections, () => scale.connections),
    rounds: Option.getOrElse(given.rounds, () => scale.rounds),
    seconds: Option.getOrElse(given.seconds, () => scale.seconds),
    minutes: Option.getOrElse(given.minutes, () => scale.minutes)
  }
}
