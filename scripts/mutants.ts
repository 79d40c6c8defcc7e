// Takes the rules of test/mutants/ out of copies of this repository, one at a time, and runs the test that has to notice it.
// `npm run mutants -- TEXT…` runs those whose area, name, file or test contains a text; `--list` only prints them.
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { areas } from "../test/mutants/index.ts"
import { misfit, mutated } from "../test/mutants/Mutant.ts"
import type { Mutant } from "../test/mutants/Mutant.ts"

const { values: flags, positionals: texts } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "boolean", default: false }, workers: { type: "string", default: "2" } }
})

/** Copies in which tests run at the same time. */
const workers = Math.floor(Number(flags.workers))

const home = path.resolve(import.meta.dirname, "..")

/** Bytes that the copies and the databases of their tests need. */
const room = 2 ** 30

/** Milliseconds that a test file may take without a mutant; with one, it may take `slower` times as long as without, and `least` in any case. */
const patience = { most: 600_000, least: 60_000, slower: 5 } as const

const print = (line: string) => process.stdout.write(`${line}\n`)

const firstLine = (text: string | undefined) => (text ?? "").trim().split("\n")[0] ?? ""

interface Case extends Mutant {
  readonly id: string
}

const isWanted = ({ id, file, test }: Case) =>
  texts.length === 0 || texts.some((text) => [id, file, test].some((one) => one.includes(text)))

const cases: ReadonlyArray<Case> = Object.entries(areas)
  .flatMap(([area, mutants]) => mutants.map((mutant) => ({ ...mutant, id: `${area}/${mutant.name}` })))
  .filter(isWanted)
  // Those of one test follow each other. Tests of the server come first, because they take the most time.
  .toSorted((one, other) => other.test.localeCompare(one.test))

// Copies

const hasRoom = (folder: string) => {
  if (!fs.existsSync(folder)) return false
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize > room
}

/** PostgreSQL runs as another user if this is root, and enters the folder. */
const makeEnterable = (folder: string) => {
  fs.mkdirSync(folder, { recursive: true })
  fs.chmodSync(folder, 0o711)
}

/** What git has or would add, with the installed packages of this repository. */
const makeCopy = (folder: string) => {
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
  const { stdout } = spawnSync("git", listing, { cwd: home, encoding: "utf8", maxBuffer: 2 ** 26 })
  makeEnterable(folder)
  for (const file of stdout.split("\0")) {
    const [from, to] = [path.join(home, file), path.join(folder, file)]
    if (file === "" || !fs.existsSync(from)) continue
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE)
  }
  fs.symlinkSync(path.join(home, "node_modules"), path.join(folder, "node_modules"))
  makeEnterable(path.join(folder, ".tmp"))
}

// Runs of tests

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly message: string
    readonly assertionResults: ReadonlyArray<{
      readonly fullName: string
      readonly status: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

interface Run {
  /** Undefined: the tests did not end, or could not begin. */
  readonly report: Report | undefined
  readonly output: string
  readonly milliseconds: number
}

/** Process groups of tests. */
const running = new Set<number>()

const kill = (pid: number, signal: NodeJS.Signals) => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** PostgreSQL is in no group of the tests that start it. They stop it unless they are killed. */
const stopServers = (folder: string) => {
  for (const file of fs.globSync("*/.tmp/*/{,*/}postmaster.pid", { cwd: folder })) {
    const pid = Number.parseInt(fs.readFileSync(path.join(folder, file), "utf8"), 10)
    if (pid > 0) kill(pid, "SIGQUIT")
  }
}

const runTests = (folder: string, test: string, names: string | undefined, most: number): Promise<Run> => {
  const began = performance.now()
  const file = path.join(folder, ".tmp", "report.json")
  fs.rmSync(file, { force: true })
  const options = ["--reporter=json", `--outputFile=${file}`, "--bail=1", ...(names === undefined ? [] : ["-t", names])]
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", test, ...options], {
    cwd: folder,
    detached: true,
    // A bundle takes longer to make than the few processes of one test take to start.
    env: { ...process.env, TMPDIR: path.join(folder, ".tmp"), TEST_BUNDLE: path.join(folder, "src/main.ts") },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const { pid = 0 } = child
  running.add(pid)
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += String(bytes)))
  const timer = setTimeout(() => {
    kill(-pid, "SIGKILL")
    stopServers(path.dirname(folder))
  }, most)
  return new Promise((resolve) => {
    child.on("close", () => {
      clearTimeout(timer)
      running.delete(pid)
      const report = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined
      resolve({ report, output, milliseconds: performance.now() - began })
    })
  })
}

const resultsOf = (report: Report | undefined) =>
  (report?.testResults ?? []).flatMap(({ assertionResults }) => assertionResults)

const literal = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")

// What tests say without a mutant

interface Baseline {
  /** Why nothing can be learned from the test. Undefined: it passes. */
  readonly fault: string | undefined
  readonly passed: ReadonlyArray<string>
  readonly milliseconds: number
}

/** One pattern for all mutants of a test file. Undefined: one of them needs the whole file. */
const namesOf = (test: string): string | undefined => {
  const names = cases.filter((one) => one.test === test).map(({ only }) => only)
  return names.includes(undefined) ? undefined : [...new Set(names)].map((name) => literal(name ?? "")).join("|")
}

const baselineOf = async (folder: string, test: string): Promise<Baseline> => {
  const { report, output, milliseconds } = await runTests(folder, test, namesOf(test), patience.most)
  const results = resultsOf(report)
  const passed = results.filter(({ status }) => status === "passed").map(({ fullName }) => fullName)
  const failed = results.find(({ status }) => status === "failed")
  const none = passed.length === 0 ? `no test runs: ${firstLine(report?.testResults[0]?.message ?? output)}` : undefined
  const fault = failed === undefined ? none : `${failed.fullName}: ${firstLine(failed.failureMessages[0])}`
  return { fault, passed, milliseconds }
}

const baselines = new Map<string, Promise<Baseline>>()

// What tests say about a mutant

interface Outcome {
  readonly verdict: "caught" | "SURVIVED" | "FAULTY"
  /** The test that has noticed it, or why nothing is known. */
  readonly why: string
}

const faulty = (why: string): Outcome => ({ verdict: "FAULTY", why })

/** A test that fails like this has not looked at the rule. */
const wrongReason =
  /^(?:\w*: )?(?:ReferenceError|SyntaxError|TypeError)\b|timed out in \d+ ?ms|Failed to (?:parse|resolve|load)/

const judge = ({ report, output }: Run): Outcome => {
  if (report === undefined) return faulty(`the tests did not end: ${firstLine(output)}`)
  const results = resultsOf(report)
  const failed = results.filter(({ status }) => status === "failed")
  const right = failed.find(({ failureMessages }) => !wrongReason.test(failureMessages[0] ?? ""))
  if (right !== undefined) return { verdict: "caught", why: right.fullName }
  if (failed[0] !== undefined) return faulty(`fails for a wrong reason: ${firstLine(failed[0].failureMessages[0])}`)
  const message = report.testResults.map((file) => file.message).find((text) => text !== "")
  return results.some(({ status }) => status === "passed") && message === undefined
    ? { verdict: "SURVIVED", why: "" }
    : faulty(`no test ran: ${firstLine(message ?? output)}`)
}

const outcomeOf = async (folder: string, mutant: Case): Promise<Outcome> => {
  const { only, test } = mutant
  const unfit = misfit(mutant, home)
  if (unfit !== undefined) return faulty(`does not apply: ${unfit}`)
  const baseline = baselines.get(test) ?? baselineOf(folder, test)
  baselines.set(test, baseline)
  const { fault, milliseconds, passed } = await baseline
  if (fault !== undefined) return faulty(`its test fails without it: ${fault}`)
  if (only !== undefined && !passed.some((name) => name.includes(only))) return faulty(`no test is named "${only}"`)
  const file = path.join(folder, mutant.file)
  const text = fs.readFileSync(file, "utf8")
  fs.writeFileSync(file, mutated(mutant, text))
  const most = Math.max(patience.least, patience.slower * milliseconds)
  const run = await runTests(folder, test, only && literal(only), most)
  fs.writeFileSync(file, text)
  return judge(run)
}

// All of them

const outcomes = new Map<Case, Outcome>()

const work = async (folder: string, queue: Array<Case>) => {
  makeCopy(folder)
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const began = performance.now()
    const outcome = await outcomeOf(folder, next)
    outcomes.set(next, outcome)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    print(`${outcome.verdict.padEnd(8)} ${next.id} (${seconds} s)${outcome.why === "" ? "" : `: ${outcome.why}`}`)
  }
}

const runAll = async () => {
  const folder = fs.mkdtempSync(path.join(["/dev/shm"].find(hasRoom) ?? os.tmpdir(), "mutants-"))
  makeEnterable(folder)
  const remove = () => {
    for (const group of running) kill(-group, "SIGKILL")
    stopServers(folder)
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      remove()
      process.exit(130)
    })
  }
  const queue = [...cases]
  const folders = Array.from({ length: workers }, (_, index) => path.join(folder, String(index)))
  await Promise.all(folders.map((one) => work(one, queue))).finally(remove)
}

const report = () => {
  const of = (verdict: Outcome["verdict"]) => [...outcomes].filter(([, outcome]) => outcome.verdict === verdict)
  for (const [{ id, file, rule, test }, { verdict, why }] of [...of("FAULTY"), ...of("SURVIVED")]) {
    print(`\n${verdict} ${id}: ${rule}\n  ${file}\n  ${test}${why === "" ? "" : `\n  ${why}`}`)
  }
  for (const area of Object.keys(areas)) {
    const ours = [...outcomes].filter(([{ id }]) => id.startsWith(`${area}/`))
    const caught = ours.filter(([, { verdict }]) => verdict === "caught")
    if (ours.length > 0) print(`${area}: ${caught.length} of ${ours.length} caught`)
  }
  print(`${of("caught").length} of ${cases.length} mutants caught in ${Math.round(performance.now() / 1000)} s`)
  if (of("caught").length < cases.length) process.exitCode = 1
}

const refuse = (message: string) => {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}

if (!(workers >= 1)) {
  refuse(`--workers: expected a number from 1, not ${flags.workers}`)
} else if (cases.length === 0) {
  refuse(`no mutant contains ${texts.join(" or ")}`)
} else if (flags.list) {
  for (const { id, rule, source, test } of cases) print(`${id}: ${rule} (${source})\n  ${test}`)
} else {
  await runAll()
  report()
}
