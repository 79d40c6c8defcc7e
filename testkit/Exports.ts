// What the package exports, by the entries of package.json: a new export is found without a change here.
import { Schema } from "effect"
import { entries } from "./Entries.ts"

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
