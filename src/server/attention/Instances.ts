// The instances that share the database. Each instance writes that it runs, and lists all instances.
import { Effect, Layer } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { Instance } from "../../api/InstancesApi.ts"
import { Holder } from "../ledger/Holder.ts"
import * as GaugeJob from "../lifecycle/GaugeJob.ts"
import { Jobs } from "../lifecycle/Jobs.ts"
import { RunningVersion } from "../observability/RunningVersion.ts"
import * as InstancesRepo from "./InstancesRepo.ts"

export const make = Effect.gen(function* () {
  const repo = yield* InstancesRepo.make
  const { id: own } = yield* Holder

  /** A key that is limited to relayers does not see the number of lanes. */
  const list = Effect.fn("Instances.list")(function* () {
    const { relayerIds } = yield* Caller.current
    const rows = yield* repo.list
    return rows.map(({ lanes_held, ...row }): Instance => ({
      ...row,
      ...(relayerIds === undefined ? { lanes_held } : {}),
      is_this: row.id === own
    }))
  })

  return { list }
})

/** Writes that this instance runs, together with its other measurements, until the scope closes. */
export const layerPresence = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* InstancesRepo.make
    const { id } = yield* Holder
    const { statuses } = yield* Jobs
    const version = yield* RunningVersion
    const write = Effect.flatMap(statuses, (jobs) => repo.write({ id, version, jobs }))
    yield* Effect.addFinalizer(() => Effect.ignoreCause(repo.remove(id)))
    yield* GaugeJob.run("instances", write)
  })
)
