// What all features of an instance share: whether it drains, its jobs and their signals, its conditions, and the schema. Provided once, below the features.
import { Layer } from "effect"
import { Gauges } from "../observability/Gauges.ts"
import { CommitSignals } from "./CommitSignal.ts"
import { Conditions } from "./Conditions.ts"
import { Draining } from "./Draining.ts"
import { Jobs } from "./Jobs.ts"
import { make as makeSchemaWatch, SchemaWatch } from "./SchemaWatch.ts"

export const layer = Layer.mergeAll(Draining.layer, CommitSignals.layer, Conditions.layer, Jobs.layer).pipe(
  Layer.provideMerge(Layer.merge(Gauges.layer, Layer.effect(SchemaWatch, makeSchemaWatch)))
)
