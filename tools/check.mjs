// Lints openapi.json, generates clients from it, and compiles them. Needs no running service.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const document = join(import.meta.dirname, "..", "openapi.json")
const bin = (name) => join(import.meta.dirname, "node_modules", ".bin", name)
const out = mkdtempSync(join(tmpdir(), "openapi-check-"))

const run = (name, ...args) => {
  const { status } = spawnSync(bin(name), args, { cwd: import.meta.dirname, stdio: "inherit" })
  if (status !== 0) throw new Error(`${name} failed`)
}

try {
  run("redocly", "lint", document)
  run("openapi-typescript", document, "--output", join(out, "types.d.ts"))
  run("openapi-ts", "--input", document, "--output", join(out, "client"))
  run(
    "tsc",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--lib",
    "es2022,dom,dom.iterable",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    join(out, "types.d.ts"),
    join(out, "client", "index.ts")
  )
} finally {
  rmSync(out, { recursive: true })
}
