// How rows are read: decoded by a schema, and in one named way without.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Rows from "../../src/sql/Rows.ts"

const Row = Schema.Struct({ id: Schema.String, count: Rows.Integer })
const row = { id: "a", count: 7n }

describe("a reader of rows", () => {
  it.effect("decodes every row, the first row, and the only row", () =>
    Effect.gen(function* () {
      const decoded = { id: "a", count: 7 }
      assert.deepStrictEqual(yield* Rows.all(Row)([row, row]), [decoded, decoded])
      assert.deepStrictEqual(yield* Rows.first(Row)([row]), Option.some(decoded))
      assert.deepStrictEqual(yield* Rows.first(Row)([]), Option.none())
      assert.deepStrictEqual(yield* Rows.one(Row)([row]), decoded)
      assert.deepStrictEqual(yield* Rows.ids([row]), ["a"])
    })
  )

  it.effect("dies of a row that does not fit, and of a missing row", () =>
    Effect.gen(function* () {
      const renamed = [{ name: "a", count: 7n }]
      const reads: ReadonlyArray<Effect.Effect<unknown>> = [
        Rows.all(Row)(renamed),
        Rows.first(Row)(renamed),
        Rows.one(Row)(renamed),
        Rows.one(Row)([])
      ]
      for (const read of reads) assert.isTrue(Exit.hasDies(yield* Effect.exit(read)))
    })
  )
})

describe("the sources", () => {
  it("read no row without a check except by `Rows.unchecked`", () => {
    const root = path.join(import.meta.dirname, "../../src")
    const files = fs.readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
    assert.isAbove(files.length, 100)
    const textOf = (file: string) => fs.readFileSync(path.join(root, file), "utf8")
    const typed = files.filter((file) => /\bsql(\.unsafe)?<|\bSqlSchema\b/.test(textOf(file)))
    assert.deepStrictEqual(typed, [path.join("sql", "Rows.ts")])
    const unchecked = files.filter((file) => /Rows\.unchecked/.test(textOf(file)))
    assert.deepStrictEqual(unchecked.sort(), [
      path.join("server", "access", "ApiKeysRepo.ts"),
      path.join("server", "relayers", "RelayersRepo.ts")
    ])
  })
})
