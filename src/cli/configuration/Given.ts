// The flags that say which configuration a command is about, and the document that they lead to.
import { Effect, Result } from "effect"
import { Flag } from "effect/cli"
import { looksLikeKey } from "../../domain/configuration/UrlKey.ts"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import { CommandFailed } from "../kit/CommandFailed.ts"
import { parseEnv } from "node:util"
import { Environment } from "../kit/Environment.ts"
import * as Input from "../kit/Input.ts"
import * as Table from "../kit/Table.ts"
import type { Loaded } from "./Load.ts"
import type { Problem } from "./Tree.ts"
import * as Variables from "./Variables.ts"

const paths = (name: string, description: string) =>
  Flag.Path(name, { pathType: "either" }).pipe(Flag.atLeast(0), Flag.withDescription(description))

export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const names = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.atLeast(0), Flag.withDescription(description))

export const flags = {
  files: paths("file", "File or folder of the configuration; may be repeated").pipe(Flag.withAlias("f")),
  overlays: paths("overlay", "File that changes the configuration (a merge patch); may be repeated"),
  roots: paths("root", "Folder that files may be read from, beside that of the first file; may be repeated"),
  envFiles: paths("env-file", "File of variables, all of which may be read; may be repeated"),
  env: names("env", "<pattern>", "Environment variables that may be read, beside RELAYER_*; may be repeated"),
  strict: toggle("strict", "Refuse a literal URL that looks like it has a key, instead of a warning")
}

export interface ConfigurationFlags {
  readonly files: ReadonlyArray<string>
  readonly overlays: ReadonlyArray<string>
  readonly roots: ReadonlyArray<string>
  readonly envFiles: ReadonlyArray<string>
  readonly env: ReadonlyArray<string>
  readonly strict: boolean
}

export const optionFlags = {
  prune: toggle("prune", "Delete objects of this configuration that its files no longer contain"),
  takeOver: toggle("take-over", "Make objects of other configurations objects of this one"),
  replace: names("replace", "<relayers.id>", "Object that may be deleted and created again; may be repeated"),
  destroyKeys: names("destroy-key", "<id>", "Signer that may be deleted with the only copy of its key; may be repeated")
}

/** Loaded when it is needed, because the parser takes longer to load than other commands to run. */
const loaded = Effect.promise(() => import("./Load.ts"))

const lineOf = ({ path, message, place }: Problem): string => {
  const at = place === undefined ? "" : `${place.file}:${place.line}:${place.column}: `
  return Table.printable(`${at}${path === "" ? "" : `${path}: `}${message}`)
}

/** Literal URLs that look like they have a key, by path. */
const literalKeys = ({ document, hidden, templates }: Loaded): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value === "string") {
      const isUrl = /(^|\.)(url|rpc_urls\.\d+|horizon_url)$/.test(path)
      if (isUrl && !hidden.has(path) && !templates.has(path) && looksLikeKey(value)) found.push(path)
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, `${path}.${index}`)
    } else if (isMembers(value)) {
      for (const [name, child] of Object.entries(value)) visit(child, path === "" ? name : `${path}.${name}`)
    }
  }
  visit(document, "")
  return found
}

const looksLike = "looks like it has a key: use {env: NAME} or ${NAME}"

/** Fails with everything that is wrong with the files, one line for each problem. Returns the document and its warnings. */
export const load = Effect.fnUntraced(function* (given: ConfigurationFlags) {
  if (given.files.length === 0) return yield* CommandFailed.usage("name a file or a folder with --file")
  const { variables, dotEnv } = yield* Environment
  const { load } = yield* loaded
  const files: Record<string, string | undefined> = {}
  for (const file of given.envFiles) Object.assign(files, parseEnv(yield* Input.readText(file)))
  const result = load({ ...given, variables: Variables.reader({ ...dotEnv, ...variables }, given.env, files) })
  if (Result.isFailure(result)) {
    return yield* CommandFailed.usage(result.failure.map(lineOf).join("\n"))
  }
  const warnings = literalKeys(result.success).map((path) => Table.printable(`${path}: ${looksLike}`))
  if (given.strict && warnings.length > 0) return yield* CommandFailed.usage(warnings.join("\n"))
  return { ...result.success, warnings }
})

/** What the plan shows instead of values that came from outside of the files. */
export const templatesOf = ({ hidden, templates }: Loaded): Readonly<Record<string, string>> => ({
  ...Object.fromEntries([...hidden].map((path) => [path, "(hidden)"])),
  ...Object.fromEntries(templates)
})
