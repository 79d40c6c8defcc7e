// Keys that nobody has set: made on the first start, and kept beside the data.
import { Effect, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"

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
  const unfinished = `${file}.${process.pid}`
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

const keep = (dataDir: string, name: string, make: () => string): Effect.Effect<Kept, KeyFileError> => {
  const file = path.join(path.resolve(dataDir), name)
  return Effect.tryPromise({
    try: async () => {
      const existing = await read(file)
      if (existing !== undefined) return { key: Redacted.make(existing), file, made: false }
      await fs.mkdir(path.dirname(file), { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
      const made = await write(file, make())
      return { key: Redacted.make((await read(file)) ?? ""), file, made }
    },
    catch: (cause) => new KeyFileError({ message: `cannot keep a key in ${file}: ${String(cause)}`, cause })
  })
}

/** 256 random bits with a prefix that secret scanners can find. */
export const apiKey = (dataDir: string) => keep(dataDir, "api-key", () => `er_${randomBytes(32).toString("base64url")}`)

/** 32 bytes as base64. */
export const storageEncryptionKey = (dataDir: string) =>
  keep(dataDir, "storage-encryption-key", () => randomBytes(32).toString("base64"))
