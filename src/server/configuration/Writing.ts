// Carries out the steps of a plan: what the service refuses first, how signers are prepared, and how each object is written.
import { Duration, Effect, Option, Predicate, Redacted, Result, Schema } from "effect"
import { ApiKeyId, CreateApiKey, UpdateApiKey } from "../../domain/access/ApiKey.ts"
import { nameOf, unmasked } from "../../domain/configuration/Comparison.ts"
import type { FoundState, WantedState } from "../../domain/configuration/Comparison.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import type { WantedObject } from "../../domain/configuration/Document.ts"
import { requestOf } from "../../domain/configuration/Exported.ts"
import { PlanRefused } from "../../domain/configuration/Plan.ts"
import type { Plan, Step } from "../../domain/configuration/Plan.ts"
import { referencesOf } from "../../domain/configuration/Planning.ts"
import { CreateNetwork, NetworkId } from "../../domain/network/Network.ts"
import { CreateNotification, NotificationId, UpdateNotification } from "../../domain/notification/Notification.ts"
import { CreateRelayer, RelayerId, relayerUrlLists, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import { BadGateway, ServiceUnavailable } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { CreateSigner, ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { SignerId, signerTypesFor } from "../../domain/signer/Signer.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { cannotServe } from "../relayers/RelayerChanges.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { Signers } from "../signers/Signers.ts"
import { secretsOf } from "./FoundStates.ts"
import type { Compared } from "./FoundStates.ts"
import type { Prepared } from "./Plans.ts"

// The requests that make an object what a document says, with stored values in the places of secrets that stay.

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (Predicate.isObject(value) && !Array.isArray(value) ? value : {})

/** The members with another value at the path; undefined removes it. */
const withValue = (members: Members, [name, ...rest]: ReadonlyArray<string>, value: unknown): Members => {
  if (name === undefined) return members
  const next = rest.length === 0 ? value : withValue(membersOf(members[name]), rest, value)
  return Object.fromEntries(Object.entries({ ...members, [name]: next }).filter(([, member]) => member !== undefined))
}

/** `stored`: the secrets that the service has, by their paths. A key that is to be generated is left out. */
const completeRequest = ({ marks, request }: WantedObject, stored: ReadonlyMap<string, string>): Members => {
  let completed = request
  for (const [path, mark] of marks) {
    const secret = mark === "stored" ? stored.get(path) : undefined
    completed = withValue(completed, path.split("."), secret === undefined ? undefined : Redacted.make(secret))
  }
  return completed
}

/** What was decoded before has the type that its schema says. */
const typed = <S extends Schema.Constraint>(schema: S) => Schema.decodeUnknownSync(Schema.toType(schema))

const toNotification = typed(CreateNotification)

const networkRequest = typed(CreateNetwork)
const relayer = typed(CreateRelayer)

/** A new relayer. The RPC URLs of one that is created again are those that are stored. */
const createRelayerRequest = ({ request }: WantedObject, state: WantedState, found: FoundState | undefined) => {
  const { fields } = Result.getOrElse(unmasked(state, found), () => state)
  const urls = relayerUrlLists.filter((list) => fields[list] !== undefined).map((list) => [list, fields[list]] as const)
  return relayer({ ...request, ...Object.fromEntries(urls) })
}

/** A merge patch (RFC 7396) that makes one value of the other. */
const mergePatchOf = (before: unknown, after: unknown): unknown => {
  if (!isMembers(before) || !isMembers(after)) return after ?? null
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return Object.fromEntries(names.map((name) => [name, mergePatchOf(before[name], after[name])]))
}

/** The fields of a request that a step changes. */
const changedFields = ({ changes }: Step): ReadonlyArray<string> => [
  ...new Set(changes.map(({ path }) => path.split(".")[0] ?? ""))
]

interface Changing {
  readonly step: Step
  readonly state: WantedState
  readonly found: FoundState | undefined
}

/** What the step changes, in the form of an update. Fields that the document does not manage are not among the changes. */
const patchOf = ({ step, state, found }: Changing): Members => {
  const before = found === undefined ? {} : requestOf(found)
  const after = requestOf(state)
  return Object.fromEntries(changedFields(step).map((name) => [name, mergePatchOf(before[name], after[name])]))
}

const relayerPatch = Schema.decodeUnknownSync(UpdateRelayer)
const keyPatch = Schema.decodeUnknownSync(UpdateApiKey)
const notificationPatch = Schema.decodeUnknownSync(UpdateNotification)

const signerRequest = typed(CreateSigner)
const apiKeyRequest = typed(CreateApiKey)
const notificationRequest = (members: Members): CreateNotification => {
  const { paused: _, ...request } = members
  return toNotification(request)
}

const isCredentials = Schema.decodeUnknownOption(Schema.toType(ReplaceSignerCredentials))

/** None: signers of the type have no login. */
const credentialsRequest = ({ type, config }: Members): Option.Option<ReplaceSignerCredentials> =>
  isCredentials({ type, config })

// Prepares the signers of a plan, outside of its transaction: opens given keys, asks key services for new ones, and tries new logins.

interface StagingRefusal {
  readonly message: string
}

/** What stores each prepared signer, by its id. */
export type Staged = ReadonlyMap<string, Effect.Effect<void, StagingRefusal>>

/** The signers whose keys the document gives. */
export interface GivenKeys {
  readonly staged: Staged
  /** What is wrong with their keys. */
  readonly wrong: ReadonlyArray<Violation>
}

/** Key services that are asked at the same time for one apply. */
const maxAsked = 32

/** A queue opens one keystore at a time, and takes two of one caller. */
const openedAtOnce = 1

/** Shorter than the lease of an idempotency key, which is 90 seconds. */
const limit = Duration.seconds(80)

/** Bounds the preparation of signers: `error` is that of what takes longer. */
export const inStagingTime = <E>(error: E) =>
  Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(error) })

/** Key services, or many keystores, take longer than an apply waits. */
export const stagingTookLonger = new BadGateway({
  error: `the keystores and the key services took longer than ${Duration.toSeconds(limit)} seconds`
})

/** Types whose keys are given: what is wrong with them is wrong with the document. */
const isGiven = (object: WantedObject): boolean =>
  object.request["type"] === "plain" || object.request["type"] === "local"

/** What a request waits for here is not part of its time. */
const untimed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentRequest, (current) => {
    current?.timeLimit?.stop()
    return Effect.ensuring(
      self,
      Effect.sync(() => current?.timeLimit?.restart())
    )
  })

export const makeStaging = Effect.gen(function* () {
  const signers = yield* Signers

  const stageLogin = Effect.fnUntraced(function* (
    step: Step,
    object: WantedObject,
    stored: ReadonlyMap<string, string>
  ) {
    const request = credentialsRequest(completeRequest(object, stored))
    if (Option.isNone(request)) return yield* Effect.die(new Error("a signer without a login has another login"))
    return Effect.asVoid(yield* signers.stageCredentials(SignerId.make(step.id), request.value))
  })

  const stageOne = Effect.fnUntraced(function* (step: Step, object: WantedObject) {
    const [found] = object.marks.size === 0 ? [] : yield* signers.configured([step.id], false)
    const stored = found === undefined ? new Map<string, string>() : secretsOf(found)
    if (step.action === "update" || step.action === "adopt") return yield* stageLogin(step, object, stored)
    return Effect.asVoid(yield* signers.stage(signerRequest(completeRequest(object, stored))))
  })

  const isStaged = ({ action, changes, kind }: Step): boolean =>
    kind === "signers" &&
    (action === "create" || action === "replace" || ((action === "update" || action === "adopt") && changes.length > 0))

  /** Prepares the signers that `isChosen`, and gives what is wrong with the others. */
  const stageAll = (
    plan: Plan,
    { compared }: Prepared,
    isChosen: (object: WantedObject) => boolean,
    concurrency: number
  ): Effect.Effect<
    ReadonlyArray<readonly [Step, Result.Result<Effect.Effect<void, StagingRefusal>, StagingRefusal>]>
  > =>
    Effect.forEach(
      plan.steps.filter(isStaged),
      Effect.fnUntraced(function* (step) {
        const wanted = compared.get(nameOf(step))
        if (wanted === undefined || !isChosen(wanted.object)) return []
        return [[step, yield* Effect.result(stageOne(step, wanted.object))] as const]
      }),
      { concurrency }
    ).pipe(
      Effect.map((found) => found.flat()),
      untimed
    )

  const inOrder = (one: Violation, other: Violation) => (one.field < other.field ? -1 : 1)

  const preparedOf = (found: Effect.Success<ReturnType<typeof stageAll>>): Staged =>
    new Map(found.flatMap(([{ id }, result]) => (Result.isSuccess(result) ? [[id, result.success]] : [])))

  /** Prepares the signers whose keys the document gives. It asks nobody, and fails if too many other keystores wait to be opened. */
  const given = Effect.fn("Configuration.stageGiven")(function* (plan: Plan, prepared: Prepared) {
    const found = yield* stageAll(plan, prepared, isGiven, openedAtOnce)
    const isFull = found.some(([, result]) => Result.isFailure(result) && result.failure instanceof ServiceUnavailable)
    if (isFull) return yield* new ServiceUnavailable({})
    const keys: GivenKeys = {
      staged: preparedOf(found),
      wrong: found
        .flatMap(([step, result]) =>
          Result.isFailure(result) ? [{ field: nameOf(step), message: result.failure.message }] : []
        )
        .toSorted(inOrder)
    }
    return keys
  })

  /** Asks the key services for the other signers. */
  const asked = Effect.fn("Configuration.stage")(function* (plan: Plan, prepared: Prepared) {
    const found = yield* stageAll(plan, prepared, (object) => !isGiven(object), maxAsked)
    const unreachable = found.flatMap(([step, result]) =>
      Result.isFailure(result) ? [`${nameOf(step)}: ${result.failure.message}`] : []
    )
    if (unreachable.length > 0) return yield* new BadGateway({ error: unreachable.toSorted().join("\n") })
    return preparedOf(found)
  })

  return { given, asked }
})

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

  const defineNetwork = ({ object }: Context): Written => networks.define(networkRequest(object.request))

  /** A key of webhooks is no field that is compared. */
  const updateNotification = (context: Context): Written => {
    const { step, object } = context
    const { signing_key = "" } = notificationRequest(completeRequest(object, noStored))
    const patch = notificationPatch(patchOf(context))
    const isOtherKey = changedFields(step).includes("signing_key")
    return Effect.asVoid(
      notifications.update(NotificationId.make(step.id), { ...patch, ...(isOtherKey ? { signing_key } : {}) })
    )
  }

  const createKey = ({ object }: Context): Written =>
    Effect.map(keys.create(apiKeyRequest(object.request)), ({ value }): CreatedKey => ({
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
          notifications.create(notificationRequest(completeRequest(object, noStored)), {
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
      create: ({ found, object, state }) => Effect.asVoid(relayers.create(createRelayerRequest(object, state, found))),
      update: (context) =>
        Effect.asVoid(relayers.update(RelayerId.make(context.step.id), relayerPatch(patchOf(context)))),
      remove: (id) => relayers.delete(RelayerId.make(id))
    },
    api_keys: {
      create: createKey,
      update: (context) => Effect.asVoid(keys.update(ApiKeyId.make(context.step.id), keyPatch(patchOf(context)))),
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

// What the service refuses of a plan without asking anybody: the same for the plan itself and for its apply.

/** A step that writes an object, with the object. */
interface WrittenObject extends Compared {
  readonly step: Step
  readonly found: FoundState | undefined
}

const isWritten = ({ action, changes }: Step): boolean =>
  action === "create" || action === "replace" || ((action === "update" || action === "adopt") && changes.length > 0)

/** Whether the object is there already, and stays. */
const isChange = ({ step }: WrittenObject): boolean => step.action === "update" || step.action === "adopt"

export const makeRefusals = Effect.gen(function* () {
  const networks = yield* Networks
  const notifications = yield* Notifications
  const signers = yield* Signers
  const relayers = yield* Relayers

  const ofNotification = (written: WrittenObject) => {
    const { url } = written.object.request
    const isNew = !isChange(written) || written.step.changes.some(({ path }) => path === "url")
    return typeof url === "string" && isNew ? notifications.checkUrl(url) : Effect.void
  }

  /** Why the signer of a new relayer cannot serve its network. The key of a new signer that a key service has is not known yet. */
  const unfitSigners = Effect.fnUntraced(function* (
    created: ReadonlyArray<CreateRelayer>,
    { compared }: Prepared,
    plan: Plan
  ) {
    const made = new Set(plan.steps.filter(({ action }) => action === "create" || action === "replace").map(nameOf))
    const isMade = (id: string) => made.has(nameOf({ kind: "signers", id }))
    const stored = [...new Set(created.map(({ signer_id }) => String(signer_id)))].filter((id) => !isMade(id))
    const configured = stored.length === 0 ? [] : yield* signers.configured(stored, false)
    const byId = new Map(configured.map(({ signer }) => [String(signer.id), signer]))
    const unfit = new Map<string, string>()
    for (const { id, network_type, signer_id } of created) {
      const signer = byId.get(signer_id)
      const type = compared.get(nameOf({ kind: "signers", id: signer_id }))?.object.request["type"]
      const given = isMade(signer_id) && typeof type === "string" ? type : undefined
      if (signer !== undefined && !(network_type in signer.addresses)) {
        unfit.set(String(id), `signer_id: ${cannotServe(signer, network_type)}`)
      } else if (given !== undefined && !signerTypesFor(network_type).some((fit) => fit === given)) {
        unfit.set(String(id), `signer_id: ${cannotServe({ type: given }, network_type)}`)
      }
    }
    return unfit
  })

  /** The messages by the names of the objects. */
  const messagesOf = Effect.fnUntraced(function* (
    written: ReadonlyArray<WrittenObject>,
    prepared: Prepared,
    plan: Plan
  ) {
    const messages = new Map<string, string>()
    const of = (kind: Step["kind"]) => written.filter(({ step }) => step.kind === kind)
    const add = (kind: Step["kind"], found: ReadonlyMap<string, string>) => {
      for (const [id, message] of found) messages.set(nameOf({ kind, id }), message)
    }
    add("networks", yield* networks.refusals(of("networks").map(({ object }) => networkRequest(object.request))))
    for (const notification of of("notifications")) {
      const result = yield* Effect.result(ofNotification(notification))
      if (Result.isFailure(result)) messages.set(nameOf(notification.step), result.failure.message)
    }
    const changed = of("relayers").filter(isChange)
    add(
      "relayers",
      yield* relayers.refusals(
        new Map(changed.map((written) => [RelayerId.make(written.step.id), relayerPatch(patchOf(written))]))
      )
    )
    const created = of("relayers")
      .filter((relayer) => !isChange(relayer))
      .map(({ found, object, state }) => createRelayerRequest(object, state, found))
    add("relayers", yield* unfitSigners(created, prepared, plan))
    for (const request of created) {
      const result = yield* Effect.result(relayers.check(request))
      if (Result.isFailure(result))
        messages.set(nameOf({ kind: "relayers", id: String(request.id) }), result.failure.message)
    }
    return messages
  })

  /** Fails with everything that is refused. An object that refers to a refused one is left out, so that each reason is said once. */
  return Effect.fn("Configuration.refusals")(function* (
    plan: Plan,
    prepared: Prepared,
    found: ReadonlyArray<FoundState>,
    { wrong }: Pick<GivenKeys, "wrong">
  ) {
    const before = new Map(found.map((object) => [nameOf(object), object]))
    const written = plan.steps.filter(isWritten).flatMap((step): ReadonlyArray<WrittenObject> => {
      const compared = prepared.compared.get(nameOf(step))
      return compared === undefined ? [] : [{ ...compared, step, found: before.get(nameOf(step)) }]
    })
    const messages = yield* messagesOf(written, prepared, plan)
    for (const { field, message } of wrong) messages.set(field, message)
    const failed = new Set<string>()
    const violations: Array<Violation> = []
    for (const { state, step } of written) {
      const name = nameOf(step)
      const message = messages.get(name)
      const isBlocked = referencesOf(state).some((reference) => failed.has(nameOf(reference)))
      if (isBlocked || message !== undefined) failed.add(name)
      if (!isBlocked && message !== undefined) violations.push({ field: name, message })
    }
    if (violations.length > 0) return yield* PlanRefused.of(violations)
  })
})
