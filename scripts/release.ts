// Releases the version of package.json. It packs the service, its client, its signers of PKCS#11 and its facilitator of x402 into the folder `release`, beside the
// bill of materials, the chart of Helm, their provenance and their checksums, publishes these bytes, builds and pushes the image, and tags the commit. `--dry-run`
// packs and checks everything and changes nothing outside; without helm it leaves out the chart, without a Docker daemon the image, and says so. `npm version` comes before it.
import { DateTime } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as BaseImages from "./BaseImages.ts"
import { own } from "./manifest.ts"
import * as Provenance from "./Provenance.ts"

const { values } = parseArgs({ options: { "dry-run": { type: "boolean" }, image: { type: "string" } } })
const isDryRun = values["dry-run"] === true
const startedOn = DateTime.formatIso(DateTime.nowUnsafe())

const root = path.resolve(import.meta.dirname, "..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")
const run = (command: string, ...args: ReadonlyArray<string>) =>
  execFileSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "inherit"] })
const succeeds = (command: string, ...args: ReadonlyArray<string>) =>
  spawnSync(command, args, { cwd: root, stdio: "ignore" }).status === 0
const say = (line: string) => process.stdout.write(`${line}\n`)

// `npm run build` adds the commit to the version unless it builds a release.
if (!isDryRun) process.env["RELEASE"] = "true"

const { version } = JSON.parse(read("package.json")) as { readonly version: string }
const tag = `v${version}`
const image = values.image ?? `effect-relayer:${version}`

/** A workflow begins with the tag; who releases from a machine gets it at the end. */
const isTagged = succeeds("git", "rev-parse", "--verify", "--quiet", `refs/tags/${tag}`)

const problems: Array<string> = []
const demand = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}

demand(
  read("src/api/Version.ts").includes(`"${version}"`),
  `src/api/Version.ts has another version than ${version}: npm version`
)
for (const [file, text] of [
  ["deploy/kubernetes.yaml", `effect-relayer:${version}\n`],
  ["deploy/helm/Chart.yaml", `\nappVersion: ${version}\n`]
] as const) {
  demand(read(file).includes(text), `${file} has another version`)
}
for (const file of BaseImages.files) {
  const unpinned = BaseImages.unpinned(read(file))
  demand(unpinned.length === 0, `${file} names ${unpinned.join(", ")} without a digest: npm run images`)
}
if (!isDryRun) {
  demand(read("CHANGELOG.md").includes(`\n## ${version}\n`), `CHANGELOG.md has no chapter ${version}`)
  demand(run("git", "status", "--porcelain") === "", "there are uncommitted changes")
  demand(
    !isTagged || run("git", "rev-parse", `${tag}^{commit}`) === run("git", "rev-parse", "HEAD"),
    `the tag ${tag} names another commit`
  )
  demand(values.image !== undefined, "--image is required: the name of the image in your registry, with its tag")
}

interface Packed {
  readonly name: string
  readonly filename: string
  readonly version: string
  readonly size: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** The files that users need, by package. The service is published last: it names the version of the package of its signers. */
const needed = {
  "@effect-relayer/client": [
    "dist/client/index.js",
    "dist/client/index.d.ts",
    "dist/client/node/verifyWebhook.js",
    "openapi.json",
    "README.md",
    "LICENSE"
  ],
  "@effect-relayer/signer-pkcs11": ["dist/index.js", "dist/index.d.ts", "README.md", "LICENSE"],
  "@effect-relayer/x402": [
    "dist/index.js",
    "dist/index.d.ts",
    "dist/http.js",
    "dist/http.d.ts",
    "dist/layers.js",
    "dist/layers.d.ts",
    "README.md",
    "LICENSE"
  ],
  "effect-relayer": [
    "dist/main.js",
    "dist/index.d.ts",
    "openapi.json",
    "relayers.schema.json",
    "sbom.json",
    "README.md",
    "LICENSE"
  ]
}

/** Checks that the package has all files that users need, and none that only this repository needs. */
const checkFiles = (expected: ReadonlyArray<string>, packed: Packed) => {
  const names = packed.files.map(({ path }) => path)
  for (const name of expected) demand(names.includes(name), `the package ${packed.name} lacks ${name}`)
  const strange = names.filter(
    (name) => !/^(dist|examples)\//.test(name) && name !== "package.json" && !expected.includes(name)
  )
  demand(strange.length === 0, `the package ${packed.name} contains ${strange.join(", ")}`)
  const listed = run(
    "tar",
    "--extract",
    "--to-stdout",
    "--file",
    path.join(output, packed.filename),
    "package/package.json"
  )
  const more = own.filter((name) => name in JSON.parse(listed))
  demand(more.length === 0, `the package.json of ${packed.name} has ${more.join(", ")}`)
  demand(packed.version === version, `the package ${packed.name} has the version ${packed.version}: npm version`)
  say(`package: ${packed.name} ${packed.version}, ${names.length} files, ${Math.round(packed.size / 1000)} kB`)
}

const selection = (name: string) => (name === "effect-relayer" ? [] : ["--workspace", name])

/** The folder of everything that is released. */
const output = path.join(root, "release")
fs.rmSync(output, { recursive: true, force: true })
fs.mkdirSync(output)

/** The files of the packages, by name. */
const packages = new Map<string, string>()

for (const [name, expected] of Object.entries(needed)) {
  // npm prints the output of the build before the JSON.
  const printed = run("npm", "pack", "--json", "--pack-destination", output, ...selection(name))
  const [packed] = JSON.parse(printed.slice(printed.indexOf("[\n"))) as ReadonlyArray<Packed>
  if (packed === undefined) throw new Error("npm pack printed no package")
  checkFiles(expected, packed)
  packages.set(name, path.join(output, packed.filename))
}
fs.copyFileSync(path.join(root, "sbom.json"), path.join(output, "sbom.json"))
if (succeeds("helm", "version")) run("helm", "package", "deploy/helm", "--destination", output)
else if (isDryRun) say("chart: not packed, because there is no helm")
else demand(false, "the chart is not packed, because there is no helm")

const artefacts = fs.readdirSync(output).map((name) => ({ name, bytes: fs.readFileSync(path.join(output, name)) }))
const { GITHUB_REPOSITORY, GITHUB_SERVER_URL, GITHUB_WORKFLOW_REF } = process.env
const statement = Provenance.statementOf(artefacts, {
  version,
  commit: run("git", "rev-parse", "HEAD").trim(),
  inputs: ["package-lock.json", "deploy/Dockerfile"].map((name) => ({ name, bytes: Buffer.from(read(name)) })),
  images: [...read("deploy/Dockerfile").matchAll(/^FROM (\S+@sha256:\w+)/gm)].flatMap(([, image]) => image ?? []),
  builder: GITHUB_REPOSITORY === undefined ? "local" : `${GITHUB_SERVER_URL}/${GITHUB_WORKFLOW_REF}`,
  startedOn,
  finishedOn: DateTime.formatIso(DateTime.nowUnsafe())
})
fs.writeFileSync(path.join(output, "provenance.json"), `${JSON.stringify(statement, null, 2)}\n`)
fs.writeFileSync(path.join(output, "SHA256SUMS"), Provenance.sums(artefacts))
say(`release: ${[...artefacts.map(({ name }) => name), "provenance.json", "SHA256SUMS"].join(", ")}`)

if (problems.length > 0) {
  process.stderr.write(`${problems.map((problem) => `release: ${problem}`).join("\n")}\n`)
  process.exit(1)
}

if (succeeds("docker", "info")) {
  run("docker", "build", "--file", "deploy/Dockerfile", "--build-arg", `RELEASE=${!isDryRun}`, "--tag", image, ".")
  say(`image: ${image}`)
} else if (isDryRun) say("image: not built, because no Docker daemon answers")
else throw new Error("no Docker daemon answers")

if (!isDryRun) {
  // The bytes that were checked. npm signs a provenance of its own if a workflow of GitHub publishes.
  const provenance = GITHUB_REPOSITORY === undefined ? [] : ["--provenance"]
  for (const file of packages.values()) run("npm", "publish", file, "--access", "public", ...provenance)
  run("docker", "push", image)
  const [pushed = ""] = run("docker", "inspect", "--format", '{{join .RepoDigests " "}}', image).split(" ")
  say(`pushed ${pushed.trim()}: a manifest that names this digest runs these bytes`)
  if (isTagged) say(`released ${tag}`)
  else {
    run("git", "tag", "--annotate", "--message", tag, tag)
    say(`released ${tag}: push the tag with git push origin ${tag}`)
  }
}
