// Checkpoints of the audit log: old records are exported and pruned, and the rest still verifies.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditExportRecord } from "../../../src/domain/audit/Audit.ts"
import * as Retentions from "../../../src/server/Retentions.ts"
import * as Chain from "../../../src/server/audit/Chain.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, change, changes, createSigner, records, verify } from "./Log.ts"

interface Checkpoint {
  readonly position: number
  readonly hash: string
  readonly pruned_at?: string
}

const path = "/api/v1/audit/checkpoints"

const createCheckpoint = Effect.map(call(path, { method: "POST" }), ({ status, json, text }) => {
  assert.strictEqual(status, 201, text)
  return json.data as Checkpoint
})

/** With an idempotency key, the request runs in a transaction. */
const createOnce = call(path, { method: "POST", headers: { "idempotency-key": "checkpoint" } })

const prune = ({ position, hash }: Pick<Checkpoint, "position" | "hash">) =>
  call(`${path}/${position}/prune`, { body: { hash } })

const exportPage = (query = "") =>
  Effect.map(call(`/api/v1/audit/export${query}`), ({ json }) => json.data as ReadonlyArray<AuditExportRecord>)

const countRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM audit`
  return Number(row?.count)
})

const count = changes.length

layerEach(Prepared.layer(change))("an audit log with a checkpoint", (it) => {
  it.effect("has a record of it, and still verifies", () =>
    Effect.gen(function* () {
      const checkpoint = yield* createCheckpoint
      assert.strictEqual(checkpoint.position, count)
      const last = (yield* records()).at(-1)
      assert.deepInclude(last, {
        position: count + 1,
        action: "audit.checkpoint_created",
        resource_id: String(count),
        after: { position: count, hash: checkpoint.hash }
      })
      assert.deepInclude(yield* verify(), { valid: true, checked: count + 1 })
      const listed = yield* call(path)
      assert.deepStrictEqual(listed.json.data, [checkpoint])
      const once = yield* createOnce
      assert.strictEqual(once.status, 201, once.text)
      assert.strictEqual((yield* createOnce).text, once.text)
    })
  )

  it.effect("is pruned at once: the rest is listed and verifies, before and after the rows are deleted", () =>
    Effect.gen(function* () {
      const checkpoint = yield* createCheckpoint
      yield* createSigner("later")
      const answer = yield* prune(checkpoint)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isDefined((answer.json.data as Checkpoint).pruned_at)

      const rest = ["audit.checkpoint_created", "signer.created", "audit.pruned"]
      const check = Effect.gen(function* () {
        const listed = yield* records()
        assert.deepStrictEqual(
          listed.map(({ position, action }) => [position, action]),
          rest.map((action, index) => [count + 1 + index, action])
        )
        const { head, ...verified } = yield* verify()
        assert.deepStrictEqual(verified, { valid: true, checked: 3 })
        assert.strictEqual(head.position, count + 3)
        assert.deepInclude(yield* verify(`?position=${checkpoint.position}&hash=${checkpoint.hash}`), { valid: true })
        const before = yield* call(`/api/v1/audit/verify?position=1&hash=${checkpoint.hash}`)
        assert.deepStrictEqual(
          [before.status, before.json.error],
          [400, `position: the records up to ${count} were pruned`]
        )
      })
      yield* check
      assert.strictEqual(yield* countRows, count + 3)
      yield* Effect.scoped(
        Effect.andThen(Layer.build(Retentions.audit), Effect.repeat(countRows, { until: (rows) => rows === 3 }))
      )
      yield* check
      assert.strictEqual((yield* prune(checkpoint)).status, 200)
      yield* createSigner("after")
      assert.deepInclude(yield* verify(), { valid: true, checked: 4 })
    })
  )

  it.effect("deletes no record that was not pruned", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const checkpoint = yield* createCheckpoint
      yield* createSigner("later")
      yield* prune(checkpoint)
      yield* verify()
      const refused = yield* Effect.exit(sql`DELETE FROM audit WHERE position > ${count}`)
      assert.strictEqual(refused._tag, "Failure")
    })
  )

  it.effect("is broken at a checkpoint that the service did not make", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [, , , , fifth] = yield* records()
      yield* sql`
        INSERT INTO audit_checkpoints (position, hash, at, mac, pruned_at)
        VALUES (5, decode(${fifth?.hash ?? ""}, 'hex'), now(), ${new Uint8Array(32)}, now())`
      yield* sql`DELETE FROM audit WHERE position <= 5`
      assert.deepInclude(yield* verify(), { valid: false, checked: 0, broken_at: 5 })
    })
  )

  it.effect("is broken if it was rewritten or cut off before the checkpoint", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* createCheckpoint
      yield* verify()
      yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
      yield* sql`DELETE FROM audit WHERE position > 7`
      assert.deepInclude(yield* verify(), { valid: false, broken_at: 8 })
    })
  )

  it.effect("is exported in the form that is hashed, so that it verifies without the service", () =>
    Effect.gen(function* () {
      const { position, hash } = yield* createCheckpoint
      const exported = [...(yield* exportPage(`?until=4`)), ...(yield* exportPage(`?after=4&until=${position}`))]
      assert.lengthOf(exported, count)
      const links = Chain.chain(exported)
      assert.strictEqual(Buffer.from(links.at(-1)?.hash ?? []).toString("hex"), hash)
      const next = yield* call(`/api/v1/audit/export?until=4`)
      assert.isNull(next.headers.get("link"))
    })
  )

  it.effect("is pruned by nobody but the administrator, who confirms the hash", () =>
    Effect.gen(function* () {
      const checkpoint = yield* createCheckpoint
      const made = yield* call("/api/v1/api-keys", { body: { name: "all", scopes: ["*"] } })
      const { key } = made.json.data as { readonly key: string }
      const attempts = [
        yield* call(path, { method: "POST", key }),
        yield* call(`${path}/${count}/prune`, { body: { hash: checkpoint.hash }, key }),
        yield* prune({ ...checkpoint, hash: "0".repeat(64) }),
        yield* prune({ ...checkpoint, position: 3 }),
        yield* call(`${path}/${count}/prune`, { body: {} })
      ]
      assert.deepStrictEqual(
        attempts.map(({ status }) => status),
        [201, 403, 400, 404, 400]
      )
      assert.deepInclude(yield* verify(), { valid: true })
      assert.strictEqual((yield* records())[0]?.position, 1)
    })
  )
})

layerEach(TestApi.layer())("an empty audit log", (it) => {
  it.effect("has no checkpoint", () =>
    Effect.gen(function* () {
      const answer = yield* call(path, { method: "POST" })
      assert.deepStrictEqual([answer.status, answer.json.error], [400, "audit: has no record yet"])
    })
  )
})
