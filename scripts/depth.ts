// Chooses the long steps of `.ci/run`: a change runs none, those of the paths of money that it changes, or all of them.
//
//   npm run depth              prints the long steps of this change, and why
//   npm run depth -- --all     prints all of them
//   npm run depth -- --passed  notes that this commit passed `.ci/run --all`
import { DateTime } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")

/** The commit that last passed `.ci/run --all`, and when. Absent: nothing long runs. */
const passedFile = path.join(root, ".ci/passed-all.json")

export interface Passed {
  readonly commit: string
  /** ISO 8601. */
  readonly date: string
}

/** Minutes of `.ci/run` without long steps: as measured in CI, on 28 November 2026. */
const changeMinutes = 28

/** Minutes that CI gives a run: `timeout-minutes` of `.github/workflows/check.yml`. */
export const limitMinutes = 90

/** Minutes that a change of paths of money may add. */
export const moneyMinutes = 15

/** A change that is further behind the commit that passed runs all long steps. */
const trustedDays = 3
const dayMs = 86_400_000

/** Each long step of `.ci/run`, in its order, and its minutes on two idle cores. */
const minutes = {
  explorers: 3,
  rows: 4,
  geth: 7,
  svm: 3,
  wallets: 3,
  x402: 5,
  pkcs11: 1,
  ministack: 2,
  installs: 5,
  clients: 3,
  faults: 5,
  fuzz: 4,
  pages: 10,
  packages: 4
}

export type Step = keyof typeof minutes

export const steps = Object.keys(minutes) as ReadonlyArray<Step>

export const minutesOf = (names: Iterable<Step>): number => [...names].reduce((sum, name) => sum + minutes[name], 0)

/** The paths of money. A change below one of them runs the long steps beside it. */
export const paths: ReadonlyMap<string, ReadonlyArray<Step>> = new Map<string, ReadonlyArray<Step>>([
  ["src/networks/", ["explorers", "faults"]],
  ["src/networks/solana/", ["svm"]],
  ["packages/signer-pkcs11/", ["pkcs11"]],
  ["src/domain/signer/", ["pkcs11", "ministack"]],
  ["src/server/chains/", ["explorers", "faults"]],
  ["src/server/lanes/", ["explorers", "faults"]],
  ["src/server/ledger/", ["explorers", "faults"]],
  ["src/server/signers/", ["pkcs11", "ministack", "faults"]],
  ["src/server/transactions/", ["explorers", "faults"]],
  ["src/sql/", ["faults"]]
])

export interface Change {
  /** The content of `.ci/passed-all.json`, if the repository has its commit. */
  readonly passed: Passed | undefined
  /** The paths that differ from that commit other than by a move. */
  readonly changed: ReadonlyArray<string>
  /** ISO 8601. */
  readonly date: string
}

export type Choice = { readonly steps: ReadonlyArray<Step>; readonly why: string } | { readonly refusal: string }

export const choose = ({ passed, changed, date }: Change, limit = limitMinutes): Choice => {
  if (passed === undefined) return { steps: [], why: "no commit is known to have passed .ci/run --all" }
  const days = (Date.parse(date) - Date.parse(passed.date)) / dayMs
  if (days > trustedDays) {
    const late = `.ci/run --all passed ${days.toFixed(1)} days before this change, and ${trustedDays} are allowed`
    const all = changeMinutes + minutesOf(steps)
    return all <= limit
      ? { steps, why: `${late}: this run is .ci/run --all, and takes about ${all} minutes` }
      : {
          refusal: `${late}: run "bash .ci/run --all", which takes about ${all} minutes, and commit .ci/passed-all.json`
        }
  }
  const money = [...paths].filter(([below]) => changed.some((name) => name.startsWith(below)))
  const chosen = new Set(money.flatMap(([, names]) => names))
  const where = money.map(([below]) => below).join(", ")
  return {
    steps: steps.filter((name) => chosen.has(name)),
    why: where === "" ? `no path of money changed since ${passed.commit}` : `changed since ${passed.commit}: ${where}`
  }
}

/** The paths in the output of `git diff -z --name-status -M100%`, except those of files that only moved. */
export const changedPaths = (output: string): ReadonlyArray<string> => {
  const fields = output.split("\0")
  const changed: Array<string> = []
  for (let at = 0; at + 1 < fields.length;) {
    const [status = "", first = ""] = fields.slice(at)
    // A move has two paths: where the file was, and where it is.
    if (status.startsWith("R")) at += 3
    else {
      changed.push(first)
      at += 2
    }
  }
  return changed
}

const git = (...given: ReadonlyArray<string>): string =>
  execFileSync("git", given, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 2 ** 28 })

const readPassed = (): Passed | undefined => {
  if (!fs.existsSync(passedFile)) return undefined
  const passed: Passed = JSON.parse(fs.readFileSync(passedFile, "utf8"))
  try {
    git("cat-file", "-e", `${passed.commit}^{commit}`)
    return passed
  } catch {
    return undefined
  }
}

const thisChange = (): Change => {
  const passed = readPassed()
  const changed = passed === undefined ? [] : changedPaths(git("diff", "-z", "--name-status", "-M100%", passed.commit))
  return { passed, changed, date: git("log", "-1", "--format=%cI").trim() }
}

const print = (choice: Choice): void => {
  if ("refusal" in choice) {
    process.stderr.write(`${choice.refusal}\n`)
    process.exitCode = 1
    return
  }
  process.stderr.write(`long steps: ${choice.steps.join(", ") || "none"} (${choice.why})\n`)
  process.stdout.write(`${choice.steps.join(" ")}\n`)
}

const notePassed = (): void => {
  const passed: Passed = { commit: git("rev-parse", "HEAD").trim(), date: DateTime.formatIso(DateTime.nowUnsafe()) }
  fs.writeFileSync(passedFile, `${JSON.stringify(passed, null, 2)}\n`)
  process.stdout.write(`${passed.commit} passed .ci/run --all: commit .ci/passed-all.json\n`)
}

if (import.meta.main) {
  if (process.argv[2] === "--passed") notePassed()
  else print(process.argv[2] === "--all" ? { steps, why: "--all" } : choose(thisChange()))
}
