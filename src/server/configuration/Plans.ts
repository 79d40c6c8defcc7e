// Makes plans: reads what the service has of a document and which forms were last applied, and compares.
import { Clock, Duration, Effect, Option, Result, Schema } from "effect"
import { CreateApiKey } from "../../domain/access/ApiKey.ts"
import type { Scope } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { nameOf, wantedState } from "../../domain/configuration/Comparison.ts"
import type { AppliedState, FoundState } from "../../domain/configuration/Comparison.ts"
import * as Document from "../../domain/configuration/Document.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import type { Kind, WantedConfiguration } from "../../domain/configuration/Document.ts"
import { maxObjects, PlanRefused } from "../../domain/configuration/Plan.ts"
import type { ConfigurationPlan, Plan, PlanConfiguration, PlanOptions } from "../../domain/configuration/Plan.ts"
import * as Planning from "../../domain/configuration/Planning.ts"
import { referencesOf } from "../../domain/configuration/Planning.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { PayloadTooLarge } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { forEachPaced } from "../../sql/Rows.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import type { Managed } from "./ConfigurationRepo.ts"
import * as FoundStates from "./FoundStates.ts"
import { makeTokens, shortenedToken, stableJson } from "./FoundStates.ts"
import type { Compared, Name, Tokens } from "./FoundStates.ts"

// The last applied forms of objects, as the table `managed_objects` has them.

const decodeValue = Schema.decodeUnknownSync(ExactJson.Value)
const encodeValue = Schema.encodeSync(ExactJson.Value)

/** With members in the order of their names, so that the same form is the same text. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isMembers(value)) return value
  const members = Object.entries(value).filter(([, child]) => child !== undefined)
  return Object.fromEntries(
    members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, child]) => [name, sorted(child)])
  )
}

const sortedJson = (value: unknown): string => JSON.stringify(encodeValue(sorted(value)))

const membersOf = (json: string): Readonly<Record<string, unknown>> => {
  const value = decodeValue(ExactJson.parse(json))
  return isMembers(value) ? value : {}
}

const ofRow = ({ applied, secrets_mac }: Managed): AppliedState => ({
  fields: membersOf(applied),
  secrets: new Map(Object.entries(membersOf(secrets_mac)).map(([path, token]) => [path, String(token)]))
})

export const managedRowOf = (
  { kind, id }: Name,
  configuration: string,
  { fields, secrets }: AppliedState
): Managed => ({
  kind,
  id,
  configuration,
  applied: sortedJson(fields),
  secrets_mac: sortedJson(Object.fromEntries(secrets))
})

export const isSameManaged = (one: Managed, other: Managed | undefined): boolean =>
  one.configuration === other?.configuration && one.applied === other.applied && one.secrets_mac === other.secrets_mac

/** The owners and the last applied forms of objects, by their names. */
export interface Ownership {
  readonly rows: ReadonlyMap<string, Managed>
  /** Read when they are asked for: a plan needs those of the objects that differ. */
  readonly appliedOf: (name: string) => AppliedState | undefined
  readonly owned: (objects: ReadonlyArray<FoundState>) => ReadonlyArray<FoundState>
}

const ownershipOf = (rows: ReadonlyArray<Managed>): Ownership => {
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  return {
    rows: byName,
    appliedOf: (name) => {
      const row = byName.get(name)
      return row === undefined ? undefined : ofRow(row)
    },
    owned: (objects) => objects.map((object) => ({ ...object, owner: byName.get(nameOf(object))?.configuration }))
  }
}

// Limits how often a secret is compared: a caller that guesses would otherwise learn from plans when a guess is right.

/** Comparisons of one secret that may find a difference within an hour. */
const maxDifferences = 100
const period = Duration.toMillis(Duration.hours(1))

/** Secrets that are remembered. The oldest is forgotten first. */
const maxRemembered = 10_000

interface Counted {
  readonly since: number
  readonly count: number
}

/** Counts per instance, because it is a limit for guessing and not a quota. */
const makeComparedSecrets = Effect.sync(() => {
  const counted = new Map<string, Counted>()

  /** Whether the secret may be compared. `isEqual` is what the comparison would find. */
  return (path: string, isEqual: boolean): Effect.Effect<boolean> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const before = counted.get(path)
      const current = before !== undefined && now - before.since < period ? before : { since: now, count: 0 }
      if (current.count >= maxDifferences) return false
      if (isEqual) return true
      counted.delete(path)
      counted.set(path, { since: current.since, count: current.count + 1 })
      const oldest = counted.keys().next()
      if (counted.size > maxRemembered && oldest.done !== true) counted.delete(oldest.value)
      return true
    })
})

/** What a caller needs for a section, also to plan: a plan compares the secrets of the section. */
const scopes: Readonly<Record<Kind, Scope>> = {
  networks: "networks:write",
  notifications: "notifications:write",
  signers: "signers:write",
  relayers: "relayers:write",
  api_keys: "api-keys:write"
}

const optionsOf = (given: PlanOptions = {}): Planning.Options => ({
  prune: given.prune ?? false,
  takeOver: given.take_over ?? false,
  replace: new Set(given.replace),
  destroyKeys: new Set(given.destroy_keys)
})

const powersOf = Schema.decodeUnknownSync(Schema.toType(CreateApiKey))

/** A document that is decoded, with what it is compared by. */
export interface Prepared {
  readonly wanted: WantedConfiguration
  readonly compared: ReadonlyMap<string, Compared>
  readonly options: Planning.Options
  readonly templates: ReadonlyMap<string, string>
  readonly tokens: Tokens
}

/** The digest of a plan, and a short token of each found object, by name. */
type Basis = Pick<ConfigurationPlan, "digest" | "seen">

/** What the service has of a document, at one moment. */
export interface Found {
  readonly objects: ReadonlyArray<FoundState>
  readonly ownership: Ownership
  /** Whether the caller has applied the configuration before, or a key that it has created. Absent: nobody has. */
  readonly isMember: boolean | undefined
}

/** Yields in between, so that other requests are served. */
const inPieces = <A, B>(items: ReadonlyArray<A>, f: (item: A) => B) =>
  forEachPaced(items, (item) => Effect.sync(() => f(item)))

export const make = Effect.gen(function* () {
  const repo = yield* ConfigurationRepo.make
  const readFound = yield* FoundStates.make
  const { load: loadTokens } = yield* makeTokens
  const mayCompare = yield* makeComparedSecrets
  const keys = yield* ApiKeys

  const checkCaller = Effect.fnUntraced(function* (sections: ReadonlySet<Kind>) {
    const caller = yield* Caller.current
    const lacks = [...sections].some((kind) => !Caller.hasScope(caller, scopes[kind]))
    if (lacks || caller.relayerIds !== undefined) return yield* new Caller.Forbidden({})
  })

  const prepare = Effect.fnUntraced(function* (request: PlanConfiguration) {
    const opened = Document.open(request.document)
    const bodies = yield* inPieces(opened.bodies, Document.decodeBody)
    const decoded = Document.close(opened, bodies)
    if (Result.isFailure(decoded)) return yield* PlanRefused.of(decoded.failure)
    const wanted = decoded.success
    yield* checkCaller(wanted.sections)
    if (wanted.objects.length > maxObjects) return yield* new PayloadTooLarge({})
    const tokens = yield* loadTokens
    const compared = yield* inPieces(wanted.objects, (object): readonly [string, Compared] => {
      const state = wantedState(object, tokens.ofSecret)
      return [nameOf(object), { object, state, text: stableJson(state) }]
    })
    const prepared: Prepared = {
      wanted,
      compared: new Map(compared),
      options: optionsOf(request.options),
      templates: new Map(Object.entries(request.templates ?? {})),
      tokens
    }
    return prepared
  })

  /** Whether the caller may apply the configuration without taking it over. */
  const membership = Effect.fnUntraced(function* (name: string) {
    const found = yield* repo.findKeys(name)
    if (Option.isNone(found)) return undefined
    const caller = yield* Caller.current
    return Caller.isAdministrator(caller) || found.value.key_ids.includes(caller.id)
  })

  /** The objects that the plan may delete, with the ids of what uses them. */
  const usersOf = ({ compared, options, wanted }: Prepared, rows: ReadonlyArray<Name>) => {
    const isDeletable = (object: Name) =>
      compared.has(nameOf(object))
        ? options.replace.has(nameOf(object))
        : options.prune && wanted.sections.has(object.kind)
    const replaced = [...compared.values()].map(({ state }) => state)
    const deletable = [...rows, ...replaced].filter(isDeletable)
    const ids = (kind: Kind) => deletable.filter((object) => object.kind === kind).map(({ id }) => id)
    return deletable.length === 0
      ? Effect.succeed([])
      : repo.users({ networks: ids("networks"), notifications: ids("notifications"), signers: ids("signers") })
  }

  /** What the service has of everything that the document names or refers to, and that the configuration owns. */
  const read = Effect.fnUntraced(function* (prepared: Prepared, lock: boolean) {
    const { compared, options, tokens, wanted } = prepared
    const named = [...compared.values()].flatMap(({ state }): ReadonlyArray<Name> => [state, ...referencesOf(state)])
    const rows = yield* repo.managed(wanted.name, named)
    const own = rows.filter(({ configuration }) => configuration === wanted.name)
    const users = yield* usersOf(prepared, own)
    const deletable = (name: string) => options.replace.has(name) || (options.prune && !compared.has(name))
    const names = [...named, ...own, ...users]
    const objects = yield* readFound({ names, wanted: compared, deletable, tokens, lock })
    const ownership = ownershipOf(rows)
    const found: Found = {
      objects: ownership.owned(objects),
      ownership,
      isMember: yield* membership(wanted.name)
    }
    return found
  })

  /** The secrets that the document and the service both have, and what the caller may learn about them. */
  const compareSecrets = Effect.fnUntraced(function* ({ compared }: Prepared, found: ReadonlyArray<FoundState>) {
    const fields: Array<string> = []
    const shown: Array<FoundState> = []
    for (const object of found) {
      const name = nameOf(object)
      const secrets = new Map(object.secrets)
      for (const [path, token] of compared.get(name)?.state.secrets ?? []) {
        const stored = object.secrets.get(path)
        if (stored === undefined) continue
        fields.push(`${name}.${path}`)
        if (!(yield* mayCompare(`${name}.${path}`, stored === token))) secrets.set(path, "")
      }
      shown.push({ ...object, secrets })
    }
    return { fields, shown }
  })

  /** Keys that would get more than the caller has, and keys that the caller must not change. */
  const keyRefusals = Effect.fnUntraced(function* ({ compared }: Prepared, plan: Plan) {
    const violations: Array<Violation> = []
    for (const step of plan.steps) {
      const isChanged = step.action !== "none" && step.action !== "keep"
      if (step.kind !== "api_keys" || !isChanged) continue
      const wanted = compared.get(nameOf(step))
      const powers = wanted === undefined ? { name: step.id, scopes: [] } : powersOf(wanted.object.request)
      for (const { field, message } of yield* keys.refusals(step.id, powers)) {
        violations.push({ field: field === "" ? nameOf(step) : `${nameOf(step)}.${field}`, message })
      }
    }
    return violations
  })

  const notMember = ({ options, wanted }: Prepared, { isMember }: Found): ReadonlyArray<Violation> => {
    if (isMember !== false || options.takeOver) return []
    const message = `the configuration ${wanted.name} was applied by other API keys; --take-over applies it with this one from now on`
    return [{ field: "name", message }]
  }

  /** The basis of a plan. Its digest changes with the document, with the options, and with each object that was found. */
  const basisOf = Effect.fnUntraced(function* (
    { compared, options, templates, tokens, wanted }: Prepared,
    { isMember, objects }: Found
  ) {
    const found = yield* inPieces(objects, (object) => [nameOf(object), tokens.ofValue(object)] as const)
    const digest = tokens.digest({
      name: wanted.name,
      sections: wanted.sections,
      wanted: Object.fromEntries([...compared].map(([name, { text }]) => [name, text])),
      found: Object.fromEntries(found),
      isMember,
      options,
      templates
    })
    const basis: Basis = {
      digest,
      seen: Object.fromEntries(found.map(([name, token]) => [name, shortenedToken(token)]))
    }
    return basis
  })

  /** The objects of the document that refer to the named one. */
  const usersIn = (compared: Prepared["compared"], name: string): ReadonlyArray<string> =>
    [...compared].flatMap(([user, { state }]) =>
      referencesOf(state).some((reference) => nameOf(reference) === name) ? [user] : []
    )

  /** `shown`: what was found, with only those secrets that the caller may learn about. */
  const computed = Effect.fnUntraced(function* (prepared: Prepared, found: Found, shown: ReadonlyArray<FoundState>) {
    const { wanted, compared, options, templates, tokens } = prepared
    const begun = Planning.begin({
      name: wanted.name,
      sections: wanted.sections,
      wanted: [...compared.values()].map(({ state }) => state),
      found: shown,
      options,
      templates,
      appliedOf: found.ownership.appliedOf,
      tokenOf: tokens.ofValue
    })
    const decided = yield* inPieces(begun.decisions, (decide) => decide())
    const planned = Planning.end(begun, decided)
    const strange = notMember(prepared, found)
    if (Result.isFailure(planned)) return yield* PlanRefused.of([...strange, ...planned.failure])
    const refused = [...strange, ...(yield* keyRefusals(prepared, planned.success))]
    if (refused.length > 0) return yield* PlanRefused.of(refused)
    return planned.success
  })

  return { prepare, read, compareSecrets, computed, usersIn, basisOf }
})

export type Plans = Effect.Success<typeof make>
