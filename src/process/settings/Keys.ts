// Keys that the operator has not set: the first start makes them and keeps them in the data directory.
import { Effect, Redacted, Schema } from "effect"
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { KeyStore } from "../../server/masterKey/MasterKeys.ts"
import { isAdministratorKey } from "../../domain/access/ApiKey.ts"
import * as Durable from "../../sql/embedded/Durable.ts"
import { makeFolder } from "../../sql/embedded/Durable.ts"
import { isMasterKey } from "./Variables.ts"

export class KeyFileError extends Schema.TaggedError<KeyFileError>()("KeyFileError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface Kept {
  readonly key: Redacted.Redacted
  /** Keys that stored secrets or backups may still need. */
  readonly earlier: ReadonlyArray<Redacted.Redacted>
  readonly file: string
  /** Whether this start made it. */
  readonly made: boolean
}

const linesOf = (text: string) => text.trim().split(/\s*\n\s*/)

/** Also if something else is in the place of the folder, which the attempt to create it reports. */
const isAbsent = ({ code }: NodeJS.ErrnoException) => code === "ENOENT" || code === "ENOTDIR"

const read = (file: string) =>
  fs
    .readFile(file, "utf8")
    .then(linesOf, (cause: NodeJS.ErrnoException) => (isAbsent(cause) ? undefined : Promise.reject(cause)))

/** The id that sealed secrets and backups name a master key by: the first 4 bytes of its SHA-256, in hex. */
export const masterKeyId = (line: string): string =>
  createHash("sha256").update(Buffer.from(line, "base64")).digest("hex").slice(0, 8)

/** A key that is no longer the current one: `storage-encryption-key.1a2b3c4d`. Backups from its time need it. */
const retiredFile = (file: string, line: string) => `${file}.${masterKeyId(line)}`

/** Files with the keys of completed rotations. */
const retiredFiles = async (file: string): Promise<ReadonlyArray<string>> => {
  const prefix = `${path.basename(file)}.`
  return (await fs.readdir(path.dirname(file)).catch(() => []))
    .filter((name) => name.startsWith(prefix) && /^[0-9a-f]{8}$/.test(name.slice(prefix.length)))
    .toSorted()
    .map((name) => path.join(path.dirname(file), name))
}

/** Keys of completed rotations, each in a file of its own. */
const retired = async (file: string): Promise<ReadonlyArray<string>> => {
  const lines = await Promise.all((await retiredFiles(file)).map(read))
  return lines.flatMap((found) => found ?? []).filter(isMasterKey)
}

/**
 * Puts `lines` in the place of what the file contains. A key that leaves the file goes into a file of its own first, and an
 * unfinished file of an earlier attempt is removed.
 */
const replace = async (file: string, lines: ReadonlyArray<string>): Promise<void> => {
  const leaving = ((await read(file)) ?? []).filter((line) => isMasterKey(line) && !lines.includes(line))
  for (const line of leaving) await Durable.add(retiredFile(file, line), line)
  await Durable.replace(file, lines.join("\n"))
}

const attemptTo = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, KeyFileError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new KeyFileError({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause })
  })

const attempt = <A>(file: string, run: () => Promise<A>) => attemptTo(`cannot use the key file ${file}`, run)

const createFolder = (folder: string) =>
  attemptTo(`cannot create the data directory ${folder}, choose another DATA_DIR`, () =>
    makeFolder(folder, process.getuid?.() === 0 ? 0o711 : 0o700)
  )

/** Reads the key in a file, or makes one if there is no file. A file that is empty or cut short is an error, never replaced. */
const keep = (
  dataDir: string,
  name: string,
  fits: (lines: ReadonlyArray<string>) => boolean,
  make: () => string
): Effect.Effect<Kept, KeyFileError> => {
  const file = path.join(path.resolve(dataDir), name)
  const kept = (lines: ReadonlyArray<string>, made: boolean): Kept => {
    const [key = "", ...earlier] = lines
    if (!fits(lines)) throw new Error("it does not contain a valid key; restore it from a backup")
    return { key: Redacted.make(key), earlier: earlier.map((key) => Redacted.make(key)), file, made }
  }
  return Effect.gen(function* () {
    const existing = yield* attempt(file, () => read(file))
    if (existing !== undefined) return yield* attempt(file, async () => kept(existing, false))
    yield* createFolder(path.dirname(file))
    return yield* attempt(file, async () => {
      const made = await Durable.add(file, make())
      return kept((await read(file)) ?? [], made)
    })
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

/** Puts another key into the file of a kept API key. */
export const replaceApiKey = ({ file }: Kept, key: Redacted.Redacted) =>
  attempt(file, () => Durable.replace(file, Redacted.value(key)))

const masterKeyFile = (dataDir: string) => path.join(path.resolve(dataDir), "storage-encryption-key")

/** The file of the master key, and whether it exists. */
export const storageEncryptionKeyFile = (dataDir: string) => {
  const file = masterKeyFile(dataDir)
  return attempt(file, async () => ({ file, exists: (await read(file)) !== undefined }))
}

/**
 * 32 bytes as base64. Further lines are keys that an unfinished rotation still needs; keys of completed rotations are in
 * files beside it, named by their ids.
 */
export const storageEncryptionKey = Effect.fnUntraced(function* (dataDir: string) {
  const kept = yield* keep(
    dataDir,
    "storage-encryption-key",
    (lines) => lines.length > 0 && lines.every(isMasterKey),
    () => randomBytes(32).toString("base64")
  )
  const inFile = new Set([kept.key, ...kept.earlier].map(Redacted.value))
  const others = yield* attempt(kept.file, () => retired(kept.file))
  const further = others.filter((line) => !inFile.has(line)).map((line) => Redacted.make(line))
  return { ...kept, earlier: [...kept.earlier, ...further] }
})

/** Ids of the master keys in a data directory. Creates no key. */
export const storedMasterKeyIds = (dataDir: string): Effect.Effect<ReadonlyArray<string>, KeyFileError> => {
  const file = masterKeyFile(dataDir)
  return attempt(file, async () => [...((await read(file)) ?? []), ...(await retired(file))].map(masterKeyId))
}

/** A line of the file. */
const masterKeyText = (key: Redacted.Redacted<Uint8Array>): string =>
  Buffer.from(Redacted.value(key)).toString("base64")

/** A store that keeps master keys in the file that they were read from. */
export const store = ({ file }: Kept): KeyStore => ({
  keep: (keys) => Effect.orDie(attempt(file, () => replace(file, keys.map(masterKeyText)))),
  files: Effect.orDie(attempt(file, async () => [file, ...(await retiredFiles(file))]))
})
