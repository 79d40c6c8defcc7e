// Concurrent commands, one to each instance. The outcome must be one that the model allows for one of the two orders.
import { assert } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { NotificationId } from "../../src/domain/notification/Notification.ts"
import { RelayerId } from "../../src/domain/relayer/Relayer.ts"
import type { Relayer } from "../../src/domain/relayer/Relayer.ts"
import type { Versioned } from "../../src/domain/request/Request.ts"
import { Notifications } from "../../src/server/notifications/Notifications.ts"
import { Relayers } from "../../src/server/relayers/Relayers.ts"
import type { Instance } from "./Instances.ts"
import { createOutcome, ifMatch, requestOf, tagOf } from "./Model.ts"
import type { Model } from "./Model.ts"
import type { Command } from "./ModelCommands.ts"

/** A minimum balance that no earlier patch of this relayer has set. */
const balanceAfter = (before: Versioned<Relayer> | undefined): bigint =>
  7n + BigInt(/\d+$/.exec(before?.version ?? "0")?.[0] ?? 0)

export const atOnce = Effect.fnUntraced(function* (
  instances: readonly [Instance, Instance],
  model: Model,
  command: Exclude<Command, { readonly at: number }>
) {
  const relayers = Context.get(instances[0], Relayers)
  const others = Context.get(instances[1], Relayers)
  switch (command._tag) {
    case "PatchAtOnce": {
      const before = model.relayers.get(command.id)
      const condition = command.conditional ? ifMatch("current", before?.version) : undefined
      const id = RelayerId.make(command.id)
      const results = yield* Effect.all(
        [
          Effect.result(relayers.update(id, { name: "first" }, condition)),
          Effect.result(others.update(id, { policies: { min_balance: balanceAfter(before) } }, condition))
        ],
        { concurrency: "unbounded" }
      )
      if (before === undefined) {
        for (const result of results) assert.strictEqual(tagOf(result), "RelayerNotFound")
        return
      }
      const after = yield* relayers.get(RelayerId.make(command.id))
      const tags = results.map(tagOf)
      if (!command.conditional) {
        assert.deepStrictEqual(tags, ["ok", "ok"])
        assert.strictEqual(after.value.name, "first")
        assert.deepInclude(after.value.policies, { min_balance: balanceAfter(before) })
      } else if (before.value.name === "first") {
        // The first patch changes nothing, so the second one succeeds even after it.
        assert.include(tags, "ok")
      } else {
        assert.deepStrictEqual(tags.toSorted(), ["PreconditionFailed", "ok"])
      }
      model.relayers.set(command.id, after)
      return
    }
    case "CreateAtOnce": {
      const request = requestOf({ ...command, name: "x", network: "base", paused: false })
      const expected = createOutcome(model, request)
      const results = yield* Effect.forEach([relayers, others], (each) => Effect.result(each.create(request)), {
        concurrency: "unbounded"
      })
      const tags = results.map(tagOf).sort()
      if (expected !== "ok") return assert.deepStrictEqual(tags, [expected, expected])
      assert.deepStrictEqual(tags, ["RelayerIdTaken", "ok"])
      model.relayers.set(command.id, yield* relayers.get(RelayerId.make(command.id)))
      return
    }
    case "UseAndDelete": {
      if (!model.relayers.has(command.id) || !model.notifications.has(command.notification)) return
      if (model.users("notification_id", command.notification).length > 0) return
      const [used, deleted] = yield* Effect.all(
        [
          Effect.result(
            relayers.update(RelayerId.make(command.id), {
              notification_id: NotificationId.make(command.notification)
            })
          ),
          Effect.result(Context.get(instances[1], Notifications).delete(NotificationId.make(command.notification)))
        ],
        { concurrency: "unbounded" }
      )
      const outcomes = `${tagOf(used)} ${tagOf(deleted)}`
      assert.include(["ok NotificationInUse", "BadRequest ok"], outcomes)
      if (Result.isSuccess(deleted)) model.notifications.delete(command.notification)
      if (Result.isSuccess(used)) model.relayers.set(command.id, used.success)
    }
  }
})
