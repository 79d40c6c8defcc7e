#!/usr/bin/env node
// The Solidity compiler from npm, which is WebAssembly, with the two uses that forge makes of a compiler: its version, and
// standard JSON.
import { readFileSync } from "node:fs"
import solc from "solc"

process.stdout.write(
  process.argv.includes("--version")
    ? `solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`
    : solc.compile(readFileSync(0, "utf8"))
)
