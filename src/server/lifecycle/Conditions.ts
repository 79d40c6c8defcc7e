// Problems that an operator has to solve although all jobs are healthy. Features report them, and readiness shows them.
import { Context, Effect, Layer, Metric } from "effect"
import type { ConditionName } from "../../api/SystemApi.ts"

export const componentHealthy = Metric.gauge("component_healthy", {
  description:
    "0 while a component of readiness, `audit`, `events` or `rows`, has a problem that an operator has to solve, else 1."
})

export interface Problem {
  /** A constant lower-case sentence for the log and for readiness, which needs no API key. */
  readonly reason: string
  /** Values for the log only. */
  readonly details: Readonly<Record<string, unknown>>
  /** The rows that the problem is about. Absent: it is about none. */
  readonly rows?: ReadonlyArray<RowName>
}

/** A row of the database. */
export interface RowName {
  readonly table: string
  readonly id: string
}

export type Problems = Readonly<Record<ConditionName, Problem | undefined>>

const names = ["audit", "events", "rows"] as const satisfies ReadonlyArray<ConditionName>

const show = (component: ConditionName, isHealthy: boolean) =>
  Metric.update(Metric.withAttributes(componentHealthy, { component }), Number(isHealthy))

export class Conditions extends Context.Service<
  Conditions,
  {
    /** `undefined`: everything is as it should be. A change is logged. */
    report(name: ConditionName, problem: Problem | undefined): Effect.Effect<void>
    readonly problems: Effect.Effect<Problems>
  }
>()("effect-relayer/server/lifecycle/Conditions") {
  static readonly layer = Layer.effect(
    Conditions,
    Effect.gen(function* () {
      for (const name of names) yield* show(name, true)
      const known = new Map<ConditionName, Problem>()

      const report = (condition: ConditionName, problem: Problem | undefined) =>
        Effect.suspend(() => {
          const before = known.get(condition)
          if (problem === undefined) known.delete(condition)
          else known.set(condition, problem)
          if (before?.reason === problem?.reason) return Effect.void
          const log =
            problem === undefined
              ? Effect.annotateLogs(Effect.logInfo("condition resolved"), { condition })
              : Effect.annotateLogs(Effect.logWarning(problem.reason), { condition, ...problem.details })
          return Effect.andThen(show(condition, problem === undefined), log)
        })

      const problems = Effect.sync((): Problems => ({
        audit: known.get("audit"),
        events: known.get("events"),
        rows: known.get("rows")
      }))

      return Conditions.of({ report, problems })
    })
  )
}
