// Rows as values of a schema.
import { Schema, SchemaTransformation } from "effect"

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

/** What goes into a column of JSON: null where `value` is absent. */
export const jsonText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
