#!/usr/bin/env node
// The process: reads the environment and the arguments, as the only file that does so, and loads what they ask for.
import * as fs from "node:fs"
import { enableCompileCache } from "node:module"
import { fileURLToPath } from "node:url"
import { parseEnv } from "node:util"

const dotEnv = (): Record<string, string | undefined> => {
  try {
    return parseEnv(fs.readFileSync(".env", "utf8"))
  } catch {
    return {}
  }
}

// Beside the code, which whoever can write there could change as well; where nobody can, there is none.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/effect-relayer", import.meta.url)))

const { main } = await import("./cli/Main.ts")
main({
  args: process.argv.slice(2),
  variables: process.env,
  dotEnv: dotEnv(),
  isTerminal: process.stdout.isTTY
})
