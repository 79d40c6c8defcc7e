// The name of a relayer's health, as it stands in every response.
import { Schema } from "effect"

export const HealthStatus = Schema.Literals(["unknown", "healthy", "degraded", "failing", "disabled"]).annotate({
  identifier: "HealthStatus",
  description:
    "`unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed, but too few to disable it.",
  examples: ["healthy"]
})
export type HealthStatus = typeof HealthStatus.Type
