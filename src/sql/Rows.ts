// How the rows of a statement are read: decoded by the schema of a row. A row that does not fit is a defect.
import { Effect, Exit, Option, Schema, SchemaTransformation } from "effect"
import type { SqlClient } from "effect/sql"
import * as Paced from "./Paced.ts"

type RowSchema = Schema.ConstraintDecoder<unknown>

/** Reads every row. Readers are made once, not for each statement: making one compiles the schema. */
export const all = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Row["Type"]>> => Effect.orDie(decode(rows))
}

/** Reads every row, in pieces: for pages of rows that contain whole resources. */
export const allPaced = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Row["Type"]>> =>
    Paced.forEach(rows, (found) => Effect.orDie(decode(found)))
}

/** The same for lists, in which a row that does not fit is left out. */
export const readablePaced = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return Effect.fnUntraced(function* <Found extends object>(rows: ReadonlyArray<Found>) {
    const read = yield* Paced.forEach(rows, (found) => Effect.exit(decode(found)))
    return {
      items: read.flatMap((exit): ReadonlyArray<Row["Type"]> => (Exit.isSuccess(exit) ? [exit.value] : [])),
      failed: rows.filter((_, index) => read[index]?._tag === "Failure")
    }
  })
}

/** Reads the first row, if there is one. */
export const first = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return ([found]: ReadonlyArray<unknown>): Effect.Effect<Option.Option<Row["Type"]>> =>
    found === undefined ? Effect.succeedNone : Effect.asSome(Effect.orDie(decode(found)))
}

/** Reads the first row of a statement that always returns one. */
export const one = <Row extends RowSchema>(row: Row) => {
  const read = first(row)
  const missing = Effect.die(new Error("a statement that always returns a row returned none"))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<Row["Type"]> =>
    Effect.flatMap(read(rows), Option.match({ onNone: () => missing, onSome: Effect.succeed }))
}

const readIds = all(Schema.Struct({ id: Schema.String }))

/** Reads the column `id`. */
export const ids = (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(readIds(rows), (found) => found.map(({ id }) => id))

const readWords = one(Schema.Struct({ words: Schema.String }))

/** Reads the column `words` of one row, words between spaces: one text is read faster than many thousand rows. */
export const words = (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(readWords(rows), ({ words }) => (words === "" ? [] : words.split(" ")))

/**
 * The only way to read rows without a check: a template whose rows have the type `Row`. For hot paths that were measured,
 * which are reading and creating relayers, and finding the API key of a request.
 */
export const unchecked = <Row extends object>(sql: SqlClient.SqlClient) => sql<Row>

/** A `bigint` that fits a number, such as a count. */
export const Integer = Schema.BigInt.pipe(
  Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transform({
      decode: (value: bigint) => Number(value),
      encode: (value: number) => BigInt(value)
    })
  )
)

/** A row whose columns are named as the fields of `schema`: a null is an absent field; `read` turns a column into a field. */
export const withoutNulls = <S extends Schema.Constraint>(
  schema: S,
  read: Readonly<Record<string, (column: unknown) => unknown>> = {}
) =>
  Schema.Unknown.pipe(
    Schema.decodeTo(
      Schema.Unknown,
      SchemaTransformation.transform({
        decode: (row: unknown): unknown =>
          Object.fromEntries(
            Object.entries(row as Record<string, unknown>)
              .filter(([, value]) => value !== null)
              .map(([column, value]) => [column, read[column]?.(value) ?? value])
          ),
        encode: (value: unknown) => value
      })
    ),
    Schema.decodeTo(schema)
  )

/** What is written into a column of JSON. An absent value is null. */
export const jsonText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
