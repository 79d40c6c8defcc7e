// Compiles a program of `clients/` together with the code that it is written against.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { run, tools } from "./commands.mjs"

const options = ["--strict", "--skipLibCheck"]
const target = ["--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "nodenext"]

/** The function that `program` exports. `generate` writes the generated code into `folder`. */
export const compileClient = (folder, program, generate) => {
  mkdirSync(folder)
  // CommonJS finds the generated modules, which are imported without an extension.
  writeFileSync(join(folder, "package.json"), '{"type":"commonjs"}')
  generate()
  copyFileSync(join(tools, "clients", program), join(folder, "main.ts"))
  run("tsc", ...options, ...target, join(folder, "main.ts"))
  return createRequire(import.meta.url)(join(folder, "main.js")).createAndList
}
