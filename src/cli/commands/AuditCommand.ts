// `audit`: lists and verifies the audit log.
import { DateTime, Effect, Option, Schedule, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { AuditHeadText, AuditQuery } from "../../domain/audit/Audit.ts"
import type { AuditHead, AuditRecord, AuditVerification } from "../../domain/audit/Audit.ts"
import { KnownAction, KnownAuditResource } from "../../domain/audit/Change.ts"
import { Instant } from "../../domain/request/Instant.ts"
import * as AuditFile from "../kit/AuditFile.ts"
import * as Call from "../kit/Call.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Field from "../kit/Field.ts"
import * as Help from "../kit/Help.ts"
import * as List from "../kit/List.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"
import { checkpoint, checkpoints, exported, prune } from "./AuditPruneCommands.ts"

const columns: List.Columns<AuditRecord> = {
  POSITION: ({ position }) => String(position),
  AT: ({ at }) => DateTime.formatIso(at),
  KEY: ({ key_id }) => key_id,
  ACTION: ({ action }) => action,
  RESOURCE: ({ resource_id }) => resource_id,
  CLIENT: ({ client_address }) => client_address,
  REQUEST: ({ request_id }) => request_id
}

const filter = Help.describe(Schema.Struct(AuditQuery), {
  action: Field.choice("action", KnownAction.literals),
  resource: Field.choice("resource", KnownAuditResource.literals),
  resource_id: Field.text("resource_id"),
  key_id: Field.text("key_id"),
  request_id: Field.text("request_id"),
  since: Field.of("since", Instant),
  until: Field.of("until", Instant),
  order: Field.choice("order", ["newest", "oldest"])
})

const pages = Help.describe(Schema.Struct(AuditQuery), {
  limit: Field.integer("limit"),
  cursor: Field.text("cursor")
})

const list = Command.make(
  "list",
  { given: List.flags, filter, pages },
  ({ given, filter, pages: { limit, cursor } }) => {
    const query = { ...(given.all ? { limit: 1000 } : {}), ...Field.given({ ...filter, limit }) }
    return List.print(given, columns, Field.given({ cursor }), (client, place) =>
      client.audit.list({ query: { ...query, ...Field.given({ cursor: Option.fromUndefinedOr(place.cursor) }) } })
    )
  }
).pipe(
  Verb.about(
    "List the audit log.",
    "audit list --resource relayer --resource-id payouts",
    "audit list --all --order oldest --since 2030-01-01T00:00:00Z --output json"
  )
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
      const { after, checkpoint } = yield* AuditFile.verify(file.value)
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
