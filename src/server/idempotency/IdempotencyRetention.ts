// Deletes stored responses after 24 hours, also if no request with an idempotency key comes.
import { Effect, Layer } from "effect"
import * as Retention from "../lifecycle/Retention.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(IdempotencyStore, ({ prune }) => Retention.run("idempotency", prune))
)
