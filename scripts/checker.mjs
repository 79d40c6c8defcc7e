// Runs a command of tools/checkers: `node scripts/checker.mjs oxlint --deny-warnings`. `npm ci` does not install these packages, nor the
// client of Chromium in tools/browser, whose types `tsc` reads. They are installed when they are first needed, and again after their lock
// file has changed.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

const folder = resolve(import.meta.dirname, "../tools/checkers")
const browser = resolve(import.meta.dirname, "../tools/browser")
const isWindows = process.platform === "win32"
const environment = { ...process.env, PATH: join(folder, "node_modules/.bin") + delimiter + process.env.PATH }

const run = (command, args, cwd = process.cwd()) => {
  const { error, status } = spawnSync(command, args, { cwd, env: environment, shell: isWindows, stdio: "inherit" })
  if (error !== undefined) throw error
  return status ?? 1
}

const packagesOf = (file) => JSON.parse(readFileSync(file, "utf8")).packages

/** npm writes this list after it has installed everything. Packages for other platforms are not in it. */
const installed = "node_modules/.package-lock.json"

/** Written after the diagnostics of Effect were added to TypeScript. Without them, a type check passes although it has errors. */
const patched = "node_modules/.effect-diagnostics"

const isCurrent = (folder) => {
  if (!existsSync(join(folder, installed))) return false
  const present = packagesOf(join(folder, installed))
  return Object.entries(packagesOf(join(folder, "package-lock.json"))).every(
    ([place, { optional, version }]) =>
      place === "" || present[place]?.version === version || (optional === true && present[place] === undefined)
  )
}

const install = (folder) =>
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder) === 0

const installCheckers = () => {
  process.stderr.write("installing the checkers of tools/checkers\n")
  // Gives this TypeScript the diagnostics of Effect.
  const isDone = install(folder) && run("effect-tsgo", ["patch", "--typescript"], folder) === 0
  if (isDone) return writeFileSync(join(folder, patched), "")
  rmSync(join(folder, installed), { force: true })
  process.exit(1)
}

if (!isCurrent(folder) || !existsSync(join(folder, patched))) installCheckers()
const [command, ...args] = process.argv.slice(2)
if (command === "tsc" && !isCurrent(browser) && !install(browser)) process.exit(1)
process.exitCode = run(command, args)
