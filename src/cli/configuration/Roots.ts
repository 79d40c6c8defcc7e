// The folders that the files of a configuration, its includes and its secrets must lie in.
import * as fs from "node:fs"
import * as path from "node:path"
import { maxBytes } from "./Parse.ts"

/** Largest file of a secret. A keystore has less than 16 kB. */
const maxSecretBytes = 64_000

export interface Roots {
  /** Real paths, without symbolic links. */
  readonly folders: ReadonlyArray<string>
}

export type Read = { readonly text: string } | { readonly problem: string }

/** The answer about every path outside of the roots, whether it exists or not. */
const outside = "is outside of the folder of the configuration: allow its folder with --root"

export const open = (folders: ReadonlyArray<string>): Roots => ({
  folders: folders.map((folder) => fs.realpathSync(folder))
})

const isInside = (folder: string, file: string): boolean => {
  const relative = path.relative(folder, file)
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}

/** The path without symbolic links, also if its last parts do not exist. */
const realPath = (file: string): string => {
  try {
    return fs.realpathSync(file)
  } catch {
    const folder = path.dirname(file)
    return folder === file ? file : path.join(realPath(folder), path.basename(file))
  }
}

const allowed = ({ folders }: Roots, file: string): string | undefined => {
  const real = realPath(path.resolve(file))
  return folders.some((folder) => isInside(folder, real)) ? real : undefined
}

const failure = (cause: unknown): string => {
  if (cause instanceof TypeError) return "is no text in UTF-8"
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error"
  return code === "ENOENT" ? "does not exist" : `cannot be read (${code})`
}

const readBelow = (roots: Roots, file: string, maximum: number): Read => {
  const real = allowed(roots, file)
  if (real === undefined) return { problem: outside }
  try {
    const stat = fs.statSync(real)
    if (!stat.isFile()) return { problem: "is no regular file" }
    if (stat.size > maximum) return { problem: `is larger than ${maximum} bytes` }
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(fs.readFileSync(real)) }
  } catch (cause) {
    return { problem: failure(cause) }
  }
}

export const readConfiguration = (roots: Roots, file: string): Read => readBelow(roots, file, maxBytes)

/** One final newline is removed. */
export const readSecret = (roots: Roots, file: string): Read => {
  const read = readBelow(roots, file, maxSecretBytes)
  return "text" in read ? { text: read.text.replace(/\r?\n$/, "") } : read
}

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

const matcher = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"))
      .join("[^/]*")}$`,
    "u"
  )

const names = (folder: string): ReadonlyArray<string> => {
  try {
    return fs.readdirSync(folder).filter((name) => !name.startsWith("."))
  } catch {
    return []
  }
}

/**
 * The files that a pattern such as `teams/*.yaml` names, in byte order. `*` stands for a part of one name. A folder outside
 * of the roots is not listed: the pattern is returned, and reading it is refused.
 */
export const matching = (roots: Roots, folder: string, pattern: string): ReadonlyArray<string> => {
  let found: ReadonlyArray<string> = [path.isAbsolute(pattern) ? "/" : folder]
  for (const part of pattern.split("/").filter((name) => name !== "" && name !== ".")) {
    found = found.flatMap((base) => {
      if (!part.includes("*") || allowed(roots, base) === undefined) return [path.join(base, part)]
      const matches = matcher(part)
      return names(base)
        .filter((name) => matches.test(name))
        .map((name) => path.join(base, name))
    })
  }
  return found.toSorted(byBytes)
}

/** The configurations in a folder, in byte order. A schema beside them is none. */
export const inFolder = (folder: string): ReadonlyArray<string> =>
  names(folder)
    .filter((name) => /\.(yaml|json)$/.test(name) && !name.endsWith(".schema.json"))
    .toSorted(byBytes)
    .map((name) => path.join(folder, name))
