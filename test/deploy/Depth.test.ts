import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Depth from "../../scripts/depth.ts"

const root = path.resolve(import.meta.dirname, "../..")
const passed: Depth.Passed = { commit: "c0ffee", date: "2026-11-01T00:00:00Z" }

/** A change a day after the commit that passed. */
const change = (...changed: ReadonlyArray<string>): Depth.Change => ({ passed, changed, date: "2026-11-02T00:00:00Z" })

const stepsOf = (choice: Depth.Choice) => ("steps" in choice ? choice.steps : assert.fail(choice.refusal))

describe("the long steps of a change", () => {
  it("are none without a commit that passed all of them", () => {
    const { changed, date } = change("src/server/lanes/LanesJob.ts")
    assert.deepStrictEqual(stepsOf(Depth.choose({ passed: undefined, changed, date })), [])
  })

  it("are none if no path of money changed", () => {
    assert.deepStrictEqual(stepsOf(Depth.choose(change("docs/api.md", "src/server/events/Events.ts"))), [])
  })

  it("are those of each path of money that changed, in their order", () => {
    const choice = Depth.choose(change("src/server/signers/A.ts", "src/networks/solana/chain/B.ts"))
    assert.deepStrictEqual(stepsOf(choice), ["explorers", "svm", "pkcs11", "ministack", "faults"])
  })

  it("are all of them more than three days after the commit that passed", () => {
    const late = { passed, changed: [], date: "2026-11-04T00:00:01Z" }
    assert.deepStrictEqual(stepsOf(Depth.choose(late)), Depth.steps)
    assert.deepStrictEqual(stepsOf(Depth.choose({ ...late, date: "2026-11-04T00:00:00Z" })), [])
  })

  it("are refused if they are due and take longer than CI allows", () => {
    const late = { passed, changed: [], date: "2026-11-09T00:00:00Z" }
    const choice = Depth.choose(late, 60)
    assert.match("refusal" in choice ? choice.refusal : "", /8\.0 days .*"bash \.ci\/run --all", .*passed-all\.json/)
  })

  it("of all paths of money take at most the minutes that a change may add", () => {
    const names = new Set([...Depth.paths.values()].flat())
    assert.isAtMost(Depth.minutesOf(names), Depth.moneyMinutes)
  })

  it("are those that .ci/run knows, and their paths exist", () => {
    const run = fs.readFileSync(path.join(root, ".ci/run"), "utf8")
    const known = [...run.matchAll(/is_long (\w+)/g)].map(([, name]) => name)
    assert.sameMembers([...new Set(known)], [...Depth.steps])
    for (const below of Depth.paths.keys()) assert.isTrue(fs.existsSync(path.join(root, below)), below)
  })

  it("of the limit are within the time of the workflow", () => {
    const workflow = fs.readFileSync(path.join(root, ".github/workflows/check.yml"), "utf8")
    assert.include(workflow, `timeout-minutes: ${Depth.limitMinutes}\n`)
  })
})

describe("the changed paths", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-depth-"))
  const git = (...given: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...given], { cwd: folder, encoding: "utf8" })
  const write = (name: string, text: string) => fs.writeFileSync(path.join(folder, name), text)
  git("init", "-q")
  for (const name of ["moved", "edited", "changed", "deleted"]) write(name, `${name}\n`.repeat(50))
  git("add", ".")
  git("commit", "-qm", "before")
  git("mv", "moved", "moved elsewhere")
  git("mv", "edited", "edited elsewhere")
  write("edited elsewhere", `${"edited\n".repeat(49)}another\n`)
  write("changed", "other\n")
  write("added", "new\n")
  git("rm", "-q", "deleted")
  git("add", ".")
  const output = git("diff", "-z", "--name-status", "-M100%", "HEAD")
  fs.rmSync(folder, { recursive: true })

  it("are those of files that were added, changed or deleted, or moved with a change", () => {
    assert.sameMembers([...Depth.changedPaths(output)], ["added", "changed", "deleted", "edited", "edited elsewhere"])
  })
})
