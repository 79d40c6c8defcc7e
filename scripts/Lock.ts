// Reads the lock file and finds the packages that users of this package install. `npm --omit dev` cannot be used for this: it
// also omits peer dependencies that are development dependencies here, such as `effect`.
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

const root = new URL("..", import.meta.url)

/** By place, such as `node_modules/a/node_modules/b`. The empty place is the package of the lock file itself. */
const read = (file: string): ReadonlyMap<string, Locked> =>
  new Map(Object.entries(JSON.parse(fs.readFileSync(new URL(file, root), "utf8")).packages))

export const packages = read("package-lock.json")

/** The lock files of the tools, which only the checks of this repository install. */
export const tools: ReadonlyMap<string, ReadonlyMap<string, Locked>> = new Map(
  fs.globSync(["tools/package-lock.json", "tools/*/package-lock.json"], { cwd: root }).map((file) => [file, read(file)])
)

export const nameOf = (place: string): string => place.replace(/^.*node_modules\//, "")

const needed = (needs: Needs): ReadonlyArray<string> => [
  ...Object.keys(needs.dependencies ?? {}),
  ...Object.keys(needs.optionalDependencies ?? {}),
  ...Object.keys(needs.peerDependencies ?? {}).filter((name) => needs.peerDependenciesMeta?.[name]?.optional !== true)
]

/** The place where Node finds `name` from `place`: the nearest `node_modules` that contains it. */
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

/** The places of all packages that users install. */
export const production: ReadonlySet<string> = reach(new Set(), "")

/** The JSON that npm prints, also if npm ends with an error. */
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
