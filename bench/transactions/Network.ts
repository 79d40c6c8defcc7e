// What the benchmark needs of a network type. `evm/`, `solana/` and `stellar/` have one value each.
import type { Effect, Schema, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { WrongMasterKey } from "../../src/server/masterKey/MasterKeys.ts"
import type { Goal } from "../harness/Goals.ts"
import type { ChildFailed } from "../harness/Child.ts"
import type { NotConfirmed } from "./Confirmations.ts"
import type { HttpFailed } from "./Http.ts"
import type { Figures, Results } from "./Results.ts"
import type { Scale } from "./Scale.ts"
import type { Sender, Version, World } from "./World.ts"

export type Failure = ChildFailed | HttpFailed | NotConfirmed | Schema.SchemaError | SqlError | WrongMasterKey

/** `W`: its chain and relayers. `S`: how much of each case a run has. */
export interface Network<W extends World, S extends Scale> {
  readonly scales: { readonly full: S; readonly smoke: S }
  readonly make: (version: Version, checkout: string, scale: S) => Effect.Effect<W, Failure, Scope.Scope>
  /** Stores `count` final transactions of the relayers. */
  readonly fill: (world: W, count: number) => Effect.Effect<void, SqlError>
  /** Sends what is not measured. Returns the milliseconds until a node has the first transaction of the process. */
  readonly warmUp: (sender: Sender<W>, scale: S) => Effect.Effect<number, Failure>
  /** What the cases are compared to: no service is faster. `name`: of its row. */
  readonly contender: {
    readonly name: string
    readonly run: (sender: Sender<W>, scale: S) => Effect.Effect<Figures, Failure>
  }
  /** The names of the cases, without a comma, because the command line separates them by commas. */
  readonly names: ReadonlyArray<string>
  /** By these names, in their order. */
  readonly cases: (sender: Sender<W>, scale: S) => Readonly<Record<string, Effect.Effect<Figures, Failure>>>
  readonly goals: (results: Results) => ReadonlyArray<Goal>
}
