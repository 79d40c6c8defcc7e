// The version that this process runs: that of the package and, unless the commit is tagged as its release, the commit: `0.1.0+652c174`.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { version } from "../api/Version.ts"

/** `described`: of `git describe --tags --always`. Undefined: the commit has the tag of the version. */
export const commitIn = (described: string): string | undefined => /(?:^|-g)([0-9a-f]{7,40})$/.exec(described)?.[1]

/** `root`: the folder of a clone. Undefined: it is none, or its commit is the release. */
export const commitOf = (root: string): string | undefined => {
  if (!fs.existsSync(path.join(root, ".git"))) return undefined
  const given = ["describe", "--tags", "--always", "--abbrev=7", `--match=v${version}`]
  const { status, stdout } = spawnSync("git", given, { cwd: root, encoding: "utf8" })
  return status === 0 ? commitIn(stdout.trim()) : undefined
}

/** `scripts/bundle.ts` replaces it by the commit of the build, or by nothing for a release. */
declare const BUILT_FROM: string | undefined

const commit = typeof BUILT_FROM === "string" ? BUILT_FROM : commitOf(path.resolve(import.meta.dirname, "../.."))

export const withCommit = (commit: string | undefined): string => (commit ? `${version}+${commit}` : version)

export const running = withCommit(commit)
