// The other processes of the same service, where there are any: what is said of the service is said of all of them.
import { Context, Effect } from "effect"
import type { Statuses } from "../lifecycle/Jobs.ts"

interface Peers {
  /** From the metrics of this process, in Prometheus' text format, to those of all. */
  metrics(own: string): Effect.Effect<string>
  /** Each worker is as well as the worst of all processes. */
  statuses(own: Statuses): Effect.Effect<Statuses>
}

export const Peers = Context.Reference<Peers>("effect-relayer/server/observability/Peers", {
  defaultValue: () => ({ metrics: Effect.succeed, statuses: Effect.succeed })
})
