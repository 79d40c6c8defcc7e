// Applies a plan: in one transaction, in which the plan is computed again and must be the one that the caller has seen.
import { DateTime, Effect, Result } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import * as Applied from "../../domain/configuration/Applied.ts"
import { ApplyRecord } from "../../domain/configuration/ApplyRequest.ts"
import type { ApplyConfiguration, ConfigurationApplied } from "../../domain/configuration/ApplyRequest.ts"
import { PlanOutdated, PlanRefused } from "../../domain/configuration/ConfigurationErrors.ts"
import { countsOf, hasChanges } from "../../domain/configuration/Plan.ts"
import type { Plan } from "../../domain/configuration/Plan.ts"
import { nameOf, unmasked } from "../../domain/configuration/States.ts"
import type { FoundState } from "../../domain/configuration/States.ts"
import type { Violation } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Audit } from "../audit/Audit.ts"
import { Changes } from "../changes/Changes.ts"
import { OutboundWork } from "../limits/OutboundWork.ts"
import * as AppliedForms from "./AppliedForms.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as LastChanges from "./LastChanges.ts"
import type * as Plans from "./Plans.ts"
import type { Found, Prepared } from "./Plans.ts"
import * as Refusals from "./Refusals.ts"
import * as Staging from "./Staging.ts"
import * as Writing from "./Writing.ts"

const gone = "does not exist any more"

const notThisDocument: Violation = {
  field: "digest",
  message: "is that of a plan of another document, or with other options: plan again"
}

export const make = Effect.fnUntraced(function* (plans: Plans.Plans) {
  const lastChanges = yield* LastChanges.make
  const repo = yield* ConfigurationRepo.make
  const stage = yield* Staging.make
  const write = yield* Writing.make
  const refuse = yield* Refusals.make
  const audit = yield* Audit
  const keys = yield* ApiKeys
  const changes = yield* Changes
  const outboundWork = yield* OutboundWork
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
    return { plan, given }
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
      const row = AppliedForms.toRow(step, wanted.name, Applied.ofWanted(state, found, tokens.ofValue))
      return AppliedForms.isSame(row, ownership.rows.get(name)) ? [] : [row]
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

  const commit = Effect.fnUntraced(function* (request: ApplyConfiguration, prepared: Prepared, staged: Staging.Staged) {
    const { name } = prepared.wanted
    yield* repo.lock(name)
    const found = yield* plans.read(prepared, true)
    yield* checkDigest(request, prepared, found)
    const { shown } = yield* plans.compareSecrets(prepared, found.objects)
    const plan = yield* plans.computed(prepared, found, shown)
    const forms = formsOf(plan, prepared, found)
    const objects = new Map<string, FoundState>(found.objects.map((object) => [nameOf(object), object]))
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
    const staged = yield* outboundWork.run(
      Effect.flatMap(first(request, prepared), ({ given, plan }) =>
        Effect.map(stage.asked(plan, prepared), (asked) => new Map([...given.staged, ...asked]))
      ).pipe(Staging.inTime(Staging.tookLonger))
    )
    return yield* transaction(commit(request, prepared, staged)).pipe(
      Effect.catchTag("ApplyRunning", () => Effect.flatMap(repo.explainLock(prepared.wanted.name), Effect.fail))
    )
  })
})
