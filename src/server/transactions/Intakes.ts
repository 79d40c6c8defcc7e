// The networks whose requests this process takes. A host program may replace one.
import { Context, Effect, Layer } from "effect"
import { readersOf } from "./Intake.ts"
import type { Intake } from "./Intake.ts"

const networkOf = (intake: Intake) => ({ intake, read: readersOf(intake) })

/** An intake, and the readers of its bodies. */
export type IntakeNetwork = ReturnType<typeof networkOf>

export class Intakes extends Context.Service<
  Intakes,
  {
    /** By the network type of a relayer. Undefined: this process takes no requests to send there. */
    of(networkType: string): IntakeNetwork | undefined
  }
>()("effect-relayer/server/transactions/Intakes") {
  static readonly layer = <E, R>(intakes: Effect.Effect<ReadonlyArray<Intake>, E, R>) =>
    Layer.effect(
      Intakes,
      Effect.map(intakes, (all) => {
        const byType = new Map<string, IntakeNetwork>(all.map((intake) => [intake.rules.type, networkOf(intake)]))
        return Intakes.of({ of: (networkType) => byType.get(networkType) })
      })
    )
}
