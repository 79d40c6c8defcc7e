// The input of an import as plain values, and readers that remember which fields were read.
import { isMembers } from "../../domain/configuration/Document.ts"
import { suggestionFor } from "../../domain/request/Violations.ts"
import type { Tree } from "../configuration/Tree.ts"
import type { Code, Report } from "./Report.ts"

/** Integers beyond 2^53 are `bigint`, so that no digit is lost. Null counts as absent. `text` changes every text. */
export const plain = (tree: Tree, text: (value: string) => string = (value) => value): unknown => {
  if (tree.type === "list") return tree.items.map((item) => plain(item, text))
  if (tree.type === "map") {
    return Object.fromEntries([...tree.entries].map(([name, { value }]) => [name, plain(value, text)]))
  }
  const { value, source } = tree
  if (typeof value === "string") return text(value)
  if (typeof value !== "bigint") return value
  // Hex without quotes is an address or a key, not a number.
  if (source !== undefined && /^0x/i.test(source)) return source
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

export interface Fields {
  readonly at: string
  /** Undefined if the field is absent or null. */
  readonly take: (name: string) => unknown
  readonly text: (name: string) => string | undefined
  /** A text that the old service refuses to be without. Reported and empty if it is absent. */
  readonly required: (name: string) => string
  readonly list: (name: string) => ReadonlyArray<unknown>
  readonly object: (name: string) => Fields | undefined
  /** Reports the fields that were not read. */
  readonly end: (code?: Code) => void
}

export const path = (at: string, name: string | number): string => (at === "" ? String(name) : `${at}.${name}`)

/** Reads an object of the input. A value that is no object is reported as invalid, and has no fields. */
export const fields = (value: unknown, at: string, report: Report): Fields => {
  const members = isMembers(value) ? value : {}
  if (!isMembers(value)) report.add(at, "invalid", "expected an object")
  const read = new Set<string>()
  const take = (name: string): unknown => {
    read.add(name)
    const found = Object.hasOwn(members, name) ? members[name] : undefined
    return found === null ? undefined : found
  }
  return {
    at,
    take,
    text: (name) => {
      const found = take(name)
      if (found === undefined || typeof found === "string") return found
      report.refuse(path(at, name), "expected a text")
      return undefined
    },
    required: (name) => {
      const found = take(name)
      if (typeof found === "string" && found !== "") return found
      report.refuse(path(at, name), found === undefined || found === "" ? "is required" : "expected a text")
      return ""
    },
    list: (name) => {
      const found = take(name)
      if (found === undefined) return []
      if (Array.isArray(found)) return found
      report.refuse(
        path(at, name),
        `expected a list${typeof found === "string" ? " of texts: put the text in brackets" : ""}`
      )
      return []
    },
    object: (name) => {
      const found = take(name)
      return found === undefined ? undefined : fields(found, path(at, name), report)
    },
    end: (code = "dropped") => {
      for (const name of Object.keys(members).filter((name) => !read.has(name))) {
        const meant = suggestionFor(name, [...read])
        const suggestion = meant === undefined ? "" : `; did you mean ${meant}?`
        const message = `is not a known field${suggestion}`
        if (code === "invalid") report.refuse(path(at, name), message)
        else report.add(path(at, name), code, message)
      }
    }
  }
}

/** The fields whose names are given, if they are present, with their values. */
export const picked = (source: Fields, names: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, source.take(name)] as const).filter(([, value]) => value !== undefined))
