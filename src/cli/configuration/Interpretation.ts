// Turns the tree of an object into the body of a request: resolves references to variables and files, and reads scalars as fields ask.
import { SchemaAST as Ast } from "effect"
import { mnemonicToAccount } from "viem/accounts"
import * as fs from "node:fs"
import * as path from "node:path"
import { fieldOf, isAmount, isSecret, isText, itemsOf, structsOf } from "../../domain/configuration/Document.ts"
import { derivationPath, variableName } from "../../domain/configuration/Reference.ts"
import { integerOf } from "../../domain/request/ExactParse.ts"
import { maxBytes } from "./Parse.ts"
import { isNull } from "./Tree.ts"
import type { ListTree, MapTree, Place, Problem, ScalarTree, Tree, Variables } from "./Tree.ts"

// The folders that the files of a configuration, its includes and its secrets must lie in.

/** Largest file of a secret. A keystore has less than 16 kB. */
const maxSecretBytes = 64_000

export interface Roots {
  /** Real paths, without symbolic links. */
  readonly folders: ReadonlyArray<string>
}

export type ReadResult = { readonly text: string } | { readonly problem: string }

/** The answer about every path outside of the roots, whether it exists or not. */
const outsideRoots = "is outside of the folder of the configuration: allow its folder with --root"

export const openRoots = (folders: ReadonlyArray<string>): Roots => ({
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

const readFailure = (cause: unknown): string => {
  if (cause instanceof TypeError) return "is no text in UTF-8"
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error"
  return code === "ENOENT" ? "does not exist" : `cannot be read (${code})`
}

const readBelow = (roots: Roots, file: string, maximum: number): ReadResult => {
  const real = allowed(roots, file)
  if (real === undefined) return { problem: outsideRoots }
  try {
    const stat = fs.statSync(real)
    if (!stat.isFile()) return { problem: "is no regular file" }
    if (stat.size > maximum) return { problem: `is larger than ${maximum} bytes` }
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(fs.readFileSync(real)) }
  } catch (cause) {
    return { problem: readFailure(cause) }
  }
}

export const readConfiguration = (roots: Roots, file: string): ReadResult => readBelow(roots, file, maxBytes)

/** One final newline is removed. */
const readSecret = (roots: Roots, file: string): ReadResult => {
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

const namesIn = (folder: string): ReadonlyArray<string> => {
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
export const matchingFiles = (roots: Roots, folder: string, pattern: string): ReadonlyArray<string> => {
  let found: ReadonlyArray<string> = [path.isAbsolute(pattern) ? "/" : folder]
  for (const part of pattern.split("/").filter((name) => name !== "" && name !== ".")) {
    found = found.flatMap((base) => {
      if (!part.includes("*") || allowed(roots, base) === undefined) return [path.join(base, part)]
      const matches = matcher(part)
      return namesIn(base)
        .filter((name) => matches.test(name))
        .map((name) => path.join(base, name))
    })
  }
  return found.toSorted(byBytes)
}

/** The configurations in a folder, in byte order. A schema beside them is none. */
export const filesInFolder = (folder: string): ReadonlyArray<string> =>
  namesIn(folder)
    .filter((name) => /\.(yaml|json)$/.test(name) && !name.endsWith(".schema.json"))
    .toSorted(byBytes)
    .map((name) => path.join(folder, name))

// Resolves what stands in the place of a secret: variables, files, mnemonics and marks.

export interface ReferenceSources {
  readonly variables: Variables
  readonly roots: Roots
}

/** `value` may be a secret. `at` names the member of the reference that is wrong. */
type ResolvedReference = { readonly value: unknown } | { readonly problem: string; readonly place: Place }

const usual = "{env: NAME} or {file: path}"

const textOf = (tree: Tree | undefined): string | undefined =>
  tree?.type === "scalar" && typeof tree.value === "string" ? tree.value : undefined

const fromEnvironment = (name: string, place: Place, { variables }: ReferenceSources): ResolvedReference => {
  if (!variableName.test(name)) return { problem: "expected the name of an environment variable", place }
  const found = variables(name)
  return "value" in found ? found : { problem: found.problem, place }
}

/** The path is relative to the file that names it. */
const fromFile = (file: string, place: Place, { roots }: ReferenceSources): ResolvedReference => {
  const read = readSecret(roots, path.resolve(path.dirname(place.file), file))
  return "text" in read ? { value: read.text } : { problem: `the file ${read.problem}`, place }
}

const only = (tree: MapTree): readonly [name: string, tree: Tree] | undefined => {
  const [first, ...others] = tree.entries
  return first === undefined || others.length > 0 ? undefined : [first[0], first[1].value]
}

/** A variable or a file. */
const referenceValue = (tree: Tree, sources: ReferenceSources): ResolvedReference => {
  const member = tree.type === "map" ? only(tree) : undefined
  const text = textOf(member?.[1])
  if (member?.[0] === "env" && text !== undefined) return fromEnvironment(text, member[1].place, sources)
  if (member?.[0] === "file" && text !== undefined) return fromFile(text, member[1].place, sources)
  return { problem: `expected ${usual}`, place: tree.place }
}

const derived = (
  mnemonic: Tree,
  pathText: string | undefined,
  place: Place,
  sources: ReferenceSources
): ResolvedReference => {
  if (pathText === undefined || !derivationPath.test(pathText)) {
    return { problem: "expected {mnemonic: …, path: \"m/44'/60'/0'/0/0\"}", place }
  }
  const words = referenceValue(mnemonic, sources)
  if ("problem" in words) return words
  try {
    const account = mnemonicToAccount(String(words.value).trim().replace(/\s+/g, " "), {
      path: pathText as "m/44'/60'/0'"
    })
    const { privateKey } = account.getHdKey()
    if (privateKey !== null) return { value: `0x${Buffer.from(privateKey).toString("hex")}` }
  } catch {
    // The error of the library may quote the words.
  }
  return { problem: "is no mnemonic of 12 to 24 words (BIP-39)", place }
}

/** What is in the place of a secret. `isKey`: it is the key of a signer of type plain. */
const secretValue = (tree: Tree, isKey: boolean, sources: ReferenceSources): ResolvedReference => {
  if (tree.type !== "map") return { problem: `is a secret: use ${usual}`, place: tree.place }
  const member = only(tree)
  if (member !== undefined && ["stored", "generate"].includes(member[0])) {
    const [name, mark] = member
    if (mark.type !== "scalar" || mark.value !== true) return { problem: `${name}: expected true`, place: mark.place }
    if (name === "stored" || isKey) return { value: { [name]: true } }
    return { problem: "only the key of a signer of the type plain can be generated", place: mark.place }
  }
  const mnemonic = tree.entries.get("mnemonic")
  if (mnemonic !== undefined && isKey) {
    const others = [...tree.entries.keys()].filter((name) => name !== "mnemonic" && name !== "path")
    if (others.length > 0) return { problem: "expected mnemonic and path, nothing else", place: tree.place }
    return derived(mnemonic.value, textOf(tree.entries.get("path")?.value), tree.place, sources)
  }
  const isReference = tree.entries.has("env") || tree.entries.has("file")
  return isReference ? referenceValue(tree, sources) : { problem: `is a secret: use ${usual}`, place: tree.place }
}

type Shapes = ReadonlyArray<Ast.AST>

export interface Interpreted {
  readonly body: unknown
  /** Texts with `${NAME}` as they are in the file, by path. Only these texts are ever shown. */
  readonly templates: ReadonlyMap<string, string>
  /** Paths of values that came from a reference. They are never shown. */
  readonly hidden: ReadonlySet<string>
  readonly problems: ReadonlyArray<Problem>
}

/** Fields that name other objects or choose a type: a variable must not decide them. */
const withoutVariables = /^(signer_id|notification_id|network|network_type|type|from|relayer_ids|scopes)$/

const template = /\$\$\{|\$\{([^}]*)\}|\$\{/g

/** Integers of YAML, such as 1_000, are no texts of digits: only these forms count. */
const plainInteger = /^-?(0|[1-9]\d*)$|^0x[0-9a-fA-F]+$/

/** An amount such as 1e18, whose value YAML gives as a number that may have lost digits. */
const withExponent = /^[\d.]+[eE]\+?\d+$/

/** As a document of JSON has it. */
const asNumber = (value: bigint): number | bigint =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value

export const interpret = (tree: Tree, shapes: Shapes, root: string, sources: ReferenceSources): Interpreted => {
  const templates = new Map<string, string>()
  const hidden = new Set<string>()
  const problems: Array<Problem> = []

  const resolved = (found: ResolvedReference, path: string): unknown => {
    if ("problem" in found) {
      problems.push({ path, message: found.problem, place: found.place })
      return undefined
    }
    hidden.add(path)
    return found.value
  }

  const withVariables = (text: string, { place }: ScalarTree, path: string): string => {
    if (!text.includes("${")) return text
    let isTemplate = false
    const result = text.replace(template, (match, name: string | undefined) => {
      if (match === "$${") return "${"
      if (name === undefined || !variableName.test(name)) {
        problems.push({ path, message: "expected ${NAME}; write $${ for the characters ${", place })
        return ""
      }
      isTemplate = true
      const found = sources.variables(name)
      if ("value" in found) return found.value
      problems.push({ path, message: found.problem, place })
      return ""
    })
    if (isTemplate) templates.set(path, text)
    return result
  }

  const ofScalar = (tree: ScalarTree, types: Shapes, path: string, field: string): unknown => {
    const { value, source, place } = tree
    if (typeof value === "string") {
      return withoutVariables.test(field) ? value : withVariables(value, tree, path)
    }
    const takesNumber = types.some((type) => Ast.isNumber(type) || isAmount(type))
    const takesText = types.some(isText)
    if (typeof value === "boolean") {
      return takesText && !types.some(Ast.isBoolean) && source !== undefined ? source : value
    }
    if (takesText && !takesNumber) {
      if (source !== undefined && plainInteger.test(source)) return source
      problems.push({ path, message: "expected a text: put it in quotes", place })
      return undefined
    }
    if (!types.some(isAmount) || (typeof value === "bigint" && (source === undefined || plainInteger.test(source)))) {
      return typeof value === "bigint" ? asNumber(value) : value
    }
    const exact = source !== undefined && withExponent.test(source) ? integerOf(source) : undefined
    if (exact !== undefined) return asNumber(exact)
    problems.push({ path, message: "expected an integer without a fraction", place })
    return undefined
  }

  const ofList = ({ items }: ListTree, types: Shapes, path: string, field: string): unknown => {
    const inner = itemsOf(types)
    return items.map((item, index) => (isNull(item) ? null : of(item, inner, `${path}.${index}`, field)))
  }

  const scalarOf = (tree: MapTree, name: string): unknown => {
    const value = tree.entries.get(name)?.value
    return value?.type === "scalar" ? (value.value ?? undefined) : undefined
  }

  const ofMap = (tree: MapTree, types: Shapes, path: string): unknown => {
    const structs = structsOf(types, (name) => scalarOf(tree, name))
    const fields: Array<readonly [string, unknown]> = []
    for (const [name, { value }] of tree.entries) {
      if (isNull(value)) continue
      fields.push([name, of(value, fieldOf(structs, name), `${path}.${name}`, name)])
    }
    return Object.fromEntries(fields)
  }

  /** URLs may contain keys, so that a reference may stand for a whole URL. */
  const isReferenceOfUrl = (tree: Tree, types: Shapes, field: string): boolean =>
    field === "url" && types.some(isText) && tree.type === "map"

  const of = (tree: Tree, types: Shapes, path: string, field: string): unknown => {
    if (types.some(isSecret)) {
      return resolved(secretValue(tree, field === "key", sources), path)
    }
    if (isReferenceOfUrl(tree, types, field)) return resolved(referenceValue(tree, sources), path)
    if (tree.type === "map") return ofMap(tree, types, path)
    return tree.type === "list" ? ofList(tree, types, path, field) : ofScalar(tree, types, path, field)
  }

  return { body: of(tree, shapes, root, ""), templates, hidden, problems }
}
