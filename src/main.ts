#!/usr/bin/env node
// The entry point of the process, and the only file that reads the environment and the arguments.
import * as fs from "node:fs"
import * as modules from "node:module"
import { fileURLToPath } from "node:url"
import * as util from "node:util"
import { refusalOfNode } from "./process/NodeVersion.ts"

const dotEnv = (): Record<string, string | undefined> => {
  try {
    return util.parseEnv(fs.readFileSync(".env", "utf8"))
  } catch {
    return {}
  }
}

// The code of the command is loaded afterwards: an older Node would end with a stack trace while it links it. For the same reason, what
// an older Node may lack is not imported by its name.
const refusal = refusalOfNode(process.version)
if (refusal === undefined) {
  // The cache is beside the code: a user who can write to it could change the code too. If the folder is read-only, there is no cache.
  modules.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/effect-relayer", import.meta.url)))
  const { main } = await import("./cli/Main.ts")
  main({
    args: process.argv.slice(2),
    variables: process.env,
    dotEnv: dotEnv(),
    isTerminal: process.stdout.isTTY
  })
} else {
  process.stderr.write(`${refusal}\n`)
  process.exitCode = 1
}
