// A cancel or a replacement of what is in flight reaches a node at once, and not with the next poll.
import { assert } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import * as LaneStep from "../../../src/server/lanes/LaneStep.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

/** A step of a lane that was woken, without time since the last poll. */
const woken = Effect.fnUntraced(function* ({ world }: Effect.Success<ReturnType<typeof Scenes.sent>>) {
  const [node] = world.nodes
  const { context } = world
  if (context === undefined || node === undefined) return yield* Effect.die("no lane is held")
  const before = node.seen.length
  yield* LaneStep.run(context)
  return node.seen.slice(before).map(({ method }) => method)
})

layerEach(memory)("a lane that was woken", (it) => {
  it.effect("signs and sends the no-op of a cancel with the newest poll", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      yield* (yield* Ledger).cancel(1, scene.id)
      assert.deepStrictEqual(yield* woken(scene), ["eth_sendRawTransaction"])
      assert.strictEqual((yield* scene.world.transaction(scene.id)).attempts.at(-1)?.kind, "noop")
      assert.deepStrictEqual(yield* woken(scene), [])
    })
  )

  it.effect("signs and sends a replacement with the newest poll", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      yield* (yield* Ledger).replace(1, scene.id, { to: World.receiver, value: 7n, gas_limit: 21_000n })
      assert.deepStrictEqual(yield* woken(scene), ["eth_sendRawTransaction"])
      assert.strictEqual((yield* scene.world.transaction(scene.id)).attempts.at(-1)?.kind, "replace")
    })
  )
})

layerEach(memory)("holders of lanes in every instance", (it) => {
  it.effect("hear of a cancel at once, and find it", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      const lanes = yield* LaneLedger
      const { stored } = yield* scene.world.contents
      const heard = yield* Queue.unbounded<void>()
      yield* Effect.forkScoped(lanes.listen(Effect.asVoid(Queue.offer(heard, undefined))))
      // The first one says that it listens.
      yield* Queue.take(heard)
      assert.deepStrictEqual([...(yield* lanes.news([stored.id]))], [])
      yield* (yield* Ledger).cancel(1, scene.id)
      yield* Queue.take(heard)
      assert.deepStrictEqual(
        [...(yield* lanes.news([stored.id]))],
        [[stored.id, { newest: 0, commands: new Set([`${scene.id} 1 cancel`]) }]]
      )
    })
  )
})
