// What the services ought to do: their resources in memory, and the commands that are given to both.
import { assert } from "@effect/vitest"
import { Context, Effect, Equal, Redacted, Result } from "effect"
import { NetworkName } from "../../src/domain/Network.ts"
import { NotificationId, SigningKey } from "../../src/domain/Notification.ts"
import { RelayerId } from "../../src/domain/Relayer.ts"
import type { CreateRelayer, Relayer, RelayerFilter, RelayerSort, UpdateRelayer } from "../../src/domain/Relayer.ts"
import { SignerId } from "../../src/domain/Signer.ts"
import { entityTag } from "../../src/domain/Version.ts"
import type { Versioned } from "../../src/domain/Version.ts"
import { Notifications } from "../../src/server/Notifications/Notifications.ts"
import { Relayers } from "../../src/server/Relayers/Relayers.ts"
import { Signers } from "../../src/server/Signers/Signers.ts"
import type { Instance } from "./Instances.ts"
import type { Command, Condition, Patch } from "./ModelCommands.ts"

const key = SigningKey.make(Redacted.make("0123456789abcdef0123456789abcdef"))

interface Note {
  readonly url: string
  readonly has_signing_key: boolean
}

export class Model {
  readonly signers = new Set<string>()
  readonly notifications = new Map<string, Note>()
  /** In creation order. */
  readonly relayers = new Map<string, Versioned<Relayer>>()

  users(field: "signer_id" | "notification_id", id: string) {
    return [...this.relayers.values()].filter(({ value }) => value[field] === id).map(({ value }) => value.id)
  }
}

type Create = Extract<Command, { _tag: "CreateRelayer" }>

const requestOf = ({ id, name, network, signer, notification }: Omit<Create, "_tag" | "at">): CreateRelayer => ({
  id: RelayerId.make(id),
  name,
  network: NetworkName.make(network),
  network_type: "evm",
  paused: false,
  signer_id: SignerId.make(signer),
  ...(notification === undefined ? {} : { notification_id: NotificationId.make(notification) })
})

const createOutcome = (model: Model, request: CreateRelayer): string => {
  const known =
    request.network !== "nowhere" &&
    model.signers.has(request.signer_id) &&
    (request.notification_id === undefined || model.notifications.has(request.notification_id))
  if (!known && (request.network === "nowhere" || !model.signers.has(request.signer_id))) return "BadRequest"
  if (model.relayers.has(request.id ?? "")) return "RelayerIdTaken"
  const taken = [...model.relayers.values()].some(
    ({ value }) => value.signer_id === request.signer_id && value.network === request.network
  )
  return known && !taken ? "ok" : "BadRequest"
}

const patchOf = ({ name, paused, notification_id, cap }: typeof Patch.Type): UpdateRelayer => ({
  ...(name === undefined ? {} : { name }),
  ...(paused === undefined ? {} : { paused }),
  ...(notification_id === undefined
    ? {}
    : { notification_id: notification_id === null ? null : NotificationId.make(notification_id) }),
  ...(cap === undefined ? {} : { policies: { gas_price_cap: cap } })
})

const patched = (relayer: Relayer, { name, paused, notification_id, cap }: typeof Patch.Type): Relayer => {
  if (relayer.network_type !== "evm") throw new Error("all relayers here are evm")
  const { notification_id: told, policies, ...rest } = relayer
  const notification = notification_id === undefined ? told : notification_id
  const { gas_price_cap: _, ...uncapped } = policies ?? {}
  const capped = cap === undefined ? policies : cap === null ? uncapped : { ...uncapped, gas_price_cap: cap }
  return {
    ...rest,
    ...(name === undefined ? {} : { name }),
    ...(paused === undefined ? {} : { paused }),
    ...(notification === null || notification === undefined
      ? {}
      : { notification_id: NotificationId.make(notification) }),
    ...(capped === undefined ? {} : { policies: capped })
  }
}

const ifMatch = (condition: typeof Condition.Type, version: number | undefined): string | undefined =>
  condition === "none" ? undefined : entityTag((version ?? 1) + (condition === "stale" ? 1 : 0))

const tagOf = <A, E extends { readonly _tag: string }>(result: Result.Result<A, E>): string =>
  Result.isSuccess(result) ? "ok" : result.failure._tag

const orders: Record<RelayerSort, (a: Relayer, b: Relayer) => number> = {
  created_at: () => 0,
  "-created_at": () => 0,
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  "-name": (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
}

const read = Effect.fnUntraced(function* (instance: Instance, id: string) {
  return yield* Context.get(instance, Relayers).get(RelayerId.make(id))
})

export const run = Effect.fnUntraced(function* (
  instances: readonly [Instance, Instance],
  model: Model,
  command: Command
) {
  const instance = instances["at" in command ? command.at : 0]
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
      const note: Note = { url: "https://a.example", has_signing_key: command.signed }
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
          ...(command.key === undefined ? {} : { signing_key: command.key === "" ? ("" as const) : key })
        })
      )
      assert.strictEqual(tagOf(result), before === undefined ? "NotificationNotFound" : "ok")
      if (before === undefined || Result.isFailure(result)) return
      const after: Note = {
        url: command.url ?? before.url,
        has_signing_key: command.key === undefined ? before.has_signing_key : command.key !== ""
      }
      assert.deepInclude(result.success, after)
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
      const version = before.version + (Equal.equals(after, before.value) ? 0 : 1)
      assert.deepStrictEqual(result.success, { value: after, version })
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
        // Every page from the other instance.
        const page: Effect.Success<ReturnType<typeof relayers.list>> = yield* (
          seen.length % 2 === 0 ? relayers : others
        ).list(query)
        assert.isAtMost(page.items.length, per_page)
        seen.push(...page.items)
        next = page.next
      } while (next !== undefined)
      const found = [...model.relayers.values()]
        .map(({ value }) => value)
        .filter(
          ({ name, id, paused }) =>
            (filter.paused === undefined || paused === filter.paused) &&
            (filter.q === undefined || `${name}\n${id}`.toLowerCase().includes(filter.q.toLowerCase()))
        )
        .sort(orders[sort])
      assert.deepStrictEqual(seen, sort.startsWith("-") ? found.toReversed() : found)
      return
    }
    case "PatchAtOnce": {
      const before = model.relayers.get(command.id)
      const condition = command.conditional ? ifMatch("current", before?.version) : undefined
      const id = RelayerId.make(command.id)
      const results = yield* Effect.all(
        [
          Effect.result(relayers.update(id, { name: "first" }, condition)),
          Effect.result(others.update(id, { policies: { min_balance: 7n + BigInt(before?.version ?? 0) } }, condition))
        ],
        { concurrency: "unbounded" }
      )
      if (before === undefined) {
        for (const result of results) assert.strictEqual(tagOf(result), "RelayerNotFound")
        return
      }
      const after = yield* read(instance, command.id)
      const tags = results.map(tagOf)
      if (!command.conditional) {
        assert.deepStrictEqual(tags, ["ok", "ok"])
        assert.strictEqual(after.value.name, "first")
        assert.deepInclude(after.value.policies, { min_balance: 7n + BigInt(before.version) })
      } else if (before.value.name === "first") {
        // The first patch changes nothing, so that it may come before the second.
        assert.include(tags, "ok")
      } else {
        assert.deepStrictEqual(tags.toSorted(), ["PreconditionFailed", "ok"])
      }
      model.relayers.set(command.id, after)
      return
    }
    case "CreateAtOnce": {
      const request = requestOf({ ...command, name: "x", network: "base" })
      const expected = createOutcome(model, request)
      const results = yield* Effect.forEach([relayers, others], (each) => Effect.result(each.create(request)), {
        concurrency: "unbounded"
      })
      const tags = results.map(tagOf).sort()
      if (expected !== "ok") return assert.deepStrictEqual(tags, [expected, expected])
      assert.deepStrictEqual(tags, ["RelayerIdTaken", "ok"])
      model.relayers.set(command.id, yield* read(instance, command.id))
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
