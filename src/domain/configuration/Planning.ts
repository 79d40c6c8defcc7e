// Plans what has to change so that the service has what a document says: a pure function of both.
import { Result } from "effect"
import { maskUrl } from "../chain/Rpc.ts"
import { tagOf, unionMembers } from "../request/Field.ts"
import type { Violation } from "../request/Violations.ts"
import { ReplaceSignerCredentials } from "../signer/CreateSigner.ts"
import { compare, nameOf, networkTypeOf, originsOf, shown, unmasked } from "./Comparison.ts"
import type { AppliedState, Change, FoundState, WantedState } from "./Comparison.ts"
import { isMembers, kinds, meaningsOf } from "./Document.ts"
import type { Kind } from "./Document.ts"
import type { Plan, Step } from "./Plan.ts"

// The references between objects: what has to exist, in which order objects are created, and which object uses which.

type State = WantedState | FoundState

export interface Reference {
  readonly field: string
  readonly kind: Kind
  readonly id: string
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const what: Readonly<Record<Kind, string>> = {
  networks: "network",
  notifications: "notification",
  signers: "signer",
  relayers: "relayer",
  api_keys: "API key"
}

const valueAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>): unknown =>
  name === undefined ? value : valueAt(isMembers(value) ? value[name] : undefined, rest)

/** The relayer that tops the relayer up. Undefined: none does. */
export const payerOf = ({ fields, kind }: State): string | undefined =>
  kind === "relayers" ? text(valueAt(fields["policies"], ["top_up", "from"])) : undefined

/** The objects that an object names. */
export const referencesOf = (object: State): ReadonlyArray<Reference> => {
  const { fields, kind } = object
  const one = (field: string, of: Kind, id: string | undefined): ReadonlyArray<Reference> =>
    id === undefined ? [] : [{ field, kind: of, id }]
  const type = String(networkTypeOf(object))
  const sibling = (name: string | undefined) => (name === undefined ? undefined : `${type}:${name}`)
  if (kind === "networks") return one("from", "networks", sibling(text(fields["from"])))
  if (kind === "relayers") {
    return [
      ...one("network", "networks", sibling(text(fields["network"]))),
      ...one("signer_id", "signers", text(fields["signer_id"])),
      ...one("notification_id", "notifications", text(fields["notification_id"])),
      ...one("policies.top_up.from", "relayers", payerOf(object))
    ]
  }
  const ids: unknown = fields["relayer_ids"]
  if (kind !== "api_keys" || !Array.isArray(ids)) return []
  return ids.flatMap((id, index) => one(`relayer_ids.${index}`, "relayers", text(id)))
}

/** Kind by kind; networks after those that they inherit from, and relayers after those that top them up. Ties are in the order of ids. */
const inOrderOfCreation = <S extends State>(objects: ReadonlyArray<S>): ReadonlyArray<S> => {
  const byId = (one: S, other: S) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)
  return kinds.flatMap((kind) => {
    const own = objects.filter((object) => object.kind === kind).toSorted(byId)
    if (kind !== "networks" && kind !== "relayers") return own
    const left = new Map(own.map((object) => [object.id, object]))
    const result: Array<S> = []
    const visit = (object: S) => {
      if (!left.delete(object.id)) return
      for (const { id, kind: other } of referencesOf(object)) {
        const parent = other === kind ? left.get(id) : undefined
        if (parent !== undefined) visit(parent)
      }
      result.push(object)
    }
    for (const object of own) visit(object)
    return result
  })
}

/** The networks that inherit from themselves, with their chains. */
const cycles = (networks: ReadonlyArray<State>): ReadonlyArray<Violation> => {
  const parents = new Map(networks.map((network) => [network.id, referencesOf(network)[0]?.id]))
  return networks.flatMap((network) => {
    const seen = new Set<string>()
    let current: string | undefined = network.id
    while (current !== undefined && !seen.has(current)) {
      seen.add(current)
      current = parents.get(current)
    }
    return current === network.id
      ? [{ field: `${nameOf(network)}.from`, message: "would make the network inherit from itself" }]
      : []
  })
}

/** Relayers that get top-ups from one that gets some as well. */
const chains = (relayers: ReadonlyArray<State>): ReadonlyArray<Violation> => {
  const payers = new Map(relayers.map((relayer) => [relayer.id, payerOf(relayer)]))
  return relayers.flatMap((relayer) => {
    const payer = payerOf(relayer)
    return payer !== undefined && payers.get(payer) !== undefined
      ? [{ field: `${nameOf(relayer)}.policies.top_up.from`, message: `gets top-ups itself: ${payer}` }]
      : []
  })
}

interface Links {
  readonly ordered: ReadonlyArray<WantedState>
  readonly violations: ReadonlyArray<Violation>
  /** Names of the relayers that use a network before the plan. */
  readonly usersOf: (object: State) => ReadonlyArray<string>
  /** Names of the objects that refer to an object after the plan. */
  readonly remainingUsersOf: (object: State) => ReadonlyArray<string>
}

const makeLinks = (
  wanted: ReadonlyArray<WantedState>,
  found: ReadonlyArray<FoundState>,
  isRemoved: (object: FoundState) => boolean
): Links => {
  const wantedNames = new Set(wanted.map(nameOf))
  const remaining: ReadonlyArray<State> = [
    ...wanted,
    ...found.filter((object) => !wantedNames.has(nameOf(object)) && !isRemoved(object))
  ]
  const existing = new Set([
    ...remaining.map(nameOf),
    ...found.filter(({ isBuiltin }) => isBuiltin === true).map(nameOf)
  ])
  const dangling = wanted.flatMap((object) =>
    referencesOf(object)
      .filter(({ id, kind }) => !existing.has(nameOf({ kind, id })))
      .map(({ field, kind }) => ({
        field: `${nameOf(object)}.${field}`,
        message: `no ${what[kind]} with this id, in the file or in the service`
      }))
  )
  const users = new Map<string, Array<string>>()
  const usersBefore = new Map<string, Array<string>>()
  const collect = (into: Map<string, Array<string>>, objects: ReadonlyArray<State>) => {
    for (const object of objects) {
      for (const { id, kind } of referencesOf(object)) {
        const name = nameOf({ kind, id })
        const known = into.get(name)
        if (known === undefined) into.set(name, [nameOf(object)])
        else known.push(nameOf(object))
      }
    }
  }
  collect(users, remaining)
  collect(
    usersBefore,
    found.filter(({ kind }) => kind === "relayers")
  )
  return {
    ordered: inOrderOfCreation(wanted),
    violations: [
      ...dangling,
      ...cycles(remaining.filter(({ kind }) => kind === "networks")),
      ...chains(remaining.filter(({ kind }) => kind === "relayers"))
    ],
    usersOf: (object) => usersBefore.get(nameOf(object)) ?? [],
    remainingUsersOf: (object) => users.get(nameOf(object)) ?? []
  }
}

// Describes a new object in a few words. A plan shows them beside the name, so that a reviewer sees its key, chain and rights.

/** How many entries of a list a summary shows. */
const maxShown = 5

/** By type of signer: the configuration fields that name its key. Other types have no such field. */
const keyNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  aws_kms: ["region", "key_id"],
  azure_key_vault: ["vault_url", "key_name", "key_version"],
  google_cloud_kms: ["service_account.project_id", "key.project_id", "key.location", "key.key_ring_id", "key.key_id"],
  pkcs11: ["module", "token_label", "key_label"],
  turnkey: ["organization_id", "private_key_id"],
  vault: ["address", "mount_point", "key_name"],
  vault_transit: ["address", "mount_point", "key_name"]
}

/** The text of a field, by its path. If the value came from a variable, the text is that of the file. */
type TextAt = (path: string) => string | undefined

const listed = (items: ReadonlyArray<unknown>): string => {
  const more = items.length - maxShown
  return `${items.slice(0, maxShown).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const labelled = (label: string, value: string | undefined): string | undefined =>
  value === undefined || value === "" ? undefined : `${label} ${value}`

const ofUrl = (url: string | undefined): string | undefined =>
  url === undefined || url.includes("${") ? url : maskUrl(url)

type Parts = ReadonlyArray<string | undefined>

const summaries: Readonly<Record<Kind, (textAt: TextAt, fields: WantedState["fields"]) => Parts>> = {
  networks: (textAt) => [labelled("from", textAt("from")), labelled("chain id", textAt("chain_id"))],
  notifications: (textAt) => [ofUrl(textAt("url"))],
  signers: (textAt) => {
    const type = textAt("type")
    return [type, ...(keyNames[type ?? ""] ?? []).map((path) => textAt(`config.${path}`))]
  },
  relayers: (textAt) => [
    `${textAt("network_type") ?? ""}:${textAt("network") ?? ""}`,
    labelled("signer", textAt("signer_id")),
    labelled("notification", textAt("notification_id"))
  ],
  api_keys: (textAt, { relayer_ids, scopes }) => [
    listed(list(scopes)),
    relayer_ids === undefined ? undefined : labelled("relayers", listed(list(relayer_ids))),
    labelled("until", textAt("expires_at"))
  ]
}

/** `templates`: texts that are shown instead of values, by the path of the value in the document. */
export const summaryOf = (wanted: WantedState, templates: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const textAt: TextAt = (path) => {
    const value = valueAt(wanted.fields, path.split("."))
    return value === undefined ? undefined : (templates.get(`${nameOf(wanted)}.${path}`) ?? shown(value))
  }
  return summaries[wanted.kind](textAt, wanted.fields).filter((part) => part !== undefined)
}

// What a document says against what the service has: a step per object, or why there is none.

export interface Options {
  readonly prune: boolean
  readonly takeOver: boolean
  /** Names of objects such as `relayers.treasury`, which may be deleted and created again. */
  readonly replace: ReadonlySet<string>
  /** Ids of signers whose only copy of a key may be deleted. */
  readonly destroyKeys: ReadonlySet<string>
}

export interface Input {
  readonly name: string
  /** The sections of the document. */
  readonly sections: ReadonlySet<Kind>
  readonly wanted: ReadonlyArray<WantedState>
  /** All objects that the document names, that it refers to, and that the configuration owns. */
  readonly found: ReadonlyArray<FoundState>
  readonly options: Options
  /** Texts with `${NAME}`, by path. The values of the variables are not shown. */
  readonly templates: ReadonlyMap<string, string>
  /** The last applied form of the object that has a name such as `relayers.treasury`. */
  readonly appliedOf: (name: string) => AppliedState | undefined
  /** A keyed hash of a value that may contain a secret. */
  readonly tokenOf: (value: unknown) => string
}

type Refused = ReadonlyArray<Violation>

/** The types of signers whose secrets are a login, which changes by `PUT /signers/{id}/credentials`. All else names the key. */
const typesWithLogin: ReadonlySet<string> = new Set(unionMembers(ReplaceSignerCredentials.ast).map(tagOf))

/** The changes that need another object under the same id. */
const replacing = ({ fields, kind }: WantedState, changes: ReadonlyArray<Change>): ReadonlyArray<Change> => {
  if (kind === "signers") {
    return changes.filter(({ isSecret }) => !isSecret || !typesWithLogin.has(String(fields["type"])))
  }
  return kind === "relayers" ? changes.filter(({ path }) => meaningsOf(kind).get(path)?.identifies === true) : []
}

const lost: Partial<Record<Kind, string>> = {
  relayers: "its transactions are no longer listed under this id, and open transactions prevent it",
  signers: "its key is deleted, and relayers that use it prevent it"
}

/** Changes that are refused with every option. */
const impossible = (wanted: WantedState, found: FoundState, changes: ReadonlyArray<Change>, links: Links): Refused => {
  const at = (path: string) => `${nameOf(wanted)}.${path}`
  if (wanted.kind !== "networks") return []
  return changes.flatMap(({ path }) => {
    if (path === "from" && found.isBuiltin === true) {
      return [{ field: at(path), message: "a built-in network inherits from no other" }]
    }
    const isChain = meaningsOf("networks").get(path)?.identifies === true
    if (isChain && found.isBuiltin === true) {
      return [{ field: at(path), message: "cannot be changed, because the network is built in: use another name" }]
    }
    const users = links.usersOf(wanted)
    return isChain && users.length > 0
      ? [{ field: at(path), message: `cannot be changed, because it is used by ${users.join(", ")}` }]
      : []
  })
}

/** Says what has changed in an object of the configuration since it was applied. */
const attributed = (
  wanted: WantedState,
  found: FoundState,
  { appliedOf, tokenOf, name }: Input,
  changes: ReadonlyArray<Change>
): ReadonlyArray<Change> => {
  const before = found.owner !== name || changes.length === 0 ? undefined : appliedOf(nameOf(wanted))
  if (before === undefined) return changes
  const originOf = originsOf(before, wanted, found, tokenOf)
  return changes.map((change) => ({ ...change, origin: originOf(change.path) }))
}

const missingValues = (wanted: WantedState): Refused =>
  [...wanted.kept].map((path) => ({
    field: `${nameOf(wanted)}.${path}`,
    message: "there is no stored value, because the object does not exist"
  }))

const created = (wanted: WantedState, { templates }: Input): Result.Result<Step, Refused> => {
  const missing = missingValues(wanted)
  if (missing.length > 0) return Result.fail(missing)
  const { id, kind } = wanted
  const summary = summaryOf(wanted, templates)
  return Result.succeed({ kind, id, action: "create", changes: [], summary, isWarning: false })
}

const changed = (wanted: WantedState, found: FoundState, input: Input, links: Links): Result.Result<Step, Refused> => {
  const { kind, id } = wanted
  const name = nameOf(wanted)
  const isForeign = found.owner !== undefined && found.owner !== input.name
  if (isForeign && !input.options.takeOver) {
    const message = `belongs to the configuration ${found.owner}; --take-over moves it to ${input.name}`
    return Result.fail([{ field: name, message }])
  }
  const changes = attributed(wanted, found, input, compare(found, wanted, input.templates))
  const refused = impossible(wanted, found, changes, links)
  if (refused.length > 0) return Result.fail(refused)
  const isWarning = changes.some((change) => change.isWarning)
  const hard = replacing(wanted, changes)
  if (hard.length > 0) {
    if (!input.options.replace.has(name)) {
      const message = `cannot be changed; --replace ${name} deletes the object and creates it again: ${lost[kind] ?? ""}`
      return Result.fail(hard.map(({ path }) => ({ field: `${name}.${path}`, message })))
    }
    const blocked = undeletable(found, input, links)
    return blocked === undefined
      ? Result.succeed({ kind, id, action: "replace", changes, isWarning: true })
      : Result.fail([{ field: name, message: `cannot be replaced: ${blocked}` }])
  }
  if (found.owner !== input.name) return Result.succeed({ kind, id, action: "adopt", changes, isWarning })
  return Result.succeed({ kind, id, action: changes.length === 0 ? "none" : "update", changes, isWarning })
}

/** Why the object cannot be deleted, if it cannot. */
const undeletable = (found: FoundState, { options }: Input, links: Links): string | undefined => {
  const { openTransactions = 0, channels = 0 } = found
  if (channels > 0) {
    return `it has ${channels} channels: release them first with effect-relayer relayers channels-release ${found.id}`
  }
  if (openTransactions > 0) return `${openTransactions} of its transactions are open`
  if (found.hasOnlyCopyOfKey === true && !options.destroyKeys.has(found.id)) {
    return `its key exists only in the service; --destroy-key ${found.id} deletes the key, too`
  }
  // A key that names a deleted relayer loses it. A key of the document that names none is refused before.
  const users = links.remainingUsersOf(found).filter((name) => !name.startsWith("api_keys."))
  return users.length === 0 ? undefined : `it is used by ${users.join(", ")}`
}

const removed = (found: FoundState, input: Input, links: Links): Result.Result<Step, Refused> => {
  const { kind, id } = found
  const keep = (reason: string): Result.Result<Step, Refused> =>
    Result.succeed({ kind, id, action: "keep", changes: [], reason, isWarning: false })
  if (!input.sections.has(kind)) return keep(`the file has no section ${kind}`)
  if (!input.options.prune) return keep("not in the file; kept, use --prune")
  const blocked = undeletable(found, input, links)
  if (blocked !== undefined) return Result.fail([{ field: nameOf(found), message: `cannot be deleted: ${blocked}` }])
  const isReset = found.isBuiltin === true
  const reason = isReset ? "resets its overrides" : undefined
  return Result.succeed({
    kind,
    id,
    action: "delete",
    changes: [],
    ...(reason === undefined ? {} : { reason }),
    isWarning: kind === "relayers"
  })
}

const byName = <A extends { readonly kind: Kind; readonly id: string }>(
  objects: ReadonlyArray<A>
): ReadonlyMap<string, A> => new Map(objects.map((object) => [nameOf(object), object]))

type Decided = Result.Result<Step, Refused>

/** A plan whose objects are not compared yet. There may be thousands, so the caller compares them in parts. */
export interface Begun {
  readonly name: string
  /** Each function decides about one object. They are in the order of the steps, and do not depend on each other. */
  readonly decisions: ReadonlyArray<() => Decided>
  readonly problems: Refused
}

export const begin = (input: Input): Begun => {
  const problems: Array<Violation> = []
  const found = byName(input.found)
  const names = new Set(input.wanted.map(nameOf))
  const wanted = input.wanted.map((object) =>
    Result.match(unmasked(object, found.get(nameOf(object))), {
      onSuccess: (exact) => exact,
      onFailure: (violations) => {
        problems.push(...violations.map(({ field, message }) => ({ field: `${nameOf(object)}.${field}`, message })))
        return object
      }
    })
  )
  const links = makeLinks(wanted, input.found, (object) => isRemoved(object, names, input))
  const kept = links.ordered.map((object) => () => {
    const before = found.get(nameOf(object))
    return before === undefined ? created(object, input) : changed(object, before, input, links)
  })
  const rest = input.found.filter((object) => object.owner === input.name && !names.has(nameOf(object)))
  const deleted = inOrderOfCreation(rest)
    .toReversed()
    .map((object) => () => removed(object, input, links))
  return { name: input.name, decisions: [...kept, ...deleted], problems: [...problems, ...links.violations] }
}

/** `decided`: the results of all decisions. The result has all problems. */
export const end = ({ name, problems }: Begun, decided: ReadonlyArray<Decided>): Result.Result<Plan, Refused> => {
  const all = [...problems, ...decided.flatMap((result) => (Result.isFailure(result) ? result.failure : []))]
  if (all.length > 0) return Result.fail(all)
  return Result.succeed({
    name,
    steps: decided.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
  })
}

export const plan = (input: Input): Result.Result<Plan, Refused> => {
  const begun = begin(input)
  return end(
    begun,
    begun.decisions.map((decide) => decide())
  )
}

/** Whether the plan deletes the object, if nothing prevents it. */
const isRemoved = (object: FoundState, names: ReadonlySet<string>, { name, options, sections }: Input): boolean =>
  options.prune && object.owner === name && sections.has(object.kind) && !names.has(nameOf(object))
