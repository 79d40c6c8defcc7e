// Plans what has to change so that the service has what a document says. It is a pure function: the service computes it from
// its database, and tests without one.
import { Result } from "effect"
import * as Azure from "../signer/AzureKeyVault.ts"
import * as Google from "../signer/GoogleCloudKms.ts"
import * as Turnkey from "../signer/Turnkey.ts"
import * as Vault from "../signer/Vault.ts"
import type { Violation } from "../request/Violations.ts"
import * as Applied from "./Applied.ts"
import { compare } from "./Comparison.ts"
import type { Change } from "./Comparison.ts"
import type { Kind } from "./Kinds.ts"
import * as Links from "./Links.ts"
import type { Plan, Step } from "./Plan.ts"
import { nameOf, unmasked } from "./States.ts"
import { summaryOf } from "./Summary.ts"
import type { FoundState, WantedState } from "./States.ts"
import { allowsMore } from "./Widening.ts"

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
  readonly appliedOf: (name: string) => Applied.AppliedState | undefined
  /** A keyed hash of a value that may contain a secret. */
  readonly tokenOf: (value: unknown) => string
}

type Refused = ReadonlyArray<Violation>

/** The secrets of logins, which change by `PUT /signers/{id}/credentials`. All other fields of a signer name its key. */
const loginSecrets: Readonly<Record<string, ReadonlyArray<string>>> = {
  vault: Object.keys(Vault.Credentials.fields),
  vault_transit: Object.keys(Vault.Credentials.fields),
  turnkey: Object.keys(Turnkey.Credentials.fields),
  azure_key_vault: Object.keys(Azure.Credentials.fields),
  google_cloud_kms: Object.keys(Google.Credentials.fields),
  pkcs11: ["pin"]
}

const isLogin = (type: unknown, { path, isSecret }: Change): boolean =>
  isSecret && (loginSecrets[String(type)] ?? []).includes(path.slice(path.lastIndexOf(".") + 1))

/** The changes that need another object under the same id. */
const replacing = (wanted: WantedState, changes: ReadonlyArray<Change>): ReadonlyArray<Change> => {
  if (wanted.kind === "signers") return changes.filter((change) => !isLogin(wanted.fields["type"], change))
  if (wanted.kind !== "relayers") return []
  return changes.filter(({ path }) => path === "network" || path === "network_type" || path === "signer_id")
}

const lost: Partial<Record<Kind, string>> = {
  relayers: "its transactions are no longer listed under this id, and open transactions prevent it",
  signers: "its key is deleted, and relayers that use it prevent it"
}

/** Changes that are refused with every option. */
const impossible = (
  wanted: WantedState,
  found: FoundState,
  changes: ReadonlyArray<Change>,
  links: Links.Links
): Refused => {
  const at = (path: string) => `${nameOf(wanted)}.${path}`
  if (wanted.kind !== "networks") return []
  return changes.flatMap(({ path }) => {
    if (path === "from" && found.isBuiltin === true) {
      return [{ field: at(path), message: "a built-in network inherits from no other" }]
    }
    const isChain = path === "chain_id" || path === "passphrase"
    if (isChain && found.isBuiltin === true) {
      return [{ field: at(path), message: "cannot be changed, because the network is built in: use another name" }]
    }
    const users = links.usersOf(wanted)
    return isChain && users.length > 0
      ? [{ field: at(path), message: `cannot be changed, because it is used by ${users.join(", ")}` }]
      : []
  })
}

const marked = (kind: Kind, changes: ReadonlyArray<Change>): ReadonlyArray<Change> =>
  changes.map((change) => ({ ...change, isWarning: change.isWarning || allowsMore(kind, change) }))

/** Says what has changed in an object of the configuration since it was applied. */
const attributed = (
  wanted: WantedState,
  found: FoundState,
  { appliedOf, tokenOf, name }: Input,
  changes: ReadonlyArray<Change>
): ReadonlyArray<Change> => {
  const before = found.owner !== name || changes.length === 0 ? undefined : appliedOf(nameOf(wanted))
  if (before === undefined) return changes
  const originOf = Applied.origins(before, wanted, found, tokenOf)
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

const changed = (
  wanted: WantedState,
  found: FoundState,
  input: Input,
  links: Links.Links
): Result.Result<Step, Refused> => {
  const { kind, id } = wanted
  const name = nameOf(wanted)
  const isForeign = found.owner !== undefined && found.owner !== input.name
  if (isForeign && !input.options.takeOver) {
    const message = `belongs to the configuration ${found.owner}; --take-over moves it to ${input.name}`
    return Result.fail([{ field: name, message }])
  }
  const changes = attributed(wanted, found, input, marked(kind, compare(found, wanted, input.templates)))
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
const undeletable = (found: FoundState, { options }: Input, links: Links.Links): string | undefined => {
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

const removed = (found: FoundState, input: Input, links: Links.Links): Result.Result<Step, Refused> => {
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
  const links = Links.make(wanted, input.found, (object) => isRemoved(object, names, input))
  const kept = links.ordered.map((object) => () => {
    const before = found.get(nameOf(object))
    return before === undefined ? created(object, input) : changed(object, before, input, links)
  })
  const rest = input.found.filter((object) => object.owner === input.name && !names.has(nameOf(object)))
  const deleted = Links.inOrder(rest)
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
