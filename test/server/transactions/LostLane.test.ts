// A lane that somebody else has changed in the database.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as TestApi from "../../../testkit/TestApi.ts"
import { count, prepare, receiver, send } from "./Fixtures.ts"

layer(TestApi.layer())("a relayer whose lane was changed in the database", (it) => {
  it.effect("accepts transactions in a new lane", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual((yield* send({ to: receiver })).status, 200)
      yield* sql`UPDATE lanes SET address = ${`0x${"11".repeat(20)}`}`
      assert.strictEqual((yield* send({ to: receiver })).status, 200)
      assert.strictEqual((yield* send({ to: receiver, external_id: "order-1" })).status, 200)
      assert.strictEqual(yield* count, 3)
    })
  )
})
