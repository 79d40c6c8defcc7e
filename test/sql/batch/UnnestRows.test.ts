// The rows of a statement arrive unchanged.
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { unnestRows } from "../../../src/sql/Rows.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

/** PostgreSQL stores no NUL, and UTF-8 cannot encode half of a surrogate pair. */
const Text = Schema.String.check(Schema.makeFilter((text) => !text.includes("\0") && text.isWellFormed()))
const Awkward = Schema.Literals([
  "",
  "NULL",
  "null",
  "{}",
  ",",
  '"',
  "\\",
  '\\"',
  "\\x00",
  " padded ",
  "a\nb",
  "{a,NULL}"
])
const Cell = Schema.NullOr(Schema.Union([Awkward, Text]))
const Rows = Schema.NonEmptyArray(Schema.Struct({ name: Cell, select: Cell }))

layer(TestDatabase.layer)("Given", (it) => {
  it.effect.prop("any text, and null, in their order", [Arbitrary.schema(Rows)], ([rows]) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const read = yield* sql`SELECT name, given.select, n FROM ${unnestRows(sql, rows)} ORDER BY n`
      assert.deepStrictEqual(
        read.map((row) => ({ ...row, n: Number(row.n) })),
        rows.map((row, index) => ({ ...row, n: index + 1 }))
      )
    })
  )
})
