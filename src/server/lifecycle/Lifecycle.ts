// What all features of an instance share: whether it drains, its jobs and their signals. Provided once, below the features.
import { Layer } from "effect"
import { Gauges } from "../observability/Gauges.ts"
import { CommitSignals } from "./CommitSignal.ts"
import { Draining } from "./Draining.ts"
import { Jobs } from "./Jobs.ts"

export const layer = Layer.mergeAll(Draining.layer, CommitSignals.layer, Jobs.layer).pipe(
  Layer.provideMerge(Gauges.layer)
)
