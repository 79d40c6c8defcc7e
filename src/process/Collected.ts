// What a worker is asked about the whole service: the primary asks the others, and joins what they say.
import { Effect } from "effect"
import type { Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { ProcessGauges } from "../server/observability/ProcessGauges.ts"
import { worstOf } from "../server/lifecycle/Jobs.ts"
import type { Statuses } from "../server/lifecycle/Jobs.ts"
import type { Handlers } from "./Channel.ts"
import * as MergedMetrics from "./MergedMetrics.ts"
import type { Process } from "./Processes.ts"
import type { OfPrimary } from "./Protocol.ts"

/** Whoever does not answer by then is busy, or hangs. */
const patience = "1 second"

const hangs: Statuses = { health_checks: "unhealthy", deliveries: "unhealthy" }

/** `serving` are the processes that answer requests at this moment. */
export const make = Effect.fnUntraced(function* (serving: ReadonlySet<Process>) {
  const ownGauges = yield* ProcessGauges
  /** As last read. */
  const metrics = new Map<Process, string>()
  let ended = ""

  const others = <A, B>(
    asking: Process,
    ask: (process: Process) => Effect.Effect<A, B>,
    orElse: (process: Process) => A
  ) =>
    Effect.forEach(
      [...serving].filter((process) => process !== asking),
      (process) =>
        ask(process).pipe(
          Effect.timeout(patience),
          Effect.catch(() => Effect.sync(() => orElse(process)))
        ),
      { concurrency: "unbounded" }
    )

  return (process: Process): Effect.Effect<Pick<Handlers<OfPrimary>, "metrics" | "statuses">, never, Scope.Scope> =>
    Effect.as(
      Effect.addFinalizer(() =>
        Effect.sync(() => {
          ended = MergedMetrics.merge([ended, MergedMetrics.counts(metrics.get(process) ?? "")])
          metrics.delete(process)
        })
      ),
      {
        metrics: Effect.fnUntraced(function* (own) {
          metrics.set(process, own)
          yield* others(
            process,
            (other) => Effect.map(other.channel.ask("metrics", null), (text) => void metrics.set(other, text)),
            () => undefined
          )
          yield* ownGauges
          const primary = yield* PrometheusMetrics.format()
          const rest = [...metrics].flatMap(([other, text]) => (other === process ? [] : [text]))
          return MergedMetrics.merge([own, ...rest, primary, ended])
        }),
        statuses: (own) =>
          Effect.map(
            others(
              process,
              ({ channel }) => channel.ask("statuses", null),
              () => hangs
            ),
            (rest) => worstOf([own, ...rest])
          )
      }
    )
})
