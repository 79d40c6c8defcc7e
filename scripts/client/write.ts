// Writes the types of the clients, which git does not have, if they are missing or older than what they are derived from. Their first
// line has a hash of it. Times of files would not do: a clone, a checkout and an unpacked archive give new ones.
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

const home = path.resolve(import.meta.dirname, "../..")

export const files = ["src/client/Client.ts", "src/client/promise/Client.ts"] as const

/** The contract, its schemas, what prints them, and the version of Effect, which says what a schema is. */
const inputs = ["package-lock.json", "scripts/client", "src/api", "src/domain", "src/networks"]

type Texts = Readonly<Record<(typeof files)[number], string>>

/** Loads the whole contract, which takes most of the time. */
const derived = async (): Promise<Texts> => {
  const Types = await import("./Types.ts")
  return { "src/client/Client.ts": Types.ofClient(), "src/client/promise/Client.ts": Types.ofPromiseClient() }
}

const filesOf = (root: string, input: string): ReadonlyArray<string> =>
  fs.statSync(path.join(root, input)).isFile()
    ? [input]
    : fs
        .readdirSync(path.join(root, input), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name, parentPath }) => path.relative(root, path.join(parentPath, name)))

const hashOf = (root: string): string => {
  const hash = crypto.createHash("sha256")
  for (const file of inputs.flatMap((input) => filesOf(root, input)).toSorted()) {
    hash.update(JSON.stringify([file.replaceAll("\\", "/"), fs.readFileSync(path.join(root, file), "utf8")]))
  }
  return hash.digest("hex")
}

const headOf = (root: string): string =>
  `// Written by scripts/client/write.ts from the schemas of the contract with the hash ${hashOf(root)}. Do not edit.\n`

const hasHead = (file: string, head: string): boolean =>
  fs.existsSync(file) && fs.readFileSync(file, "utf8").startsWith(head)

/** A compiler or another script may read the file meanwhile. */
const replace = (file: string, text: string): void => {
  const made = `${file}.${process.pid}`
  fs.writeFileSync(made, text)
  fs.renameSync(made, file)
}

/** Whether it has written. Tests give another root, and what is written there. */
export const writeIfOlder = async (root: string = home, texts: () => Promise<Texts> = derived): Promise<boolean> => {
  const head = headOf(root)
  if (files.every((file) => hasHead(path.join(root, file), head))) return false
  for (const [file, text] of Object.entries(await texts())) replace(path.join(root, file), `${head}${text}`)
  return true
}

if (process.argv[1] === import.meta.filename) await writeIfOlder()
