// The version of a build that is no release has its commit.
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { version } from "../../src/api/Version.ts"
import { commitIn, commitOf, running, withCommit } from "../../src/process/Running.ts"

describe("the running version", () => {
  it("has the commit of a clone, unless it is tagged as the release of the version", () => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-version-"))
    const git = (...given: ReadonlyArray<string>) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...given], {
        cwd: root,
        encoding: "utf8"
      }).trim()
    try {
      assert.isUndefined(commitOf(root))
      git("init", "--quiet")
      git("commit", "--quiet", "--allow-empty", "--message=one")
      assert.strictEqual(commitOf(root), git("rev-parse", "--short=7", "HEAD"))
      git("tag", "v9.9.9")
      assert.strictEqual(commitOf(root), git("rev-parse", "--short=7", "HEAD"))
      git("tag", `v${version}`)
      assert.isUndefined(commitOf(root))
      git("commit", "--quiet", "--allow-empty", "--message=two")
      assert.strictEqual(commitOf(root), git("rev-parse", "--short=7", "HEAD"))
    } finally {
      fs.rmSync(root, { recursive: true, force: true })
    }
  })

  it.each([
    ["652c174", "652c174"],
    ["v0.1.0-3-g652c174", "652c174"],
    ["v0.1.0", undefined],
    ["", undefined]
  ])("reads %s", (described, commit) => {
    assert.strictEqual(commitIn(described), commit)
  })

  it("begins with the version of the package", () => {
    assert.strictEqual(withCommit(""), version)
    assert.strictEqual(withCommit(undefined), version)
    assert.strictEqual(withCommit("652c174"), `${version}+652c174`)
    assert.match(running, /^\d+\.\d+\.\d+(\+[0-9a-f]{7,})?$/)
  })
})
