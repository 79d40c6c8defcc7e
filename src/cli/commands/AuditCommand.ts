// `audit`: lists and verifies the audit log, and keeps old records in a file instead of the database.
import { Console, DateTime, Effect, Option, Schedule, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as fs from "node:fs/promises"
import { AuditExportRecord, AuditHead, AuditHeadText } from "../../domain/audit/Audit.ts"
import type { AuditVerification } from "../../domain/audit/Audit.ts"
import { firstBroken } from "../../server/audit/Chain.ts"
import * as Call from "../kit/Call.ts"
import { connectionFlags } from "../kit/Call.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed, exitCodes } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"
import { askFirst, confirmFlag } from "../kit/Verb.ts"

// An exported part of the audit log: lines of JSON that verify without the service. The first line says after which record it
// begins, the last one is the checkpoint up to which it goes.

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
const headBeforeFirst: AuditHead = { position: 0, hash: "0".repeat(64) }

const linkOf = ({ position, hash }: AuditHead) => ({ position, hash: new Uint8Array(Buffer.from(hash, "hex")) })

const refused = (message: string) => new CommandFailed({ message, exitCode: exitCodes.refused })

/** The last record of some records that follow `head`. Fails if one is not as it was written. */
const verifiedHead = (head: AuditHead, records: ReadonlyArray<AuditExportRecord>) => {
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
const writeAuditFile = <E>(
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
const verifyAuditFile = Effect.fnUntraced(function* (file: string) {
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
    head = yield* verifiedHead(head, [record.value])
  }
  const { checkpoint } = end.value
  if (head.position !== checkpoint.position || head.hash !== checkpoint.hash) {
    return yield* refused(`the audit log is broken at record ${Math.min(head.position, checkpoint.position) + 1}`)
  }
  return { after, checkpoint }
})

// `audit checkpoint`, `audit checkpoints`, `audit export` and `audit prune`: keeps old records in a file instead of the database.

const textOf = ({ position, hash }: AuditHead) => `${position}:${hash}`

const headFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.withMetavar("<position:hash>"),
    Flag.withSchema(AuditHeadText)
  )

const checkpoint = Verb.call("checkpoint", "audit.checkpoint", ["audit checkpoint"], {
  rows: ({ data }) => [["checkpoint", textOf(data)]]
})

const checkpoints = Verb.call("checkpoints", "audit.checkpoints", ["audit checkpoints"], {
  rows: ({ data }) => [
    ["CHECKPOINT", "PRUNED"],
    ...data.map((each) => [textOf(each), each.pruned_at === undefined ? "no" : "yes"])
  ]
})

const exported = Command.make(
  "export",
  {
    given: connectionFlags,
    file: Argument.String("file").pipe(Argument.withDescription("A new file")),
    until: headFlag("checkpoint", "The last record of the file (default: a new checkpoint)").pipe(Flag.optional)
  },
  Effect.fnUntraced(function* ({ given, file, until }) {
    const run = yield* Call.open(given)
    const created = Effect.map(
      run((client) => client.audit.checkpoint({})),
      ({ value }): AuditHead => value.data
    )
    const end = yield* Option.match(until, { onNone: () => created, onSome: Effect.succeed })
    const known = (yield* run((client) => client.audit.checkpoints({}))).value.data
    const after: AuditHead = known.find(({ pruned_at }) => pruned_at !== undefined) ?? headBeforeFirst

    yield* writeAuditFile(file, { position: after.position, hash: after.hash }, (append) =>
      Effect.gen(function* () {
        let last: AuditHead = after
        while (last.position < end.position) {
          const query = { after: last.position, until: end.position }
          const records = (yield* run((client) => client.audit.export({ query }))).value.data
          if (records.length === 0) break
          last = yield* verifiedHead(last, records)
          yield* append(records)
        }
        if (last.position === end.position && last.hash === end.hash) return last
        return yield* new CommandFailed({
          message: `the audit log does not contain the checkpoint ${textOf(end)}, or its records were pruned`,
          exitCode: exitCodes.refused
        })
      })
    )
    yield* Console.log(`wrote ${file}: records ${after.position + 1} to ${end.position}, verified`)
    yield* Console.log(`To delete them from the database: effect-relayer audit prune --before ${textOf(end)}`)
  })
).pipe(
  Verb.about(
    "Write the audit log up to a checkpoint into a file of JSON lines. It verifies each record, and `audit verify --file` verifies the file without the service.",
    "audit export audit-2030.jsonl"
  )
)

const prune = Command.make(
  "prune",
  { given: Print.flags, before: headFlag("before", "The checkpoint, as export prints it"), yes: confirmFlag },
  ({ given, before, yes }) =>
    Effect.andThen(
      askFirst(yes, `delete the records of the audit log up to ${before.position}`),
      Print.one(
        given,
        (client) => client.audit.prune({ params: { position: before.position }, payload: { hash: before.hash } }),
        { rows: ({ data }) => [["pruned up to", textOf(data)]] }
      )
    )
).pipe(
  Verb.about(
    "Delete the records up to a checkpoint; asks first, with the administrator's key. Export them first. The rest of the log still verifies.",
    "audit prune --before 1203:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
  )
)

/** Most records on a page. */
const recordsPerPage = 1000

const list = Verb.list(
  "list",
  "audit.list",
  {
    POSITION: ({ position }) => String(position),
    AT: ({ at }) => DateTime.formatIso(at),
    KEY: ({ key_id }) => key_id,
    ACTION: ({ action }) => action,
    RESOURCE: ({ resource_id }) => resource_id,
    CLIENT: ({ client_address }) => client_address,
    REQUEST: ({ request_id }) => request_id
  },
  [
    "audit list --resource relayer --resource-id payouts",
    "audit list --all --order oldest --since 2030-01-01T00:00:00Z --output json"
  ],
  { most: recordsPerPage }
)

const rowsOf = ({ valid, checked, head }: AuditVerification) => [
  ["valid", String(valid)],
  ["checked", String(checked)],
  ...(head === undefined ? [] : [["head", `${head.position}:${head.hash}`]])
]

const head = Flag.String("head").pipe(
  Flag.withDescription("A head that verify printed earlier, which the log must still contain"),
  Flag.withMetavar("<position:hash>"),
  Flag.withSchema(AuditHeadText),
  Flag.optional
)

const file = Flag.String("file").pipe(
  Flag.withDescription("Verify this file that export wrote, without the service"),
  Flag.optional
)

/** An instance verifies for one caller at a time. Tries again for a minute. */
const whileOthersVerify = {
  while: ({ status }: CommandFailed) => status === 429,
  schedule: Schedule.spaced("1 second"),
  times: 60
}

const verify = Command.make(
  "verify",
  { given: Print.flags, head, file },
  Effect.fnUntraced(function* ({ given, head, file }) {
    if (Option.isSome(file)) {
      const { after, checkpoint } = yield* verifyAuditFile(file.value)
      return yield* Print.table([
        ["valid", "true"],
        ["records", `${after.position + 1} to ${checkpoint.position}`],
        ["head", `${checkpoint.position}:${checkpoint.hash}`]
      ])
    }
    const run = yield* Call.open(given)
    const stored = Option.getOrElse(head, () => ({}))
    const verifyFrom = (from: { readonly from?: AuditHead }) =>
      Effect.map(
        run((client) => client.audit.verify({ query: { ...stored, ...from } })),
        ({ value }) => value.data
      )

    let part = yield* verifyFrom({}).pipe(Effect.retry(whileOthersVerify))
    let { checked } = part
    while (part.next !== undefined && part.head !== undefined) {
      part = yield* verifyFrom({ from: part.head }).pipe(Effect.retry(whileOthersVerify))
      checked += part.checked
    }
    const verified = { ...part, checked }
    yield* given.output === "json" ? Print.json(verified) : Print.table(rowsOf(verified))
    if (verified.valid) return
    const place = verified.broken_at === undefined ? "" : ` at record ${verified.broken_at}`
    return yield* new CommandFailed({ message: `the audit log is broken${place}`, exitCode: exitCodes.refused })
  })
).pipe(
  Verb.about(
    "Verify the audit log; exit code 1 if it was tampered with. Keep the head in another place and pass it to the next run.",
    "audit verify",
    "audit verify --file audit-2030.jsonl",
    "audit verify --head 1203:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
  )
)

export const AuditCommand = Command.make("audit").pipe(
  Verb.about("The audit log: all changes, with their time and API key.", "audit list", "audit verify"),
  Command.withSubcommands([list, verify, checkpoint, checkpoints, exported, prune])
)
