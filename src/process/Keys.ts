// Keys that nobody has set: made on the first start, and kept beside the data.
import { Effect, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { Store } from "../server/masterKey/MasterKeyStore.ts"
import * as Durable from "../sql/embedded/Durable.ts"
import { isAdministratorKey } from "../domain/access/AdministratorKey.ts"
import * as Settings from "./Settings.ts"

export class KeyFileError extends Schema.TaggedError<KeyFileError>()("KeyFileError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface Kept {
  readonly key: Redacted.Redacted
  /** Of the lines after the first. */
  readonly earlier: ReadonlyArray<Redacted.Redacted>
  readonly file: string
  /** Whether this very start made it. */
  readonly made: boolean
}

const read = (file: string) =>
  fs.readFile(file, "utf8").then(
    (text) => text.trim().split(/\s*\n\s*/),
    (cause: NodeJS.ErrnoException) => (cause.code === "ENOENT" ? undefined : Promise.reject(cause))
  )

/** What a kill leaves unfinished is gone with the next call: no key of before stays behind. */
const replace = async (file: string, lines: ReadonlyArray<string>): Promise<void> => {
  const unfinished = `${file}.next`
  await fs.rm(unfinished, { force: true })
  await Durable.write(unfinished, lines.join("\n"))
  await fs.rename(unfinished, file)
  await Durable.syncFolder(path.dirname(file))
}

const attempt = <A>(file: string, run: () => Promise<A>): Effect.Effect<A, KeyFileError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new KeyFileError({
        message: `cannot keep a key in ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause
      })
  })

/** A file that is empty or cut short holds no key, and must never be taken for one. */
const keep = (
  dataDir: string,
  name: string,
  fits: (lines: ReadonlyArray<string>) => boolean,
  make: () => string
): Effect.Effect<Kept, KeyFileError> => {
  const file = path.join(path.resolve(dataDir), name)
  const kept = (lines: ReadonlyArray<string>, made: boolean): Kept => {
    const [key = "", ...earlier] = lines
    if (!fits(lines)) throw new Error("what is in it is no key; restore it from a backup")
    return { key: Redacted.make(key), earlier: earlier.map((key) => Redacted.make(key)), file, made }
  }
  return attempt(file, async () => {
    const existing = await read(file)
    if (existing !== undefined) return kept(existing, false)
    await fs.mkdir(path.dirname(file), { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    const made = await Durable.add(file, make())
    return kept((await read(file)) ?? [], made)
  })
}

/** 256 random bits with a prefix that secret scanners can find. */
export const apiKey = (dataDir: string) =>
  keep(
    dataDir,
    "api-key",
    (lines) => lines.length === 1 && lines.every(isAdministratorKey),
    () => `er_${randomBytes(32).toString("base64url")}`
  )

/** 32 bytes as base64; further lines are keys of before, while a rotation is not finished. */
export const storageEncryptionKey = (dataDir: string) =>
  keep(
    dataDir,
    "storage-encryption-key",
    (lines) => lines.length > 0 && lines.every(Settings.isMasterKey),
    () => randomBytes(32).toString("base64")
  )

/** As a line of the file. */
const masterKeyText = (key: Redacted.Redacted<Uint8Array>): string =>
  Buffer.from(Redacted.value(key)).toString("base64")

/** Keeps master keys in the file that they came from. */
export const store = ({ file }: Kept): Store => ({
  keep: (keys) => Effect.orDie(attempt(file, () => replace(file, keys.map(masterKeyText))))
})
