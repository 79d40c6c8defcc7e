// Writes what an import has read: the file of the configuration, its schema, and the file of its secrets. Nothing is written if
// something is invalid.
import { Console, Effect, Result } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as SchemaLine from "../../../src/cli/configuration/SchemaLine.ts"
import { CommandFailed, exitCodes, tableLines } from "../../../src/cli/kit/Terminal.ts"
import type { Outcome } from "./Import.ts"

interface WriteFlags {
  readonly out: string
  readonly skipInvalid: boolean
  readonly strict: boolean
  readonly force: boolean
}

/** `relayers.yaml` has its secrets in `relayers.secrets.env`. */
const secretsName = (out: string): string => out.replace(/\.(ya?ml|json)$/, "") + ".secrets.env"

const write = (file: string, text: string, force: boolean, mode?: number) =>
  Effect.try({
    try: () => fs.writeFileSync(file, text, { flag: force ? "w" : "wx", ...(mode === undefined ? {} : { mode }) }),
    catch: (cause) => {
      const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST"
      const why = cause instanceof Error ? cause.message : String(cause)
      return CommandFailed.usage(exists ? `${file} exists: --force overwrites it` : `cannot write ${file}: ${why}`)
    }
  })

/** Writes the schema if the first line of the file names it beside the file. One that is already there is kept without `--force`. */
const writeSchema = Effect.fnUntraced(function* (out: string, force: boolean) {
  const file = path.join(path.dirname(out), SchemaLine.beside)
  if (SchemaLine.schemaFor(out, SchemaLine.beside) !== SchemaLine.beside || (fs.existsSync(file) && !force)) return
  const { document } = yield* Effect.promise(() => import("../../../src/api/document/ConfigurationFile.ts"))
  yield* write(file, `${JSON.stringify(document(), null, 2)}\n`, force)
  yield* Console.log(`wrote ${fromHere(file)}: editors complete ${path.basename(out)} with it`)
})

const checkFree = (files: ReadonlyArray<string>, force: boolean) => {
  const taken = force ? [] : files.filter((file) => fs.existsSync(file))
  return taken.length === 0 ? Effect.void : CommandFailed.usage(`${taken.join(" and ")} exists: --force overwrites it`)
}

const quoted = (word: string): string =>
  /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", () => "'\\''")}'`

/** A path below the working directory, or the absolute path. */
const fromHere = (file: string): string => {
  const relative = path.relative(".", file)
  return relative.startsWith("..") ? file : relative === "" ? "." : relative
}

/** Folders outside of that of the written file that have files which it reads. */
const rootsOf = (out: string, files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const folder = path.resolve(path.dirname(out))
  const folders = files.map((file) => path.dirname(path.resolve(folder, file)))
  const isOutside = (found: string) => found !== folder && !found.startsWith(`${folder}${path.sep}`)
  return [...new Set(folders.filter(isOutside))].toSorted()
}

/** The command that plans the written file. It reads the variables of the old service under their names. */
const planCommand = (
  out: string,
  secrets: string | undefined,
  { files: read, moved, needed }: Outcome,
  envFile: string | undefined
): string => {
  const files = [secrets, envFile].flatMap((file) => (file === undefined ? [] : [fromHere(file)]))
  const others = envFile === undefined ? [...needed].filter((name) => !moved.has(name)) : []
  const allowed = others.filter((name) => !name.startsWith("RELAYER_")).toSorted()
  const flags = [
    ["--file", fromHere(out)],
    ...files.map((file) => ["--env-file", file]),
    ...allowed.map((name) => ["--env", name]),
    ...rootsOf(out, read).map((folder) => ["--root", fromHere(folder)])
  ]
  return ["effect-relayer plan", ...flags.flat().map(quoted)].join(" ")
}

/** Prints the report, writes the files, and ends with the exit code that the flags ask for. */
export const finish = Effect.fnUntraced(function* (
  result: Result.Result<Outcome, string>,
  given: WriteFlags,
  envFile?: string
) {
  if (Result.isFailure(result)) return yield* CommandFailed.usage(result.failure)
  const { entries, hosts, isEmpty, moved, needed, yaml } = result.success
  const rows = entries.map(({ at, code, message }) => [code, at, message])
  if (rows.length > 0) yield* Console.error(tableLines(rows).join("\n"))
  const invalid = entries.filter(({ code }) => code === "invalid").length
  if (invalid > 0 && !given.skipInvalid) {
    return yield* CommandFailed.usage(
      `${invalid} invalid: nothing was written; correct them, or leave them out with --skip-invalid`
    )
  }
  if (invalid > 0 && isEmpty) {
    const message = `nothing is left to import without what is invalid (${invalid}): no file was written`
    return yield* new CommandFailed({ message, exitCode: exitCodes.refused })
  }
  const secrets = secretsName(given.out)
  yield* checkFree(moved.size === 0 ? [given.out] : [given.out, secrets], given.force)
  yield* write(given.out, yaml, given.force)
  yield* Console.log(`wrote ${fromHere(given.out)}`)
  yield* writeSchema(given.out, given.force)
  if (moved.size > 0) {
    if (given.force) yield* Effect.sync(() => fs.rmSync(secrets, { force: true }))
    const ownerOnly = 0o600
    const { secretsFile } = yield* Effect.promise(() => import("./Imported.ts"))
    yield* write(secrets, secretsFile(moved), given.force, ownerOnly)
    yield* Console.log(
      `wrote ${fromHere(secrets)}: it contains secrets; add it to .gitignore, and delete it after the move`
    )
  }
  if (needed.size > 0)
    yield* Console.log(`${fromHere(given.out)} reads the variables ${[...needed].toSorted().join(", ")}`)
  if (hosts.length > 0) yield* Console.log(`start the service with OUTBOUND_ALLOW=${hosts.join(",")}`)
  yield* Console.log(`next: ${planCommand(given.out, moved.size > 0 ? secrets : undefined, result.success, envFile)}`)
  const lost = entries.filter(({ code }) => code === "dropped" || code === "needs").length
  if (given.strict && lost > 0) {
    return yield* new CommandFailed({ message: `${lost} dropped or needed`, exitCode: exitCodes.refused })
  }
})
