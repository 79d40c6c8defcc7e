// The last applied forms of objects, as the table `managed_objects` has them.
import { Schema } from "effect"
import type { AppliedState } from "../../domain/configuration/Applied.ts"
import { nameOf } from "../../domain/configuration/States.ts"
import type { FoundState } from "../../domain/configuration/States.ts"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import type { Managed } from "./ConfigurationRepo.ts"
import type { Name } from "./FoundStates.ts"

const decode = Schema.decodeUnknownSync(ExactJson.Value)
const encode = Schema.encodeSync(ExactJson.Value)

/** With members in the order of their names, so that the same form is the same text. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isMembers(value)) return value
  const members = Object.entries(value).filter(([, child]) => child !== undefined)
  return Object.fromEntries(
    members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, child]) => [name, sorted(child)])
  )
}

const text = (value: unknown): string => JSON.stringify(encode(sorted(value)))

const membersOf = (json: string): Readonly<Record<string, unknown>> => {
  const value = decode(ExactJson.parse(json))
  return isMembers(value) ? value : {}
}

const ofRow = ({ applied, secrets_mac }: Managed): AppliedState => ({
  fields: membersOf(applied),
  secrets: new Map(Object.entries(membersOf(secrets_mac)).map(([path, token]) => [path, String(token)]))
})

export const toRow = ({ kind, id }: Name, configuration: string, { fields, secrets }: AppliedState): Managed => ({
  kind,
  id,
  configuration,
  applied: text(fields),
  secrets_mac: text(Object.fromEntries(secrets))
})

export const isSame = (one: Managed, other: Managed | undefined): boolean =>
  one.configuration === other?.configuration && one.applied === other.applied && one.secrets_mac === other.secrets_mac

/** The owners and the last applied forms of objects, by their names. */
export interface Ownership {
  readonly rows: ReadonlyMap<string, Managed>
  /** Read when they are asked for: a plan needs those of the objects that differ. */
  readonly appliedOf: (name: string) => AppliedState | undefined
  readonly owned: (objects: ReadonlyArray<FoundState>) => ReadonlyArray<FoundState>
}

export const ownership = (rows: ReadonlyArray<Managed>): Ownership => {
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
