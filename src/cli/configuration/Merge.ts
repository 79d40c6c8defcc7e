// Merges the files of a configuration, and applies overlays (RFC 7396).
import { kinds } from "../../domain/configuration/Kinds.ts"
import { isNull, placeText } from "./Tree.ts"
import type { Entry, MapTree, Problem, Tree } from "./Tree.ts"

const sections: ReadonlySet<string> = new Set(kinds)

interface Merged {
  readonly tree: MapTree
  readonly problems: ReadonlyArray<Problem>
}

const joinSection = (name: string, one: Entry, other: Entry, problems: Array<Problem>): Entry => {
  if (isNull(other.value)) return one
  if (isNull(one.value)) return other
  if (one.value.type !== "map" || other.value.type !== "map") return one.value.type === "map" ? other : one
  const entries = new Map(one.value.entries)
  for (const [id, entry] of other.value.entries) {
    const known = entries.get(id)
    if (known === undefined) entries.set(id, entry)
    else {
      const message = `is here twice, the first time at ${placeText(known.place)}`
      problems.push({ path: `${name}.${id}`, message, place: entry.place })
    }
  }
  return { place: one.place, value: { ...one.value, entries } }
}

/** `version` and `name` may be in several files if they are equal. */
const joinHead = (name: string, one: Entry, other: Entry, problems: Array<Problem>): Entry => {
  const isSame = one.value.type === "scalar" && other.value.type === "scalar" && one.value.value === other.value.value
  if (!isSame) {
    problems.push({ path: name, message: `is different at ${placeText(one.place)}`, place: other.place })
  }
  return one
}

/** Joins the sections of files. The same id in two files is a problem that names both places. */
export const join = (first: MapTree, others: ReadonlyArray<MapTree>): Merged => {
  const problems: Array<Problem> = []
  const entries = new Map(first.entries)
  for (const other of others) {
    for (const [name, entry] of other.entries) {
      const known = entries.get(name)
      const joined = sections.has(name) ? joinSection : joinHead
      entries.set(name, known === undefined ? entry : joined(name, known, entry, problems))
    }
  }
  return { tree: { ...first, entries }, problems }
}

/** Applies a merge patch: null removes a member, a map patches a map, every other value replaces. */
export const overlay = (target: Tree | undefined, patch: Tree): Tree => {
  if (patch.type !== "map") return patch
  const entries = new Map(target?.type === "map" ? target.entries : [])
  for (const [name, entry] of patch.entries) {
    if (isNull(entry.value)) entries.delete(name)
    else entries.set(name, { place: entry.place, value: overlay(entries.get(name)?.value, entry.value) })
  }
  return { ...patch, entries }
}
