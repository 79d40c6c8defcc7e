// Deletes events after their retention. Deliveries of webhooks have a retention of their own.
import { Duration, Effect, Layer } from "effect"
import * as Retention from "../lifecycle/Retention.ts"
import { EventRetentionRepo } from "./EventRetentionRepo.ts"

/** Events that one statement deletes. */
const batch = 1000

/** Runs until its scope closes. `age`: how long events are kept; `Duration.infinity` keeps them forever. */
export const layer = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.flatMap(EventRetentionRepo, ({ prune }) =>
          Retention.run(
            "events",
            Effect.map(prune(age, batch), (count) => count === batch)
          )
        )
      ).pipe(Layer.provide(EventRetentionRepo.layer))
    : Layer.empty
