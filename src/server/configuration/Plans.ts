// Makes plans: reads what the service has of a document, and compares.
import { Effect, Option, Result, Schema } from "effect"
import { CreateApiKey } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { Scope } from "../../domain/access/Scope.ts"
import { PlanRefused } from "../../domain/configuration/ConfigurationErrors.ts"
import * as Document from "../../domain/configuration/Document.ts"
import type { Kind } from "../../domain/configuration/Kinds.ts"
import * as Links from "../../domain/configuration/Links.ts"
import type { Plan } from "../../domain/configuration/Plan.ts"
import * as Planning from "../../domain/configuration/Planning.ts"
import { maxObjects } from "../../domain/configuration/PlanRequest.ts"
import type { ConfigurationPlan, PlanConfiguration, PlanOptions } from "../../domain/configuration/PlanRequest.ts"
import { nameOf, wantedState } from "../../domain/configuration/States.ts"
import type { FoundState } from "../../domain/configuration/States.ts"
import type { WantedConfiguration } from "../../domain/configuration/Wanted.ts"
import { PayloadTooLarge } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import * as Paced from "../../sql/Paced.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import * as AppliedForms from "./AppliedForms.ts"
import type { Ownership } from "./AppliedForms.ts"
import * as ComparedSecrets from "./ComparedSecrets.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as FoundStates from "./FoundStates.ts"
import type { Compared, Name } from "./FoundStates.ts"
import * as Tokens from "./Tokens.ts"

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
  readonly tokens: Tokens.Tokens
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
  Paced.forEach(items, (item) => Effect.sync(() => f(item)))

export const make = Effect.gen(function* () {
  const repo = yield* ConfigurationRepo.make
  const readFound = yield* FoundStates.make
  const { load: loadTokens } = yield* Tokens.make
  const mayCompare = yield* ComparedSecrets.make
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
      return [nameOf(object), { object, state, text: Tokens.stable(state) }]
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
    const named = [...compared.values()].flatMap(({ state }): ReadonlyArray<Name> => [
      state,
      ...Links.referencesOf(state)
    ])
    const rows = yield* repo.managed(wanted.name, named)
    const own = rows.filter(({ configuration }) => configuration === wanted.name)
    const users = yield* usersOf(prepared, own)
    const deletable = (name: string) => options.replace.has(name) || (options.prune && !compared.has(name))
    const names = [...named, ...own, ...users]
    const objects = yield* readFound({ names, wanted: compared, deletable, tokens, lock })
    const ownership = AppliedForms.ownership(rows)
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
      seen: Object.fromEntries(found.map(([name, token]) => [name, Tokens.shortened(token)]))
    }
    return basis
  })

  /** The objects of the document that refer to the named one. */
  const usersIn = (compared: Prepared["compared"], name: string): ReadonlyArray<string> =>
    [...compared].flatMap(([user, { state }]) =>
      Links.referencesOf(state).some((reference) => nameOf(reference) === name) ? [user] : []
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
