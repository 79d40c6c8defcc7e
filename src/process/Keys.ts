// Keys that nobody has set: made on the first start, and kept beside the data.
import { Effect, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Settings from "./Settings.ts"

export class KeyFileError extends Schema.TaggedError<KeyFileError>()("KeyFileError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface Kept {
  readonly key: Redacted.Redacted
  readonly file: string
  /** Whether this very start made it. */
  readonly made: boolean
}

const read = (file: string) =>
  fs.readFile(file, "utf8").then(
    (text) => text.trim(),
    (cause: NodeJS.ErrnoException) => (cause.code === "ENOENT" ? undefined : Promise.reject(cause))
  )

/** On disk before anything is encrypted with it, and never in place of another one. */
const write = async (file: string, text: string): Promise<boolean> => {
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`
  const handle = await fs.open(unfinished, "wx", 0o600)
  try {
    await handle.writeFile(`${text}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  try {
    await fs.link(unfinished, file)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false
    throw cause
  } finally {
    await fs.rm(unfinished, { force: true })
  }
}

/** A file that is empty or cut short holds no key, and must never be taken for one. */
const keep = (
  dataDir: string,
  name: string,
  isKey: (text: string) => boolean,
  make: () => string
): Effect.Effect<Kept, KeyFileError> => {
  const file = path.join(path.resolve(dataDir), name)
  const kept = (text: string, made: boolean): Kept => {
    if (!isKey(text)) throw new Error("what is in it is no key; restore it from a backup")
    return { key: Redacted.make(text), file, made }
  }
  return Effect.tryPromise({
    try: async () => {
      const existing = await read(file)
      if (existing !== undefined) return kept(existing, false)
      await fs.mkdir(path.dirname(file), { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
      const made = await write(file, make())
      return kept((await read(file)) ?? "", made)
    },
    catch: (cause) =>
      new KeyFileError({
        message: `cannot keep a key in ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause
      })
  })
}

/** 256 random bits with a prefix that secret scanners can find. */
export const apiKey = (dataDir: string) =>
  keep(dataDir, "api-key", Settings.isApiKey, () => `er_${randomBytes(32).toString("base64url")}`)

/** 32 bytes as base64. */
export const storageEncryptionKey = (dataDir: string) =>
  keep(dataDir, "storage-encryption-key", Settings.isMasterKey, () => randomBytes(32).toString("base64"))
