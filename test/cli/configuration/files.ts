// Files of configurations in a temporary folder, as tests load them.
import { Result } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { load } from "../../../src/cli/configuration/Load.ts"
import type { Loaded } from "../../../src/cli/configuration/Load.ts"
import { problemText, variableReader } from "../../../src/cli/configuration/Tree.ts"

type Files = Readonly<Record<string, string>>

export const written = (files: Files): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "configuration-"))
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  return folder
}

interface Options {
  readonly variables?: Readonly<Record<string, string>>
  readonly patterns?: ReadonlyArray<string>
  readonly overlays?: ReadonlyArray<string>
  readonly roots?: ReadonlyArray<string>
  readonly files?: ReadonlyArray<string>
}

/** The first file is the one of `-f`, unless the options name others. Places are relative to the folder. */
const loaded = (files: Files, options: Options = {}) => {
  const folder = written(files)
  const names = options.files ?? Object.keys(files).slice(0, 1)
  const result = load({
    files: names.map((name) => path.join(folder, name)),
    overlays: (options.overlays ?? []).map((name) => path.join(folder, name)),
    roots: (options.roots ?? []).map((name) => path.join(folder, name)),
    variables: variableReader(options.variables ?? {}, options.patterns)
  })
  fs.rmSync(folder, { recursive: true })
  return Result.mapError(result, (problems) =>
    problems.map((problem) => problemText(problem).replaceAll(`${folder}/`, ""))
  )
}

export const problemsOf = (files: Files, options?: Options): ReadonlyArray<string> =>
  Result.match(loaded(files, options), { onSuccess: () => [], onFailure: (problems) => problems })

export const documentOf = (files: Files, options?: Options): Loaded => {
  const result = loaded(files, options)
  if (Result.isSuccess(result)) return result.success
  throw new Error(result.failure.join("\n"))
}

export const head = "version: 1\nname: payments\n"
