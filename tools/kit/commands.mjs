// Runs the installed tools. Their output is shown only if they fail.
import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const tools = join(import.meta.dirname, "..")
export const document = join(tools, "..", "openapi.json")

/** Runs a program and returns what it prints. */
export const execute = (file, args, options = {}) => {
  const { status, error, stdout, stderr } = spawnSync(file, args, { cwd: tools, encoding: "utf8", ...options })
  if (status !== 0) throw new Error(`${[file, ...args].join(" ")} failed: ${error ?? `${stdout}${stderr}`}`)
  return stdout
}

/** Runs a tool of `package.json`. */
export const run = (name, ...args) => void execute(join(tools, "node_modules", ".bin", name), args)

/** A temporary folder in which the installed packages can be imported. PostgreSQL, which is not root, can enter it. */
export const withFolder = async (use) => {
  const folder = mkdtempSync(join(tmpdir(), "openapi-check-"))
  try {
    chmodSync(folder, 0o711)
    symlinkSync(join(tools, "node_modules"), join(folder, "node_modules"))
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
