// Empty projects with the tarballs of this repository, which the builds of `npm run test:packages` have filled.
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import manifest from "../../package.json" with { type: "json" }
import { folder } from "../../testkit/process/Folder.ts"

export const root = path.resolve(import.meta.dirname, "../..")
export const tools = path.join(root, "tools/packages")

/** Milliseconds that a command has. */
const timeout = 400_000

const execute = promisify(execFile)

export interface Node {
  readonly name: string
  readonly file: string
  readonly exists: boolean
}

const node = (name: string, file: string): Node => ({ name, file, exists: existsSync(file) })

/** The versions that programs run on. The package of Node 22 does not exist for each platform. */
export const nodes: ReadonlyArray<Node> = [
  node("Node 22", path.join(tools, `node_modules/node-22-${process.platform}-${process.arch}/bin/node`)),
  node("Node 24", process.execPath)
]

/** What a command prints in a folder. Its error contains what the command has printed. */
export const output = (
  cwd: string,
  file: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) =>
  Effect.promise(async () => {
    const options = { cwd, timeout, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    return await execute(file, args, options).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string; readonly stderr: string }) => {
        throw new Error(`${[file, ...args].join(" ")} failed: ${error.stdout}${error.stderr}`, { cause: error })
      }
    )
  })

const npm = (cwd: string, ...args: ReadonlyArray<string>) => output(cwd, "npm", ["--loglevel=error", ...args])

const pack = Effect.fnUntraced(function* (into: string, name: string) {
  const selection = name === manifest.name ? [] : ["--workspace", name]
  const printed = yield* npm(root, "pack", "--json", "--ignore-scripts", "--pack-destination", into, ...selection)
  const [packed] = JSON.parse(printed) as ReadonlyArray<{ readonly filename: string }>
  return `./${packed?.filename}`
})

const strict = {
  compilerOptions: {
    target: "ES2024",
    lib: ["ES2024", "ESNext.Disposable", "DOM"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: false,
    noEmit: true
  },
  include: ["*.ts"]
}

const { "@effect/platform-node": platform } = manifest.dependencies
const { "@types/node": nodeTypes, effect } = manifest.devDependencies

/** Packages that programs need beside the tarball, at the versions of this repository. */
export const peers = [`effect@${effect}`, `@effect/platform-node@${platform}`]

/** A project with the tarball of a package, and further packages or options of npm. It is removed with the scope. */
export const project = Effect.fnUntraced(function* (name: string, more: ReadonlyArray<string>) {
  const home = yield* folder
  const tarball = yield* pack(home, name)
  yield* write(home, { "package.json": { private: true, type: "module" }, "tsconfig.json": strict })
  const options = ["--no-audit", "--no-fund", "--prefer-offline", "--engine-strict=false"]
  yield* npm(home, "install", ...options, tarball, `@types/node@${nodeTypes}`, ...more)
  return home
})

/** Writes texts, and other values as JSON. */
export const write = (home: string, files: Readonly<Record<string, unknown>>) =>
  Effect.promise(async () => {
    for (const [name, content] of Object.entries(files)) {
      await fs.writeFile(path.join(home, name), typeof content === "string" ? content : JSON.stringify(content))
    }
  })

/** Fails with the errors of the compiler. */
export const compile = (home: string) => output(home, path.join(root, "node_modules/.bin/tsc"), ["-p", "."])

/** The TypeScript programs of a document, in their order. */
export const programsOf = (document: string) =>
  Effect.promise(async () => {
    const text = await fs.readFile(path.join(root, document), "utf8")
    return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = ""]) => program)
  })
