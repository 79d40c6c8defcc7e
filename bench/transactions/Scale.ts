// The scale of a run of the benchmark of transactions, from the command line and its defaults.
import { Option } from "effect"
import type * as Measure from "../harness/Measure.ts"

export interface Given {
  readonly smoke: boolean
  readonly rounds: Option.Option<number>
  readonly stored: Option.Option<number>
  readonly cases: Option.Option<ReadonlyArray<string>>
  readonly against: Option.Option<string>
}

export interface Scale {
  readonly rounds: number
  /** Relayers. */
  readonly lanes: number
  /** Transactions of the one lane, and of each of several lanes. */
  readonly ofOne: number
  readonly ofEach: number
  /** Transactions of each of several lanes with the default window. */
  readonly usual: { readonly few: number; readonly many: number }
  readonly singles: number
  /** Transactions that are replaced and canceled. */
  readonly commanded: number
  readonly steadySeconds: number
  /** For which idle relayers are watched. */
  readonly idleSeconds: number
  /** Final transactions of the second part. 0: there is none. */
  readonly stored: number
  readonly acceptance: Measure.Rounds
  /** Undefined: all. */
  readonly cases: ReadonlyArray<string> | undefined
}

const full: Scale = {
  rounds: 2,
  lanes: 20,
  ofOne: 2000,
  ofEach: 200,
  usual: { few: 20, many: 100 },
  singles: 4,
  commanded: 20,
  steadySeconds: 10,
  idleSeconds: 10,
  stored: 1_000_000,
  acceptance: { rounds: 2, seconds: 3, warmUp: 6 },
  cases: undefined
}

const smoke: Scale = {
  ...full,
  rounds: 1,
  lanes: 3,
  ofOne: 30,
  ofEach: 10,
  usual: { few: 5, many: 10 },
  singles: 1,
  commanded: 2,
  steadySeconds: 1,
  idleSeconds: 1,
  stored: 0,
  acceptance: { rounds: 1, seconds: 1, warmUp: 0 }
}

export const of = (given: Given): Scale => {
  const scale = given.smoke ? smoke : full
  return {
    ...scale,
    rounds: Option.getOrElse(given.rounds, () => scale.rounds),
    // The tables of another checkout may differ from those that the second part fills.
    stored: Option.getOrElse(given.stored, () => (Option.isSome(given.against) ? 0 : scale.stored)),
    cases: Option.getOrElse(given.cases, () => scale.cases)
  }
}
