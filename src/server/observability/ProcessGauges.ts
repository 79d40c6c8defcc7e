// What only the process around us can read: memory, CPU, event loop.
import { Context, Effect } from "effect"

/** Sets the gauges. */
export const ProcessGauges = Context.Reference<Effect.Effect<void>>(
  "effect-relayer/server/observability/ProcessGauges",
  {
    defaultValue: () => Effect.void
  }
)
