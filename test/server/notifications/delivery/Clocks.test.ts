// Jumps of the database's clock lose no delivery.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { Deliveries } from "../../../../src/server/notifications/delivery/Deliveries.ts"
import * as QueueRepo from "../../../../src/server/notifications/delivery/QueueRepo.ts"
import { makeQueueUpkeepRepo } from "../../../../src/server/notifications/delivery/QueueRepo.ts"
import * as World from "./World.ts"

const all = { free: 1000, perReceiver: 1000, busy: new Map<string, number>() }

describe("the database's clock", () => {
  const queue = World.layer({ job: false })

  it.effect("that is set back delays pending deliveries by as much, and a retry sends them at once", () =>
    Effect.gen(function* () {
      const repo = yield* QueueRepo.make
      const { id } = yield* World.create("http://127.0.0.1:9/hook")
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.pass("-1 hour")
      assert.isEmpty(yield* repo.claim(all))
      const [delivery] = yield* World.log(id)
      assert(delivery?.next_attempt_at !== undefined)
      const ahead = DateTime.toEpochMillis(delivery.next_attempt_at) - Date.now()
      assert.isTrue(ahead > 3_500_000 && ahead <= 3_600_000, `${ahead}`)
      yield* (yield* Deliveries).retry(id, delivery.id)
      assert.lengthOf(yield* repo.claim(all), 1)
    }).pipe(Effect.provide(queue))
  )

  it.effect("that jumps past the end of a delivery does not prevent its first attempt", () =>
    Effect.gen(function* () {
      const { id } = yield* World.create("http://127.0.0.1:9/hook")
      const repo = yield* QueueRepo.make
      const upkeep = yield* makeQueueUpkeepRepo
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.pass("30 hours")
      yield* upkeep.expire
      const [claimed, ...others] = yield* repo.claim(all)
      assert.isEmpty(others)
      assert(claimed !== undefined)
      const attempt = { outcome: "delivered", ms: 1, status: 200 } as const
      const state = yield* repo.settle(claimed, attempt, { backOff: 1000, asked: undefined })
      assert.deepStrictEqual(state, Option.some("delivered"))
    }).pipe(Effect.provide(queue))
  )
})
