// The lock file: what is installed, and what of it whoever installs the package gets. npm's own `--omit dev` leaves out what
// a development dependency needs too, such as `effect` and all below it.
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"

interface Needs {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface Locked extends Needs {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly optional?: boolean
}

/** By place, such as `node_modules/a/node_modules/b`; the package itself is at the empty one. */
export const packages: ReadonlyMap<string, Locked> = new Map(
  Object.entries(JSON.parse(fs.readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")).packages)
)

export const nameOf = (place: string): string => place.replace(/^.*node_modules\//, "")

const needed = (needs: Needs): ReadonlyArray<string> => [
  ...Object.keys(needs.dependencies ?? {}),
  ...Object.keys(needs.optionalDependencies ?? {}),
  ...Object.keys(needs.peerDependencies ?? {}).filter((name) => needs.peerDependenciesMeta?.[name]?.optional !== true)
]

/** Where Node finds `name` from `place`: the nearest `node_modules` that has it. */
const find = (place: string, name: string): string | undefined => {
  const inside = `${place === "" ? "" : `${place}/`}node_modules/${name}`
  if (packages.has(inside)) return inside
  return place === "" ? undefined : find(place.replace(/\/?node_modules\/(@[^/]+\/)?[^/]+$/, ""), name)
}

const reach = (found: Set<string>, place: string): Set<string> => {
  for (const name of needed(packages.get(place) ?? {})) {
    const next = find(place, name)
    if (next !== undefined && !found.has(next)) reach(found.add(next), next)
  }
  return found
}

/** Places of what is not for development alone. */
export const production: ReadonlySet<string> = reach(new Set(), "")

/** What npm prints, as JSON; also where it ends with an error. */
export const npm = (...args: ReadonlyArray<string>): unknown => {
  try {
    return JSON.parse(
      execFileSync("npm", args, { encoding: "utf8", maxBuffer: 2 ** 28, timeout: 120_000, stdio: "pipe" })
    )
  } catch (error) {
    const { stdout } = error as { readonly stdout?: string }
    return stdout === undefined || stdout === "" ? {} : JSON.parse(stdout)
  }
}
