// The last change of objects: when, and by which caller, according to the audit log.
import { DateTime, Effect } from "effect"
import type { Kind } from "../../domain/configuration/Kinds.ts"
import type { Drift, Plan, Step } from "../../domain/configuration/Plan.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import { Audit } from "../audit/Audit.ts"
import type { Name } from "./FoundStates.ts"

/** The names of the kinds in the audit log. */
const auditResources = {
  networks: "network",
  notifications: "notification",
  signers: "signer",
  relayers: "relayer",
  api_keys: "key"
} as const satisfies Record<Kind, string>

const kindOf: ReadonlyMap<string, string> = new Map(
  Object.entries(auditResources).map(([kind, resource]) => [resource, kind])
)

interface LastChange {
  /** In ISO 8601, in UTC with milliseconds, as responses have it. */
  readonly at: string
  /** Id of the caller. */
  readonly by: string
  /** Paths of at most two names. */
  readonly fields: ReadonlyArray<string>
}

const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json))

/** The members in which two values differ. Empty if one of them is not an object. */
const differing = (one: unknown, other: unknown): ReadonlyArray<string> => {
  if (!isMembers(one) || !isMembers(other)) return []
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted()
  return names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
}

/** The paths in which two JSON texts differ: fields and members of fields. Empty if a text is missing. */
const changedFields = (before: string | null, after: string | null): ReadonlyArray<string> => {
  const [old, now] = [parsed(before), parsed(after)]
  return differing(old, now).flatMap((name) => {
    const inner = isMembers(old) && isMembers(now) ? differing(old[name], now[name]) : []
    return inner.length === 0 ? [name] : inner.map((child) => `${name}.${child}`)
  })
}

export const make = Effect.gen(function* () {
  const audit = yield* Audit

  /** By the names of the objects. */
  const of = Effect.fnUntraced(function* (objects: ReadonlyArray<Name>) {
    if (objects.length === 0) return new Map<string, LastChange>()
    const records = yield* audit.lastChanges(objects.map(({ kind, id }) => ({ resource: auditResources[kind], id })))
    return new Map(
      records.map(({ resource, id, at, keyId, before, after }): readonly [string, LastChange] => [
        `${kindOf.get(resource) ?? resource}.${id}`,
        { at: DateTime.formatIso(DateTime.makeUnsafe(at)), by: keyId, fields: changedFields(before, after) }
      ])
    )
  })

  /** Adds when, and by which caller, objects were changed outside of the file. */
  const withDrift = Effect.fnUntraced(function* (plan: Plan) {
    const drifted = plan.steps.filter(({ changes }) =>
      changes.some(({ origin }) => origin !== undefined && origin !== "file")
    )
    const last = yield* of(drifted)
    const names = new Set(drifted.map(nameOf))
    const driftOf = (step: Step): Drift => {
      const change = last.get(nameOf(step))
      return change === undefined ? {} : { at: change.at, by: change.by }
    }
    const steps = plan.steps.map((step) => (names.has(nameOf(step)) ? { ...step, drift: driftOf(step) } : step))
    return { ...plan, steps }
  })

  return { of, withDrift }
})
