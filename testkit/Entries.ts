// The modules of the package that programs import, such as `effect-relayer/client`, with their sources.
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const manifest: Manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))

export const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([entry, target]) => {
    const built = typeof target === "string" ? target : target.default
    if (!built.startsWith("./dist/")) return []
    const source = built.replace("./dist/", "src/").replace(/\.js$/, ".ts")
    return [[`effect-relayer${entry.slice(1)}`, path.join(root, source)]]
  })
)
