// Counts the relayers.
import { Effect, Layer, Metric } from "effect"
import { NetworkType } from "../../domain/network/Network.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import * as RelayersRepo from "./RelayersRepo.ts"

export const relayerCount = Metric.gauge("relayers", { description: "Relayers, by network type and state." })

/** Every group is set, so that one without relayers is 0 and does not keep its last value. */
const groups = NetworkType.literals.flatMap((network_type) =>
  (["active", "paused", "disabled"] as const).map((state) => ({ network_type, state }))
)

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* RelayersRepo.make
    const measure = Effect.gen(function* () {
      const counts = yield* repo.count
      for (const { network_type, state } of groups) {
        const group = counts.find((other) => other.network_type === network_type && other.state === state)
        yield* Metric.update(Metric.withAttributes(relayerCount, { network_type, state }), group?.count ?? 0)
      }
    })
    yield* measureGauge(relayerCount.id, measure)
  })
).pipe(Layer.provide(RelayerMacs.layer))
