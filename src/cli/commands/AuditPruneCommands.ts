// `audit checkpoint`, `audit checkpoints`, `audit export` and `audit prune`: keeps old records in a file instead of the database.
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AuditHeadText } from "../../domain/audit/Audit.ts"
import type { AuditHead } from "../../domain/audit/Audit.ts"
import * as AuditFile from "../kit/AuditFile.ts"
import * as Call from "../kit/Call.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Confirm from "../kit/Confirm.ts"
import * as Connection from "../kit/Connection.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const textOf = ({ position, hash }: AuditHead) => `${position}:${hash}`

const head = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.withMetavar("<position:hash>"),
    Flag.withSchema(AuditHeadText)
  )

export const checkpoint = Command.make("checkpoint", { given: Print.flags }, ({ given }) =>
  Print.one(
    given,
    (client) => client.audit.checkpoint({}),
    ({ data }) => [["checkpoint", textOf(data)]]
  )
).pipe(Verb.about("Create a checkpoint at the last record.", "audit checkpoint"))

export const checkpoints = Command.make("checkpoints", { given: Print.flags }, ({ given }) =>
  Print.one(
    given,
    (client) => client.audit.checkpoints({}),
    ({ data }) => [
      ["CHECKPOINT", "PRUNED"],
      ...data.map((each) => [textOf(each), each.pruned_at === undefined ? "no" : "yes"])
    ]
  )
).pipe(Verb.about("List the checkpoints, newest first.", "audit checkpoints"))

export const exported = Command.make(
  "export",
  {
    given: Connection.flags,
    file: Argument.String("file").pipe(Argument.withDescription("A new file")),
    until: head("checkpoint", "The last record of the file (default: a new checkpoint)").pipe(Flag.optional)
  },
  Effect.fnUntraced(function* ({ given, file, until }) {
    const run = yield* Call.open(given)
    const created = Effect.map(
      run((client) => client.audit.checkpoint({})),
      ({ value }): AuditHead => value.data
    )
    const end = yield* Option.match(until, { onNone: () => created, onSome: Effect.succeed })
    const known = (yield* run((client) => client.audit.checkpoints({}))).value.data
    const after: AuditHead = known.find(({ pruned_at }) => pruned_at !== undefined) ?? AuditFile.beginning

    yield* AuditFile.write(file, { position: after.position, hash: after.hash }, (append) =>
      Effect.gen(function* () {
        let last: AuditHead = after
        while (last.position < end.position) {
          const query = { after: last.position, until: end.position }
          const records = (yield* run((client) => client.audit.export({ query }))).value.data
          if (records.length === 0) break
          last = yield* AuditFile.verified(last, records)
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

export const prune = Command.make(
  "prune",
  { given: Print.flags, before: head("before", "The checkpoint, as export prints it"), yes: Confirm.flag },
  ({ given, before, yes }) =>
    Effect.andThen(
      Confirm.ask(yes, `delete the records of the audit log up to ${before.position}`),
      Print.one(
        given,
        (client) => client.audit.prune({ params: { position: before.position }, payload: { hash: before.hash } }),
        ({ data }) => [["pruned up to", textOf(data)]]
      )
    )
).pipe(
  Verb.about(
    "Delete the records up to a checkpoint; asks first, with the administrator's key. Export them first. The rest of the log still verifies.",
    "audit prune --before 1203:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
  )
)
