// Carries out the steps of a plan: each creates, changes or deletes one object with the service of its kind.
import { Effect, Result } from "effect"
import type { Redacted } from "effect"
import { ApiKeyId } from "../../domain/access/ApiKey.ts"
import { referencesOf } from "../../domain/configuration/Links.ts"
import type { Plan, Step } from "../../domain/configuration/Plan.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import type { FoundState, WantedState } from "../../domain/configuration/States.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"
import { NetworkId } from "../../domain/network/NetworkId.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { Signers } from "../signers/Signers.ts"
import type { Compared } from "./FoundStates.ts"
import type { Prepared } from "./Plans.ts"
import * as Requests from "./Requests.ts"
import type { Staged } from "./Staging.ts"

export interface CreatedKey {
  readonly id: string
  readonly key: Redacted.Redacted
}

/** A failure of a service, as a caller of its endpoint gets it. */
interface Refusal {
  readonly message: string
}

/** What a step needs beside its object. */
interface Context {
  readonly step: Step
  readonly object: WantedObject
  readonly state: WantedState
  readonly found: FoundState | undefined
  readonly staged: Staged
}

type Written = Effect.Effect<CreatedKey | void, Refusal>

interface Writer {
  readonly create: (context: Context) => Written
  readonly update: (context: Context) => Written
  readonly remove: (id: string) => Written
}

const noStored: ReadonlyMap<string, string> = new Map()

const changedFields = ({ changes }: Step): ReadonlySet<string> =>
  new Set(changes.map(({ path }) => path.split(".")[0] ?? ""))

/** A key loses a relayer that is replaced, and gets it back. */
const regaining = (step: Step): Step =>
  step.action === "none" || step.action === "adopt"
    ? { ...step, action: "update", changes: [{ path: "relayer_ids", isSecret: false, isWarning: false }] }
    : step

export const make = Effect.gen(function* () {
  const networks = yield* Networks
  const notifications = yield* Notifications
  const signers = yield* Signers
  const relayers = yield* Relayers
  const keys = yield* ApiKeys

  const staged = ({ step, staged }: Context): Written =>
    staged.get(step.id) ?? Effect.die(new Error("a signer was not staged before it is written"))

  const defineNetwork = ({ object }: Context): Written => networks.define(Requests.network(object.request))

  const updateNotification = ({ step, object }: Context): Written => {
    const fields = changedFields(step)
    const { paused } = object.request
    const { url, signing_key } = Requests.notification(Requests.complete(object, noStored))
    return Effect.asVoid(
      notifications.update(NotificationId.make(step.id), {
        ...(fields.has("url") ? { url } : {}),
        ...(fields.has("signing_key") ? { signing_key: signing_key ?? "" } : {}),
        ...(fields.has("paused") && typeof paused === "boolean" ? { paused } : {})
      } as Parameters<typeof notifications.update>[1])
    )
  }

  const createKey = ({ object }: Context): Written =>
    Effect.map(keys.create(Requests.apiKey(object.request)), ({ value }): CreatedKey => ({
      id: value.id,
      key: value.key
    }))

  const writers: Readonly<Record<Step["kind"], Writer>> = {
    networks: {
      create: defineNetwork,
      update: defineNetwork,
      remove: (id) => Effect.asVoid(networks.delete(NetworkId.make(id)))
    },
    notifications: {
      create: ({ object }) =>
        Effect.asVoid(
          notifications.create(Requests.notification(Requests.complete(object, noStored)), {
            paused: object.request["paused"] === true
          })
        ),
      update: updateNotification,
      remove: (id) => notifications.delete(NotificationId.make(id))
    },
    signers: {
      create: staged,
      update: staged,
      remove: (id) => signers.delete(SignerId.make(id))
    },
    relayers: {
      create: ({ found, object, state }) =>
        Effect.asVoid(relayers.create(Requests.createdRelayer(object, state, found))),
      update: ({ found, object, step }) =>
        relayers.define(RelayerId.make(step.id), Requests.changedRelayer(object, found)),
      remove: (id) => relayers.delete(RelayerId.make(id))
    },
    api_keys: {
      create: createKey,
      update: ({ step, object }) => Effect.asVoid(keys.define(ApiKeyId.make(step.id), Requests.apiKey(object.request))),
      remove: (id) => Effect.asVoid(keys.delete(ApiKeyId.make(id)))
    }
  }

  /** A built-in network without overrides has nothing to reset. */
  const isNothing = (step: Step, found: FoundState | undefined) =>
    found?.isBuiltin === true && Object.keys(found.fields).length === 0 && step.action === "delete"

  const write = (
    step: Step,
    { object, state }: Partial<Compared>,
    found: FoundState | undefined,
    staged: Staged
  ): Written => {
    const writer = writers[step.kind]
    if (step.action === "delete") return isNothing(step, found) ? Effect.void : writer.remove(step.id)
    if (object === undefined || state === undefined) return Effect.void
    const context = { step, object, state, found, staged }
    if (step.action === "create") return writer.create(context)
    if (step.action === "replace") return Effect.andThen(writer.remove(step.id), writer.create(context))
    return step.changes.length === 0 ? Effect.void : writer.update(context)
  }

  /**
   * Part of a transaction, which has to end if there are violations. A step whose references have failed is left out, so that
   * each reason is said once.
   */
  return Effect.fn("Configuration.write")(function* (
    plan: Plan,
    { compared }: Prepared,
    found: ReadonlyMap<string, FoundState>,
    staged: Staged
  ) {
    const violations: Array<Violation> = []
    const failed = new Set<string>()
    const created: Array<CreatedKey> = []
    const replaced = new Set(plan.steps.filter(({ action }) => action === "replace").map(nameOf))
    for (const planned of plan.steps) {
      const name = nameOf(planned)
      const wanted = compared.get(name)
      const refersTo = (names: ReadonlySet<string>) =>
        wanted !== undefined && referencesOf(wanted.state).some((other) => names.has(nameOf(other)))
      const step = planned.kind === "api_keys" && refersTo(replaced) ? regaining(planned) : planned
      if (step.action === "keep" || step.action === "none") continue
      const isBlocked = refersTo(failed)
      if (isBlocked) {
        failed.add(name)
        continue
      }
      const result = yield* Effect.result(write(step, wanted ?? {}, found.get(name), staged))
      if (Result.isFailure(result)) {
        failed.add(name)
        violations.push({ field: name, message: result.failure.message })
      } else if (result.success !== undefined) created.push(result.success)
    }
    return { violations, created }
  })
})
