// Resolves what stands in the place of a secret: variables, files, mnemonics and marks.
import * as path from "node:path"
import { mnemonicToAccount } from "viem/accounts"
import { derivationPath, variableName } from "../../domain/configuration/Reference.ts"
import * as Roots from "./Roots.ts"
import type { MapTree, Place, Tree } from "./Tree.ts"
import type { Variables } from "./Variables.ts"

export interface Sources {
  readonly variables: Variables
  readonly roots: Roots.Roots
}

/** `value` may be a secret. `at` names the member of the reference that is wrong. */
export type Resolved = { readonly value: unknown } | { readonly problem: string; readonly place: Place }

const usual = "{env: NAME} or {file: path}"

const textOf = (tree: Tree | undefined): string | undefined =>
  tree?.type === "scalar" && typeof tree.value === "string" ? tree.value : undefined

const fromEnvironment = (name: string, place: Place, { variables }: Sources): Resolved => {
  if (!variableName.test(name)) return { problem: "expected the name of an environment variable", place }
  const found = variables(name)
  return "value" in found ? found : { problem: found.problem, place }
}

/** The path is relative to the file that names it. */
const fromFile = (file: string, place: Place, { roots }: Sources): Resolved => {
  const read = Roots.readSecret(roots, path.resolve(path.dirname(place.file), file))
  return "text" in read ? { value: read.text } : { problem: `the file ${read.problem}`, place }
}

const only = (tree: MapTree): readonly [name: string, tree: Tree] | undefined => {
  const [first, ...others] = tree.entries
  return first === undefined || others.length > 0 ? undefined : [first[0], first[1].value]
}

/** A variable or a file. */
export const value = (tree: Tree, sources: Sources): Resolved => {
  const member = tree.type === "map" ? only(tree) : undefined
  const text = textOf(member?.[1])
  if (member?.[0] === "env" && text !== undefined) return fromEnvironment(text, member[1].place, sources)
  if (member?.[0] === "file" && text !== undefined) return fromFile(text, member[1].place, sources)
  return { problem: `expected ${usual}`, place: tree.place }
}

const derived = (mnemonic: Tree, pathText: string | undefined, place: Place, sources: Sources): Resolved => {
  if (pathText === undefined || !derivationPath.test(pathText)) {
    return { problem: "expected {mnemonic: …, path: \"m/44'/60'/0'/0/0\"}", place }
  }
  const words = value(mnemonic, sources)
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
export const secret = (tree: Tree, isKey: boolean, sources: Sources): Resolved => {
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
  return isReference ? value(tree, sources) : { problem: `is a secret: use ${usual}`, place: tree.place }
}
