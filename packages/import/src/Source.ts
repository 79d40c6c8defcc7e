// The input of an import as plain values. Its readers remember which fields were read, and report what is not carried over.
import type { Tree } from "../../../src/cli/configuration/Tree.ts"
import { isMembers } from "../../../src/domain/configuration/Document.ts"
import { suggestionFor } from "../../../src/domain/request/Violations.ts"
import { classifyAddress, classifyHostName, parseAddress, parseHostName } from "../../../src/outbound/Outbound.ts"

/**
 * `note`: carried with a difference. `dropped`: has no counterpart. `needs`: something has to be done outside of the file.
 * `invalid`: the old service or this one refuses it.
 */
export type Code = "note" | "dropped" | "needs" | "invalid"

export interface Entry {
  /** Path in the input, such as `relayers.0.policies`. */
  readonly at: string
  readonly code: Code
  readonly message: string
}

export interface Report {
  readonly entries: ReadonlyArray<Entry>
  /** A second entry of the same place and code is not added. */
  readonly add: (at: string, code: Code, message: string) => void
  /** Reports a field that the old service refuses, and with it the object that has it. */
  readonly refuse: (at: string, message: string) => void
  /** Whether a field of the object at the place is refused. */
  readonly isRefused: (at: string) => boolean
  /** What becomes of something invalid, as the end of a sentence. Without `--skip-invalid`, nothing is written. */
  readonly leftOut: (what: string) => string
}

export const makeReport = (skipInvalid = false): Report => {
  const entries: Array<Entry> = []
  const seen = new Set<string>()
  const refused: Array<string> = []
  const add = (at: string, code: Code, message: string) => {
    const key = JSON.stringify([at, code])
    if (seen.has(key)) return
    seen.add(key)
    entries.push({ at, code, message })
  }
  return {
    entries,
    add,
    refuse: (at, message) => {
      refused.push(at)
      add(at, "invalid", message)
    },
    isRefused: (at) => refused.some((field) => field.startsWith(`${at}.`)),
    // What has no id is meant by its place.
    leftOut: (what) =>
      `${what === "" ? "it" : what} ${skipInvalid ? "is left out" : "would be left out with --skip-invalid"}`
  }
}

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

/** Names without a dot, and names inside a cluster. */
const localName = /^[^.]+$|\.(svc|cluster)$/i

const isPrivate = (host: string): boolean => {
  const address = parseAddress(host)
  if (address !== undefined) return classifyAddress(address) !== undefined
  const name = parseHostName(host)
  return localName.test(host) || (name !== undefined && classifyHostName(name) !== undefined)
}

/** The host that OUTBOUND_ALLOW has to name so that the service calls the URL. `httpsOnly`: also for http to a public host. Undefined: none. */
export const hostToAllow = (url: string, httpsOnly = false): string | undefined =>
  privateHostOf(url) ?? (httpsOnly && /^http:/iu.test(url) ? hostOf(url) : undefined)

/** What is expected of a URL that the service does not call by itself. Undefined: it calls it. */
export const needOf = (url: string, httpsOnly = false): string | undefined => {
  const host = hostToAllow(url, httpsOnly)
  if (host === undefined) return undefined
  return privateHostOf(url) === undefined
    ? `expected https, or a host that OUTBOUND_ALLOW of the service names: the service would call ${host} by http`
    : `expected a public host, or one that OUTBOUND_ALLOW of the service names: ${host} is not public`
}

/** Stands for a variable, which has no characters that a host may not have. */
const someName = "a-variable.example"

/** The host of the URL. Undefined if there is none, or if a variable names it. */
const hostOf = (url: string): string | undefined => {
  const host = URL.parse(url.replaceAll(/\$\{[^}]+\}/gu, someName))?.hostname.replace(/^\[|\]$/g, "")
  return host === undefined || host === "" || host.includes(someName) ? undefined : host
}

/** The host of the URL, if it is not public as far as its text says. */
export const privateHostOf = (url: string): string | undefined => {
  const host = hostOf(url)
  return host !== undefined && isPrivate(host) ? host : undefined
}
