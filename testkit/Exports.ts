// What the package exports, by the entries of package.json: a new export is found without a change here.
import { Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const manifest: Manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))

/** The modules of the package that programs import, such as `effect-relayer/client`, with their sources. */
const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([entry, target]) => {
    const built = typeof target === "string" ? target : target.default
    if (!built.startsWith("./dist/")) return []
    const source = built.replace("./dist/", "src/").replace(/\.js$/, ".ts")
    return [[`effect-relayer${entry.slice(1)}`, path.join(root, source)]]
  })
)

interface Export {
  /** `effect-relayer Services.layer`. */
  readonly name: string
  readonly value: unknown
}

const isModule = (value: unknown): value is Record<string, unknown> =>
  Object.prototype.toString.call(value) === "[object Module]"

const exportsOf = (prefix: string, module: Record<string, unknown>): ReadonlyArray<Export> =>
  Object.entries(module).flatMap(([name, value]) =>
    isModule(value) ? exportsOf(`${prefix}${name}.`, value) : [{ name: `${prefix}${name}`, value }]
  )

/** Every export of every entry. The members of a module that an entry exports as a whole are exports of their own. */
export const all = async (): Promise<ReadonlyArray<Export>> => {
  const found: Array<Export> = []
  for (const [entry, source] of entries) found.push(...exportsOf(`${entry} `, await import(source)))
  return found
}

/** The exports that are schemas, each once. */
export const schemas = async (): Promise<ReadonlyMap<Schema.Codec<unknown>, string>> => {
  const found = new Map<Schema.Codec<unknown>, string>()
  for (const { name, value } of await all()) {
    if (Schema.isSchema(value) && !found.has(value as Schema.Codec<unknown>))
      found.set(value as Schema.Codec<unknown>, name)
  }
  return found
}
