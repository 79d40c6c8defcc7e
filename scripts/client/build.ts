// Builds packages/client from src/domain, src/api, src/client and the rules of src/networks: one file per module, because tsc writes the types that way.
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { undocumented } from "./Undocumented.ts"

const root = path.resolve(import.meta.dirname, "../..")
const client = path.join(root, "packages/client")
const { exports } = JSON.parse(fs.readFileSync(path.join(client, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const entries = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default]))
const input = entries.map((file) => path.join(root, file.replace("./dist/", "src/").replace(/\.js$/, ".ts")))

/** What these modules of Effect make has no effect before it is used, so that what no program of the client needs is left out. */
const pure = ["Context", "Data", "Duration", "Effect", "Schema", "Struct"]

const bundle = await rolldown({
  input,
  platform: "neutral",
  treeshake: { manualPureFunctions: pure },
  external: /^(effect(\/|$)|node:crypto$)/,
  plugins: [
    {
      name: "undocumented",
      transform: (code, id) => (/\/src\/(api|domain|networks)\//.test(id) ? undocumented(code) : null)
    }
  ]
})
await bundle.write({
  dir: path.join(client, "dist"),
  preserveModules: true,
  preserveModulesRoot: path.join(root, "src")
})

for (const name of ["LICENSE", "openapi.json"]) fs.copyFileSync(path.join(root, name), path.join(client, name))
