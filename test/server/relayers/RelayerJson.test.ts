// The generated column that holds the JSON of each relayer, compared with the schema of responses.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

/** The names in the fragments of JSON that the expression concatenates, such as `,"paused":`. */
const fieldsIn = (expression: string) => [...expression.matchAll(/"(\w+)":/g)].map(([, name]) => name)

/** Fields of responses that are not in the stored row. */
const notStored = ["managed_by", "health"]

layer(TestDatabase.layer)("the column `json` of the table `relayers`", (it) => {
  it.effect("has the fields of the schema `Relayer`, in the same order", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [column] = yield* sql<{ readonly expression: string }>`
        SELECT generation_expression AS expression FROM information_schema.columns
        WHERE table_name = 'relayers' AND column_name = 'json'`
      const found = fieldsIn(column?.expression ?? "")
      assert.lengthOf(found, 13)
      for (const { fields } of Relayer.members) {
        const own = [...found, ...notStored].filter((name) => name !== undefined && name in fields)
        assert.deepStrictEqual(own, Object.keys(fields))
      }
    })
  )
})
