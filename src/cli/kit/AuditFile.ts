// An exported part of the audit log: lines of JSON that verify without the service. The first line says after which record it
// begins, the last one is the checkpoint up to which it goes.
import { Effect, Option, Schema } from "effect"
import * as fs from "node:fs/promises"
import { AuditHead } from "../../domain/audit/Audit.ts"
import { AuditExportRecord } from "../../domain/audit/AuditCheckpoint.ts"
import { firstBroken } from "../../server/audit/Chain.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"

const Start = Schema.Struct({
  format: Schema.Literal("effect-relayer audit"),
  format_version: Schema.Literal(1),
  after: AuditHead
})
const End = Schema.Struct({ checkpoint: AuditHead })

const decodeStart = Schema.decodeUnknownOption(Schema.fromJsonString(Start))
const decodeEnd = Schema.decodeUnknownOption(Schema.fromJsonString(End))
const decodeRecord = Schema.decodeUnknownOption(Schema.fromJsonString(AuditExportRecord))

/** Before the first record. */
export const beginning: AuditHead = { position: 0, hash: "0".repeat(64) }

const linkOf = ({ position, hash }: AuditHead) => ({ position, hash: new Uint8Array(Buffer.from(hash, "hex")) })

const refused = (message: string) => new CommandFailed({ message, exitCode: exitCodes.refused })

/** The last record of some records that follow `head`. Fails if one is not as it was written. */
export const verified = (head: AuditHead, records: ReadonlyArray<AuditExportRecord>) => {
  const broken = firstBroken(
    records.map((record) => ({ ...record, hash: linkOf(record).hash })),
    linkOf(head)
  )
  if (broken !== undefined) return Effect.fail(refused(`the audit log is broken at record ${broken}`))
  const { position, hash } = records.at(-1) ?? head
  return Effect.succeed<AuditHead>({ position, hash })
}

const attempt = <A>(file: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      CommandFailed.usage(`cannot use ${file}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/** Writes a file that only its owner can read, complete or not at all. `append` writes records. */
export const write = <E>(
  file: string,
  after: AuditHead,
  body: (append: (lines: ReadonlyArray<object>) => Effect.Effect<void, CommandFailed>) => Effect.Effect<AuditHead, E>
) =>
  Effect.gen(function* () {
    const partial = `${file}.partial`
    const handle = yield* Effect.acquireRelease(
      attempt(file, async () => {
        if (await fs.stat(file).then(Boolean, () => false)) throw new Error("it exists already: choose another name")
        return fs.open(partial, "w", 0o600)
      }),
      (opened) => Effect.promise(() => opened.close().then(() => fs.rm(partial, { force: true })))
    )
    const append = (lines: ReadonlyArray<object>) =>
      Effect.asVoid(attempt(file, () => handle.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))))
    yield* append([{ format: "effect-relayer audit", format_version: 1, after }])
    const { position, hash } = yield* body(append)
    yield* append([{ checkpoint: { position, hash } }])
    yield* attempt(file, async () => {
      await handle.sync()
      await fs.link(partial, file)
    })
  }).pipe(Effect.scoped)

/** Reads a file and verifies it. Returns the heads between which it has every record. */
export const verify = Effect.fnUntraced(function* (file: string) {
  const lines = (yield* attempt(file, () => fs.readFile(file, "utf8"))).trimEnd().split("\n")
  const start = decodeStart(lines[0])
  const end = decodeEnd(lines.at(-1))
  if (Option.isNone(start)) return yield* refused(`${file} is not an export of the audit log`)
  if (Option.isNone(end)) return yield* refused(`${file} is incomplete`)
  const { after } = start.value
  let head = after
  for (const line of lines.slice(1, -1)) {
    const record = decodeRecord(line)
    if (Option.isNone(record)) return yield* refused(`the audit log is broken at record ${head.position + 1}`)
    head = yield* verified(head, [record.value])
  }
  const { checkpoint } = end.value
  if (head.position !== checkpoint.position || head.hash !== checkpoint.hash) {
    return yield* refused(`the audit log is broken at record ${Math.min(head.position, checkpoint.position) + 1}`)
  }
  return { after, checkpoint }
})
