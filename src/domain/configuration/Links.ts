// The references between objects: what has to exist, in which order objects are created, and which object uses which.
import type { Violation } from "../request/Violations.ts"
import { kinds } from "./Kinds.ts"
import type { Kind } from "./Kinds.ts"
import { nameOf, networkTypeOf } from "./States.ts"
import type { FoundState, WantedState } from "./States.ts"

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
      ...one("notification_id", "notifications", text(fields["notification_id"]))
    ]
  }
  const ids: unknown = fields["relayer_ids"]
  if (kind !== "api_keys" || !Array.isArray(ids)) return []
  return ids.flatMap((id, index) => one(`relayer_ids.${index}`, "relayers", text(id)))
}

/** Kind by kind; networks after the networks that they inherit from. Ties are in the order of ids. */
export const inOrder = <S extends State>(objects: ReadonlyArray<S>): ReadonlyArray<S> => {
  const byId = (one: S, other: S) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)
  return kinds.flatMap((kind) => {
    const own = objects.filter((object) => object.kind === kind).toSorted(byId)
    if (kind !== "networks") return own
    const left = new Map(own.map((object) => [object.id, object]))
    const result: Array<S> = []
    const visit = (object: S) => {
      if (!left.delete(object.id)) return
      for (const { id } of referencesOf(object)) {
        const parent = left.get(id)
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

export interface Links {
  readonly ordered: ReadonlyArray<WantedState>
  readonly violations: ReadonlyArray<Violation>
  /** Names of the relayers that use a network before the plan. */
  readonly usersOf: (object: State) => ReadonlyArray<string>
  /** Names of the objects that refer to an object after the plan. */
  readonly remainingUsersOf: (object: State) => ReadonlyArray<string>
}

export const make = (
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
    ordered: inOrder(wanted),
    violations: [...dangling, ...cycles(remaining.filter(({ kind }) => kind === "networks"))],
    usersOf: (object) => usersBefore.get(nameOf(object)) ?? [],
    remainingUsersOf: (object) => users.get(nameOf(object)) ?? []
  }
}
