// Configurations: plans what has to change so that the service has what a document says, applies it in one transaction, and exports.
import { Context, DateTime, Effect, Layer, Result, Schema } from "effect"
import type { Scope } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { appliedStateOf, nameOf, unmasked } from "../../domain/configuration/Comparison.ts"
import type { FoundState } from "../../domain/configuration/Comparison.ts"
import * as Exported from "../../domain/configuration/Exported.ts"
import { payerOf } from "../../domain/configuration/Planning.ts"
import {
  ApplyConfiguration,
  ApplyRecord,
  countsOf,
  hasChanges,
  ofPlan,
  PlanConfiguration,
  PlanOutdated,
  PlanRefused
} from "../../domain/configuration/Plan.ts"
import type { ConfigurationApplied, Plan } from "../../domain/configuration/Plan.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { PageQuery } from "../../domain/request/Page.ts"
import { checked, ServiceUnavailable } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { Changes } from "../changes/Changes.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Audit } from "../audit/Audit.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { TopUps } from "../ledger/TopUps.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { ServiceSecrets } from "../secrets/Secrets.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as FoundStates from "./FoundStates.ts"
import { makeLastChanges, makeTokens } from "./FoundStates.ts"
import * as Plans from "./Plans.ts"
import { isSameManaged, managedRowOf } from "./Plans.ts"
import type { Found, Prepared } from "./Plans.ts"
import * as Writing from "./Writing.ts"
import { inStagingTime, makeRefusals, makeStaging, stagingTookLonger } from "./Writing.ts"
import type { Staged } from "./Writing.ts"

// Applies a plan: in one transaction, in which the plan is computed again and must be the one that the caller has seen.

const gone = "does not exist any more"

const notThisDocument: Violation = {
  field: "digest",
  message: "is that of a plan of another document, or with other options: plan again"
}

/** Whether a relayer gets top-ups that the document has, or that the service has and the plan may take away. */
const hasTopUps = ({ compared }: Prepared, { objects }: Found): boolean =>
  [...compared.values()].some(({ state }) => payerOf(state) !== undefined) ||
  objects.some((object) => payerOf(object) !== undefined)

/**
 * Ids of the relayers that lose their payer, or get another one. A payer gets no top-ups, and a target pays none, so that the steps of a plan
 * would depend on an order: without what leaves, each step meets only what is there in the end.
 */
const losingPayers = (
  { steps }: Plan,
  { compared }: Prepared,
  found: ReadonlyMap<string, FoundState>
): ReadonlyArray<string> =>
  steps.flatMap((step) => {
    const before = found.get(nameOf(step))
    const payer = before && payerOf(before)
    if (payer === undefined || step.action === "keep") return []
    const wanted = step.action === "delete" ? undefined : compared.get(nameOf(step))
    return payer === (wanted && payerOf(wanted.state)) ? [] : [step.id]
  })

const makeApplying = Effect.fnUntraced(function* (plans: Plans.Plans) {
  const lastChanges = yield* makeLastChanges
  const repo = yield* ConfigurationRepo.make
  const stage = yield* makeStaging
  const write = yield* Writing.make
  const refuse = yield* makeRefusals
  const audit = yield* Audit
  const keys = yield* ApiKeys
  const changes = yield* Changes
  const outboundWork = yield* OutboundWork
  const topUps = yield* TopUps
  const transaction = yield* Transaction.make

  /** Names the callers that have changed objects since the plan, as far as the audit log says. */
  const describe = Effect.fnUntraced(function* (names: ReadonlyArray<string>, found: Found) {
    const objects = found.objects.filter((object) => names.includes(nameOf(object)))
    const changes = yield* lastChanges.of(objects)
    return names.map((name): Violation => {
      const object = objects.find((candidate) => nameOf(candidate) === name)
      if (object === undefined) return { field: name, message: gone }
      const change = changes.get(name)
      if (change === undefined) return { field: name, message: "has changed since the plan" }
      const fields = change.fields.length === 0 ? "" : ` (${change.fields.join(", ")})`
      return {
        field: name,
        message: `has changed since the plan, at ${change.at} by ${Caller.nameOfCaller(change.by)}${fields}`
      }
    })
  })

  /** Which objects of the document refer to an object that has gone. */
  const withUsers = ({ compared }: Prepared, violation: Violation): Violation => {
    const users = plans.usersIn(compared, violation.field)
    return users.length === 0 || violation.message !== gone
      ? violation
      : { ...violation, message: `${violation.message}; used by ${users.join(", ")}` }
  }

  /** Fails unless the digest is that of the document and of what was found. */
  const checkDigest = Effect.fnUntraced(function* (request: ApplyConfiguration, prepared: Prepared, found: Found) {
    const { digest, seen: now } = yield* plans.basisOf(prepared, found)
    if (digest === request.digest) return
    const { seen } = request
    if (seen === undefined) {
      return yield* PlanOutdated.of([
        { field: "digest", message: "is not that of the document and the service: plan again" }
      ])
    }
    const names = [...new Set([...Object.keys(seen), ...Object.keys(now)])].toSorted()
    const changed = names.filter((name) => seen[name] !== now[name])
    if (changed.length === 0) return yield* PlanOutdated.of([notThisDocument])
    const violations = yield* describe(changed, found)
    return yield* PlanOutdated.of(violations.map((violation) => withUsers(prepared, violation)))
  })

  /** The plan of the digest, before anything is locked. */
  const first = Effect.fnUntraced(function* (request: ApplyConfiguration, prepared: Prepared) {
    const found = yield* transaction(Effect.andThen(repo.snapshot, plans.read(prepared, false)))
    yield* checkDigest(request, prepared, found)
    const { shown } = yield* plans.compareSecrets(prepared, found.objects)
    const plan = yield* plans.computed(prepared, found, shown)
    const given = yield* stage.given(plan, prepared)
    yield* refuse(plan, prepared, found.objects, given)
    return { plan, given, setsTopUps: hasTopUps(prepared, found) }
  })

  /** The rows of what the configuration owns after the plan, as far as they change. */
  const formsOf = (plan: Plan, { compared, tokens, wanted }: Prepared, { objects, ownership }: Found) => {
    const before = new Map(objects.map((object) => [nameOf(object), object]))
    return plan.steps.flatMap((step) => {
      const name = nameOf(step)
      const given = compared.get(name)
      if (given === undefined) return []
      const found = before.get(name)
      const state = Result.getOrElse(unmasked(given.state, found), () => given.state)
      const row = managedRowOf(step, wanted.name, appliedStateOf(state, found, tokens.ofValue))
      return isSameManaged(row, ownership.rows.get(name)) ? [] : [row]
    })
  }

  /** The caller and the keys that it descends from. */
  const chainOf = Effect.gen(function* () {
    const { id } = yield* Caller.current
    return [...(yield* keys.ancestors(id)), id]
  })

  const record = Effect.fnUntraced(function* (request: ApplyConfiguration, prepared: Prepared, plan: Plan) {
    const { name } = prepared.wanted
    const { digest, revision } = request
    const { id: by } = yield* Caller.current
    const at = yield* DateTime.now
    yield* repo.save({ name, digest, revision, at, by, keyIds: yield* chainOf })
    const after = { name, digest, counts: countsOf(plan), ...(revision === undefined ? {} : { revision }) }
    yield* audit.record({ action: "configuration.applied", id: name, schema: ApplyRecord, after })
  })

  /** What the plan takes from the configuration. Rows of deleted objects are gone with them, except those of built-in networks. */
  const deletedOf = (plan: Plan) => plan.steps.filter(({ action }) => action === "delete")

  /** `setsTopUps`: as of the plan of the digest. What has got top-ups since makes the digest another one. */
  const commit = Effect.fnUntraced(function* (
    request: ApplyConfiguration,
    prepared: Prepared,
    staged: Staged,
    setsTopUps: boolean
  ) {
    const { name } = prepared.wanted
    yield* repo.lock(name)
    // Before any row: each change of a top-up takes this lock first, and then rows by their numbers.
    if (setsTopUps) yield* topUps.lockSettings
    const found = yield* plans.read(prepared, true)
    yield* checkDigest(request, prepared, found)
    const { shown } = yield* plans.compareSecrets(prepared, found.objects)
    const plan = yield* plans.computed(prepared, found, shown)
    const forms = formsOf(plan, prepared, found)
    const objects = new Map<string, FoundState>(found.objects.map((object) => [nameOf(object), object]))
    if (setsTopUps) yield* topUps.unsetAll(losingPayers(plan, prepared, objects))
    const { created, violations } = yield* changes.together(write(plan, prepared, objects, staged))
    if (violations.length > 0) return yield* PlanRefused.of(violations)
    if (hasChanges(plan) || forms.length > 0) {
      yield* record(request, prepared, plan)
      if (forms.length > 0) yield* repo.own(forms)
      yield* repo.raiseVersions(plan.steps.filter(({ action }) => action === "adopt"))
      if (deletedOf(plan).length > 0) yield* repo.disown(deletedOf(plan))
    }
    const applied: ConfigurationApplied = {
      name,
      digest: request.digest,
      counts: countsOf(plan),
      changed: plan.steps.flatMap(({ kind, id, action }) =>
        action === "none" || action === "keep" ? [] : [{ kind, id, action }]
      ),
      keys: created
    }
    return applied
  })

  return Effect.fn("Configuration.apply")(function* (request: ApplyConfiguration, prepared: Prepared) {
    const { staged, setsTopUps } = yield* outboundWork.run(
      Effect.flatMap(first(request, prepared), ({ given, plan, setsTopUps }) =>
        Effect.map(stage.asked(plan, prepared), (asked) => ({
          staged: new Map([...given.staged, ...asked]),
          setsTopUps
        }))
      ).pipe(inStagingTime(stagingTookLonger))
    )
    return yield* transaction(commit(request, prepared, staged, setsTopUps)).pipe(
      Effect.catchTag("ApplyRunning", () => Effect.flatMap(repo.explainLock(prepared.wanted.name), Effect.fail))
    )
  })
})

// Exports what the service has as a document.

/** What a caller needs to read all sections. */
const exportScopes: ReadonlyArray<Scope> = [
  "relayers:read",
  "signers:read",
  "notifications:read",
  "networks:read",
  "api-keys:read"
]

const makeExporting = Effect.gen(function* () {
  const repo = yield* ConfigurationRepo.make
  const readFound = yield* FoundStates.make
  const { load: loadTokens } = yield* makeTokens
  const transaction = yield* Transaction.make
  const keys = yield* ApiKeys

  const checkCaller = Effect.flatMap(Caller.current, (caller) =>
    caller.relayerIds === undefined && exportScopes.every((scope) => Caller.hasScope(caller, scope))
      ? Effect.void
      : Effect.fail(new Caller.Forbidden({}))
  )

  /** The caller's own key and those that it descends from: no configuration that it applies may contain them. */
  const ownKeys = Effect.flatMap(Caller.current, ({ id }) =>
    Effect.map(keys.ancestors(id), (ancestors) => new Set([id, ...ancestors]))
  )

  const ownedNames = Effect.fnUntraced(function* (name: string) {
    yield* repo.find(name)
    const rows = yield* repo.managed(name, [])
    return rows.map(({ kind, id }) => ({ kind, id }))
  })

  /** `all`: everything that the service has, else what the configuration owns. */
  return Effect.fn("Configuration.document")(function* (name: string, all: boolean) {
    yield* checkCaller
    const tokens = yield* loadTokens
    const read = Effect.gen(function* () {
      const names = all ? ("all" as const) : yield* ownedNames(name)
      return yield* readFound({ names, wanted: new Map(), deletable: () => false, tokens, lock: false })
    })
    const found = yield* transaction(Effect.andThen(repo.snapshot, read))
    const own = yield* ownKeys
    return Exported.make(
      name,
      found.filter(({ kind, id }) => kind !== "api_keys" || !own.has(id))
    )
  })
})

/** Seconds after which a caller may plan again. */
const retryAfter = 1

const checkPlan = checked(PlanConfiguration)
const checkApply = checked(ApplyConfiguration)

/** What the audit log records of a plan that compared secrets. */
const ComparedFields = Schema.Struct({ fields: Schema.Array(Schema.String) })

const makeConfiguration = Effect.gen(function* () {
  const repo = yield* ConfigurationRepo.make
  const plans = yield* Plans.make
  const lastChanges = yield* makeLastChanges
  const stage = yield* makeStaging
  const refuse = yield* makeRefusals
  const applyPrepared = yield* makeApplying(plans)
  const exported = yield* makeExporting
  const audit = yield* Audit
  const transaction = yield* Transaction.make

  const makePlan = Effect.fn("Configuration.plan")(function* (request: PlanConfiguration) {
    const prepared = yield* plans.prepare(yield* checkPlan(request))
    const found = yield* transaction(Effect.andThen(repo.snapshot, plans.read(prepared, false)))
    const { fields, shown } = yield* plans.compareSecrets(prepared, found.objects)
    // Before the answer is known: a refusal can say that a secret differs.
    if (fields.length > 0) {
      const change = { action: "configuration.compared", id: prepared.wanted.name, schema: ComparedFields } as const
      yield* transaction(audit.record({ ...change, after: { fields } }))
    }
    const plan = yield* Effect.flatMap(plans.computed(prepared, found, shown), lastChanges.withDrift)
    const given = yield* inStagingTime(new ServiceUnavailable({}))(stage.given(plan, prepared))
    yield* refuse(plan, prepared, found.objects, given)
    return ofPlan(plan, yield* plans.basisOf(prepared, found))
  })

  const planning = new Set<string>()

  /**
   * Changes nothing. Fails with `PlanRefused` if the document is invalid or the service cannot become what it says, with
   * `Forbidden` if the caller may not write what the document contains, with `TooManyRequests` while another plan of the
   * caller is made, and with `ServiceUnavailable` if too many other keystores wait to be opened, or its own ones take longer
   * than 80 seconds.
   */
  const plan = Effect.fnUntraced(function* (request: PlanConfiguration) {
    const { id } = yield* Caller.current
    if (planning.has(id)) return yield* new Caller.TooManyRequests({ retryAfter })
    planning.add(id)
    return yield* Effect.ensuring(
      makePlan(request),
      Effect.sync(() => planning.delete(id))
    )
  })

  /**
   * Makes all changes of the plan with this digest, or none. Fails with `PlanOutdated` if the plan of the document is another
   * one now, with `ApplyRunning` while another apply of the configuration runs, with `BadGateway` if a key service does not
   * answer, and otherwise as `plan` does.
   */
  const apply = Effect.fnUntraced(function* (given: ApplyConfiguration) {
    const request = yield* checkApply(given)
    return yield* applyPrepared(request, yield* plans.prepare(request))
  })

  return {
    plan,
    apply,
    /** The configurations that were applied, by name. */
    list: (query: PageQuery) => repo.page(pageRequest(query)),
    get: repo.find,
    /**
     * What the configuration owns as a document; `all`: everything that the service has, also if no configuration of this name
     * was applied. A plan of it has no changes.
     */
    document: (name: string, { all = false }: { readonly all?: boolean } = {}) => exported(name, all)
  }
})

export class Configuration extends Context.Service<Configuration, Effect.Success<typeof makeConfiguration>>()(
  "effect-relayer/server/configuration/Configuration"
) {
  /** @internal */
  static readonly layer = Layer.effect(Configuration, makeConfiguration).pipe(Layer.provide(ServiceSecrets.layer))
}
