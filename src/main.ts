#!/usr/bin/env node
// The entry point of the process, and the only file that reads the environment and the arguments.
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

// The cache is beside the code: a user who can write to it could change the code too. If the folder is read-only, there is no cache.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/effect-relayer", import.meta.url)))

const { main } = await import("./cli/Main.ts")
main({
  args: process.argv.slice(2),
  variables: process.env,
  dotEnv: dotEnv(),
  isTerminal: process.stdout.isTTY
})
