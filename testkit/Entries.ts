// The modules of the packages that programs import, such as `effect-relayer/client`, with their sources.
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

/** The package of this folder, below the root: its entries are built from the sources below `sources`. */
const entriesOf = (folder: string, sources: string): ReadonlyArray<readonly [string, string]> => {
  const manifest: Manifest = JSON.parse(fs.readFileSync(path.join(root, folder, "package.json"), "utf8"))
  return Object.entries(manifest.exports).flatMap(([entry, target]) => {
    const built = typeof target === "string" ? target : target.default
    if (!built.startsWith("./dist/")) return []
    const source = built.replace("./dist/", `${sources}/`).replace(/\.js$/, ".ts")
    return [[`${manifest.name}${entry.slice(1)}`, path.join(root, source)] as const]
  })
}

/** Those of the service. */
export const entries: ReadonlyMap<string, string> = new Map(entriesOf(".", "src"))

/** Those of every package that programs of this clone import. */
export const sources: ReadonlyMap<string, string> = new Map([
  ...entries,
  ...entriesOf("packages/client", "src"),
  ...entriesOf("packages/x402", "packages/x402/src")
])
