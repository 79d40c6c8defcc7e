// Reads a backup to its end before anything is replaced: its format, its counts and its checksum.
import { Effect, Option, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import * as Former from "../migrations/Former.ts"
import { latestMigration } from "../migrations/index.ts"
import { tables } from "../migrations/objects.ts"
import { BackupError } from "./Snapshot.ts"
import * as Format from "./Format.ts"

const invalid = (reason: string) => new BackupError({ message: `the backup cannot be restored: ${reason}` })

const decodeHeader = Schema.decodeUnknownOption(Schema.fromJsonString(Format.Header))
const decodeFooter = Schema.decodeUnknownOption(Schema.fromJsonString(Format.Footer))

/** A batch of a table that the header declares, each row with a value per column. */
export const decodeBatch = (header: Format.Header) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Format.Batch))
  const widths = new Map(header.tables.map(({ name, columns }) => [name, columns.length]))
  return (line: string): Effect.Effect<Format.Batch, BackupError> => {
    const batch = Option.getOrUndefined(decode(line))
    if (batch === undefined) return Effect.fail(invalid("a line is damaged"))
    const width = widths.get(batch.table)
    return width !== undefined && batch.rows.every((row) => row.length === width)
      ? Effect.succeed(batch)
      : Effect.fail(invalid(`rows of table ${batch.table} do not have the columns that the backup declares`))
  }
}

/** The header of a file that this version can restore. */
export const header = (line: string): Effect.Effect<Format.Header, BackupError> => {
  const found = Option.getOrUndefined(decodeHeader(line))
  if (found === undefined) {
    return Effect.fail(
      invalid("the file is no backup of effect-relayer, or of a format that this version does not know")
    )
  }
  if (found.schema < Former.baseline) {
    return Effect.fail(invalid(`it ${Former.isTooOld(found.schema)}: ${Former.remedyOfBackup}`))
  }
  if (found.schema > latestMigration) {
    return Effect.fail(
      invalid(
        `it has schema ${found.schema}, and this version knows none after ${latestMigration}: use a newer version`
      )
    )
  }
  const unknown = found.tables.find(({ name }) => !tables.includes(name))
  return unknown === undefined
    ? Effect.succeed(found)
    : Effect.fail(invalid(`it contains an unknown table ${unknown.name}`))
}

interface Progress {
  readonly header: Format.Header | undefined
  readonly footer: Format.Footer | undefined
  /** The checksum before the newest line. */
  readonly sha256: string
}

/** Reads all lines and returns the header and the counts of a complete, undamaged backup. */
export const validate = Effect.fn("Validation.validate")(function* <E>(lines: Stream.Stream<string, E>) {
  const hash = createHash("sha256")
  const counts = new Map<string, number>()
  let state: Progress = { header: undefined, footer: undefined, sha256: "" }
  let batchOf: ReturnType<typeof decodeBatch> | undefined

  const visit = Effect.fnUntraced(function* (line: string): Effect.fn.Return<void, BackupError> {
    if (state.footer !== undefined) return yield* invalid("there are lines after its end")
    const sha256 = hash.copy().digest("hex")
    hash.update(line).update("\n")
    if (batchOf === undefined) {
      const found = yield* header(line)
      batchOf = decodeBatch(found)
      state = { header: found, footer: undefined, sha256 }
      return
    }
    const footer = Option.getOrUndefined(decodeFooter(line))
    if (footer === undefined) {
      const { table, rows } = yield* batchOf(line)
      counts.set(table, (counts.get(table) ?? 0) + rows.length)
    } else state = { ...state, footer, sha256 }
  })
  yield* Stream.runForEach(lines, visit)

  if (state.header === undefined) return yield* invalid("the file is empty")
  const { footer } = state
  if (footer === undefined) return yield* invalid("it is incomplete")
  if (footer.sha256 !== state.sha256) return yield* invalid("its checksum does not match: it was changed or damaged")
  for (const { name } of state.header.tables) {
    if (footer.rows[name] !== (counts.get(name) ?? 0)) return yield* invalid(`rows of table ${name} are missing`)
  }
  return { header: state.header, rows: footer.rows }
})
