// How much a run of the benchmark of transactions does, from the command line and the defaults of a network.
import { Option } from "effect"
import type * as Measure from "../harness/Measure.ts"

export interface Given {
  readonly smoke: boolean
  readonly rounds: Option.Option<number>
  readonly stored: Option.Option<number>
  readonly cases: Option.Option<ReadonlyArray<string>>
  readonly against: Option.Option<string>
}

/** What every network has. */
export interface Scale {
  readonly rounds: number
  /** How long idle relayers are watched. */
  readonly idleSeconds: number
  /** How long a case with an even rate sends. */
  readonly steadySeconds: number
  /** Final transactions of the second part. 0: there is none. */
  readonly stored: number
  readonly acceptance: Measure.Rounds
  /** Undefined: all. */
  readonly cases: ReadonlyArray<string> | undefined
}

export const full: Scale = {
  rounds: 2,
  idleSeconds: 10,
  steadySeconds: 10,
  stored: 1_000_000,
  acceptance: { rounds: 2, seconds: 3, warmUp: 6 },
  cases: undefined
}

export const smoke: Scale = {
  ...full,
  rounds: 1,
  idleSeconds: 1,
  steadySeconds: 1,
  stored: 0,
  // In a second, a busy machine may answer nothing.
  acceptance: { rounds: 1, seconds: 3, warmUp: 0 }
}

export const of = <S extends Scale>(scales: { readonly full: S; readonly smoke: S }, given: Given): S => {
  const scale = given.smoke ? scales.smoke : scales.full
  return {
    ...scale,
    rounds: Option.getOrElse(given.rounds, () => scale.rounds),
    // The tables of another checkout may differ from those that the second part fills.
    stored: Option.getOrElse(given.stored, () => (Option.isSome(given.against) ? 0 : scale.stored)),
    cases: Option.getOrElse(given.cases, () => scale.cases)
  }
}
