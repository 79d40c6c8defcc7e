// Runs commands on the services and on the model, and compares the outcomes.
import { assert } from "@effect/vitest"
import { Context, Effect, Equal, Redacted, Result } from "effect"
import { NotificationId, SigningKey } from "../../src/domain/notification/Notification.ts"
import { RelayerId } from "../../src/domain/relayer/Relayer.ts"
import type { Relayer, RelayerFilter } from "../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../src/domain/signer/Signer.ts"
import { Notifications } from "../../src/server/notifications/Notifications.ts"
import { Relayers } from "../../src/server/relayers/Relayers.ts"
import { Signers } from "../../src/server/signers/Signers.ts"
import type { Instance } from "./Instances.ts"
import { createOutcome, following, ifMatch, listed, patched, patchOf, requestOf, tagOf } from "./Model.ts"
import type { Model, Note } from "./Model.ts"
import { atOnce } from "./ModelAtOnce.ts"
import type { Command } from "./ModelCommands.ts"

const key = SigningKey.make(Redacted.make("0123456789abcdef0123456789abcdef"))

export const run = Effect.fnUntraced(function* (
  instances: readonly [Instance, Instance],
  model: Model,
  command: Command
) {
  if (!("at" in command)) return yield* atOnce(instances, model, command)
  const instance = instances[command.at]
  const relayers = Context.get(instance, Relayers)
  const others = Context.get(instances[1], Relayers)
  switch (command._tag) {
    case "CreateSigner": {
      const result = yield* Effect.result(
        Context.get(instance, Signers).create({ type: "plain", id: SignerId.make(command.id) })
      )
      assert.strictEqual(tagOf(result), model.signers.has(command.id) ? "SignerIdTaken" : "ok")
      model.signers.add(command.id)
      return
    }
    case "DeleteSigner": {
      const result = yield* Effect.result(Context.get(instance, Signers).delete(SignerId.make(command.id)))
      const users = model.users("signer_id", command.id)
      const expected = !model.signers.has(command.id) ? "SignerNotFound" : users.length > 0 ? "SignerInUse" : "ok"
      assert.strictEqual(tagOf(result), expected)
      if (Result.isFailure(result) && result.failure._tag === "SignerInUse") {
        for (const user of users) assert.include(result.failure.error, user)
      }
      if (expected === "ok") model.signers.delete(command.id)
      return
    }
    case "CreateNotification": {
      const note: Note = { url: "https://a.example", has_signing_key: command.signed, paused: false }
      const result = yield* Effect.result(
        Context.get(instance, Notifications).create({
          id: NotificationId.make(command.id),
          type: "webhook",
          url: note.url,
          ...(command.signed ? { signing_key: key } : {})
        })
      )
      assert.strictEqual(tagOf(result), model.notifications.has(command.id) ? "NotificationIdTaken" : "ok")
      if (Result.isSuccess(result)) model.notifications.set(command.id, note)
      return
    }
    case "UpdateNotification": {
      const before = model.notifications.get(command.id)
      const result = yield* Effect.result(
        Context.get(instance, Notifications).update(NotificationId.make(command.id), {
          ...(command.url === undefined ? {} : { url: command.url }),
          ...(command.key === undefined ? {} : { signing_key: command.key === "" ? ("" as const) : key }),
          ...(command.paused === undefined ? {} : { paused: command.paused })
        })
      )
      assert.strictEqual(tagOf(result), before === undefined ? "NotificationNotFound" : "ok")
      if (before === undefined || Result.isFailure(result)) return
      const after: Note = {
        url: command.url ?? before.url,
        has_signing_key: command.key === undefined ? before.has_signing_key : command.key !== "",
        paused: command.paused ?? before.paused
      }
      assert.deepInclude(result.success.value, after)
      model.notifications.set(command.id, after)
      return
    }
    case "DeleteNotification": {
      const result = yield* Effect.result(Context.get(instance, Notifications).delete(NotificationId.make(command.id)))
      const users = model.users("notification_id", command.id)
      const expected = !model.notifications.has(command.id)
        ? "NotificationNotFound"
        : users.length > 0
          ? "NotificationInUse"
          : "ok"
      assert.strictEqual(tagOf(result), expected)
      if (expected === "ok") model.notifications.delete(command.id)
      return
    }
    case "CreateRelayer": {
      const request = requestOf(command)
      const result = yield* Effect.result(relayers.create(request))
      assert.strictEqual(tagOf(result), createOutcome(model, request))
      if (Result.isSuccess(result)) model.relayers.set(command.id, result.success)
      return
    }
    case "UpdateRelayer": {
      const before = model.relayers.get(command.id)
      const condition = ifMatch(command.condition, before?.version)
      const result = yield* Effect.result(
        relayers.update(RelayerId.make(command.id), patchOf(command.patch), condition)
      )
      if (before === undefined) return assert.strictEqual(tagOf(result), "RelayerNotFound")
      if (command.condition === "stale") return assert.strictEqual(tagOf(result), "PreconditionFailed")
      const after = patched(before.value, command.patch)
      const isKnown = after.notification_id === undefined || model.notifications.has(after.notification_id)
      assert.strictEqual(tagOf(result), isKnown ? "ok" : "BadRequest")
      if (Result.isFailure(result)) return
      const version = Equal.equals(after, before.value) ? before.version : following(before.version)
      assert.deepStrictEqual(
        { value: result.success.value, version: result.success.version },
        { value: after, version }
      )
      model.relayers.set(command.id, result.success)
      return
    }
    case "DeleteRelayer": {
      const before = model.relayers.get(command.id)
      const result = yield* Effect.result(
        relayers.delete(RelayerId.make(command.id), ifMatch(command.condition, before?.version))
      )
      const expected =
        before === undefined ? "RelayerNotFound" : command.condition === "stale" ? "PreconditionFailed" : "ok"
      assert.strictEqual(tagOf(result), expected)
      if (expected === "ok") model.relayers.delete(command.id)
      return
    }
    case "ListRelayers": {
      const { per_page, sort } = command
      const filter: RelayerFilter = {
        ...(command.name === undefined ? {} : { q: command.name }),
        ...(command.paused === undefined ? {} : { paused: command.paused })
      }
      const seen: Array<Relayer> = []
      let next: string | undefined
      do {
        const query = { per_page, sort, ...filter, ...(next === undefined ? {} : { cursor: next }) }
        // The pages come from the two instances in turn.
        const page: Effect.Success<ReturnType<typeof relayers.list>> = yield* (
          seen.length % 2 === 0 ? relayers : others
        ).list(query)
        assert.isAtMost(page.items.length, per_page)
        seen.push(...page.items)
        next = page.next
      } while (next !== undefined)
      assert.deepStrictEqual(seen, listed(model, filter, sort))
      return
    }
  }
})
