// The verification of the audit log: damaged records, long logs, and concurrent verifications.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../../src/server/audit/Audit.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, change, changes, records, verify } from "./Log.ts"
import type { Verification } from "./Log.ts"

/** Writes to linked records as the owner of the database can. */
const tamper = Effect.fnUntraced(function* (set: string, position: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
  yield* sql`UPDATE audit SET ${sql.literal(set)} WHERE position = ${position}`
  yield* sql`ALTER TABLE audit ENABLE TRIGGER USER`
})

layerEach(Prepared.layer(change))("a record with a damaged link", (it) => {
  const last = changes.length
  for (const [set, ...positions] of [
    ["hash = NULL", 5, last],
    ["hash = '\\x00'", 5, last],
    ["hash = ''", 5, last],
    ["position = NULL", 5],
    ["position = 9007199254740993", 5, last]
  ] as const) {
    for (const position of positions) {
      it.effect(`is reported with its position, and new records are still linked: ${set} at ${position}`, () =>
        Effect.gen(function* () {
          assert.lengthOf(yield* records(), last)
          yield* tamper(set, position)
          assert.strictEqual((yield* call("/api/v1/signers", { body: { ...signer, id: "later" } })).status, 201)
          const answer = yield* call("/api/v1/audit/verify")
          assert.deepInclude(answer.json.data as object, { valid: false, broken_at: position }, answer.text)
          const listed = yield* call("/api/v1/audit?resource_id=later")
          assert.strictEqual(listed.status, 200, listed.text)
        })
      )
    }
  }
})

layerEach(TestApi.layer())("the verification of a long log", (it) => {
  const fill = (count: number) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      yield* sql`
        INSERT INTO audit (key_id, action, resource, resource_id)
        SELECT 'x', 'relayer.created', 'relayer', 'r' || n FROM generate_series(1, ${count}::int) n`
      yield* Effect.repeat(audit.list({}), { times: Math.ceil(count / 5000) })
    })

  it.effect("takes several requests, each of which continues after the one before", () =>
    Effect.gen(function* () {
      yield* fill(12_000)
      const parts: Array<Verification> = [yield* verify()]
      for (let next = parts[0]?.next; next !== undefined; next = parts.at(-1)?.next) {
        parts.push(yield* verify(`?from=${next}`))
      }
      let position = 0
      for (const { valid, checked, head } of parts) {
        position += checked
        assert.isTrue(valid && checked <= 5000)
        assert.strictEqual(head.position, position)
      }
      assert.strictEqual(position, 12_000)

      // Behind what one request verifies at most. On a busy machine, a request verifies less.
      const changed = 5003
      yield* tamper("resource_id = 'other'", changed)
      let last = yield* verify()
      assert.isTrue(last.valid)
      while (last.next !== undefined) last = yield* verify(`?from=${last.next}`)
      assert.deepInclude(last, { valid: false, broken_at: changed })
    })
  )

  it.effect("does not continue from a head that the log does not contain", () =>
    Effect.gen(function* () {
      yield* fill(10)
      const { head } = yield* verify()
      const sql = yield* SqlClient.SqlClient
      assert.deepInclude(yield* verify(`?from=5:${head.hash}`), { valid: false, checked: 0, broken_at: 5 })
      yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
      yield* sql`DELETE FROM audit WHERE position > 7`
      assert.deepInclude(yield* verify(`?from=10:${head.hash}`), { valid: false, checked: 0, broken_at: 8 })
      assert.strictEqual((yield* call("/api/v1/audit/verify?from=10")).status, 400)
    })
  )

  it.effect("runs for one caller at a time; others get 429 with Retry-After", () =>
    Effect.gen(function* () {
      yield* fill(3000)
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => call("/api/v1/audit/verify")),
        { concurrency: "unbounded" }
      )
      const refused = answers.filter(({ status }) => status === 429)
      assert.isAbove(refused.length, 0)
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        20 - refused.length
      )
      for (const { headers } of refused) assert.strictEqual(headers.get("retry-after"), "1")
      assert.isTrue((yield* verify()).valid)
    })
  )
})
