// `repair`: lists the rows of the database that cannot be verified, with the evidence, and accepts those that the operator names.
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import type { AuditHead } from "../../domain/audit/Audit.ts"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Settings from "../../process/settings/Settings.ts"
import type { Decision, Found, FoundRow } from "../../server/masterKey/RowRepair.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Table from "../kit/Table.ts"
import * as Verb from "../kit/Verb.ts"

/** The caller in the audit log. No API key can have this id, because it has a blank. */
const caller = { id: "effect-relayer repair" }

/** One for the transaction, and some for what the service reads beside it. */
const connections = 4

const explanation = `The MAC of each of these rows is not that of its columns under the secret that the database has now. There are two causes: another program or
a person changed the row, or a defect of an earlier version lost the secret that the MAC was made with. The MAC alone cannot tell them apart.

  proves       cannot be made without the master key: the columns are as the service wrote them under this id, now or earlier
  fits         speaks for the row, but a program that can write the database can write this as well
  differs      speaks against the row, or needs the judgement of a person
  contradicts  the row is not as the service wrote it, and repair does not accept it
  open         says nothing

Compare each row with what you know, and the head of the audit log with one that you kept elsewhere. Restore a row that somebody changed from
a backup. Do not delete a signer: its key may exist nowhere else.`

const rowsOf = ({ content, evidence, fingerprint, id, table }: FoundRow) => [
  ...Table.fields(content),
  ...evidence.map(({ about, verdict, text }) => [about, `${verdict}: ${text}`]),
  [
    "to accept",
    fingerprint === undefined
      ? "not possible: the evidence contradicts the row"
      : `effect-relayer repair --accept ${table}/${id}=${fingerprint}`
  ]
]

const block = (row: FoundRow) =>
  [Table.printable(`${row.table}/${row.id}`), ...Table.lines(rowsOf(row)).map((line) => `  ${line}`)].join("\n")

interface Log {
  readonly valid: boolean
  readonly checked: number
  readonly head?: AuditHead
  readonly broken_at?: number
}

const logLine = ({ valid, checked, head, broken_at }: Log) =>
  valid
    ? `The audit log has ${checked} records that fit together${head === undefined ? "" : `; its head is ${head.position}:${head.hash}`}.`
    : `The audit log is broken${broken_at === undefined ? "" : ` at record ${broken_at}`}: what it says below proves nothing.`

const text = ({ total, unreadable }: Found, log: Log) =>
  [
    `${unreadable.length} of ${total} rows of signers, relayers and networks cannot be verified.`,
    explanation,
    logLine(log),
    ...unreadable.map(block)
  ].join("\n\n")

const toDecision = (given: string) => {
  const parts = /^([^/]+)\/(.+)=([0-9a-f]+)$/.exec(given)
  const [, table = "", id = "", fingerprint = ""] = parts ?? []
  const decision: Decision = { table, id, fingerprint }
  return parts === null
    ? Effect.fail(
        Maintenance.refused(
          `--accept ${given}: must be TABLE/ID=FINGERPRINT, as repair prints it without --accept; each row is accepted alone`
        )
      )
    : Effect.succeed(decision)
}

interface RepairFlags {
  readonly accept: ReadonlyArray<string>
  readonly database: ServeFlags.ServeFlagValues
}

const repair = Effect.fnUntraced(function* ({ accept, database }: RepairFlags) {
  const decisions = yield* Effect.forEach(accept, toDecision)
  const settings = yield* DatabaseSettings.withKeys(database)
  yield* Maintenance.checkExists(settings)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Services = yield* Effect.promise(() => import("../../server/Services.ts"))
  const Lifecycle = yield* Effect.promise(() => import("../../server/lifecycle/Lifecycle.ts"))
  const RowRepair = yield* Effect.promise(() => import("../../server/masterKey/RowRepair.ts"))
  const { Audit } = yield* Effect.promise(() => import("../../server/audit/Audit.ts"))
  const { keptMasterKeys } = yield* Effect.promise(() => import("../../process/settings/StartKeys.ts"))
  const keys = yield* Maintenance.report(keptMasterKeys(settings))

  const { missingSchema } = yield* Effect.promise(() => import("../../sql/Migrate.ts"))

  const verified = Effect.gen(function* () {
    const { verify } = yield* Audit
    let part = yield* verify()
    let { checked } = part
    while (part.next !== undefined && part.head !== undefined) {
      part = yield* verify({ from: part.head })
      checked += part.checked
    }
    return { ...part, checked }
  })

  const work = Effect.gen(function* () {
    const rows = yield* RowRepair.make
    if (decisions.length > 0) {
      yield* rows.accept(decisions)
      for (const { table, id } of decisions) yield* Console.log(Table.printable(`accepted ${table}/${id}`))
    }
    const found = yield* rows.list
    if (found.unreadable.length === 0) {
      return yield* Console.log(`All ${found.total} rows of signers, relayers and networks can be verified.`)
    }
    if (decisions.length > 0) {
      return yield* Console.log(
        `${found.unreadable.length} rows cannot be verified; repair without --accept lists them.`
      )
    }
    yield* Console.log(text(found, yield* verified))
  }).pipe(
    Effect.provideService(CurrentCaller, caller),
    Effect.provide(
      Audit.layer.pipe(
        Layer.provideMerge(
          Services.layerSecrets({
            masterKey: Settings.masterKeyBytes(keys.current),
            decryptionKeys: keys.others.map(Settings.masterKeyBytes)
          })
        ),
        Layer.provideMerge(Lifecycle.layer)
      )
    )
  )
  yield* Effect.gen(function* () {
    const missing = yield* missingSchema
    if (missing !== undefined) return yield* Maintenance.refused(missing)
    yield* work
  }).pipe(
    Effect.provide(Sql.maintenance(Settings.databaseOptions(settings), connections)),
    Effect.catchTags({
      DatabaseError: (error) => Effect.fail(StartFailed.fromDatabase(error)),
      WrongMasterKey: (error) => Effect.fail(StartFailed.fromMasterKey(error))
    }),
    Maintenance.report
  )
})

export const RepairCommand = Command.make(
  "repair",
  {
    accept: Flag.String("accept").pipe(
      Flag.atLeast(0),
      Flag.withMetavar("<table/id=fingerprint>"),
      Flag.withDescription(
        "Accept this row as it was listed: it gets a new MAC, and the audit log a record. Repeat it for each row; there is no way to accept all"
      )
    ),
    database: ServeFlags.databaseFlags
  },
  repair
).pipe(
  Verb.about(
    "List the rows of signers, relayers and networks that cannot be verified, and what shows whether somebody changed them. Without --accept it changes no row. It uses the database of DATABASE_URL, or the embedded one, also while the service runs.",
    "repair",
    "repair --accept signers/hot-1=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
  )
)
