// Keeps the last verified head of the audit log in a file of the data directory, which a database writer cannot change.
import { Effect, Option, Schema } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { HeadStore } from "../server/audit/Audit.ts"
import { AuditHeadText } from "../domain/audit/Audit.ts"
import * as Durable from "../sql/embedded/Durable.ts"

const fileIn = (dataDir: string) => path.join(path.resolve(dataDir), "audit-head")

const encode = Schema.encodeSync(AuditHeadText)
const decode = Schema.decodeUnknownOption(AuditHeadText)

const read = async (file: string) => {
  const text = await fs.readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined
    throw cause
  })
  if (text === undefined) return Option.none()
  const head = decode(text.trim())
  if (Option.isNone(head)) throw new Error(`${file} does not contain a position and a hash: remove it`)
  return head
}

const write = async (file: string, text: string) => {
  const unfinished = `${file}.next`
  await fs.rm(unfinished, { force: true })
  await Durable.write(unfinished, text)
  await fs.rename(unfinished, file)
  await Durable.syncFolder(path.dirname(file))
}

export const store = (dataDir: string): HeadStore => {
  const file = fileIn(dataDir)
  return {
    read: Effect.promise(() => read(file)),
    write: (head) => Effect.promise(() => write(file, encode(head)))
  }
}

/** For a restore: the log of a backup may be shorter than the one that it replaces. */
export const remove = (dataDir: string): Effect.Effect<void> =>
  Effect.promise(() => fs.rm(fileIn(dataDir), { force: true }))
