// Checks after a fault: every acknowledged write is there, and no change is incomplete.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Context } from "./Case.ts"
import type { Ledger } from "./Writer.ts"

interface Named {
  readonly id: string
  readonly name?: string
}

const list = Effect.fnUntraced(function* (service: Listening, resource: string) {
  const items: Array<Named> = []
  let total = 0
  for (let page = 1; ; page++) {
    const { text } = yield* service.call(`/api/v1/${resource}?per_page=1000&page=${page}`)
    const { data, pagination } = JSON.parse(text) as {
      readonly data: ReadonlyArray<Named>
      readonly pagination: { readonly total_items: number }
    }
    items.push(...data)
    total = pagination.total_items
    if (data.length < 1000) return { items, total }
  }
})

/** Checks acknowledged writes, the audit log and the totals through the API. */
export const check = Effect.fnUntraced(function* ({ tally }: Context, service: Listening, ledger: Ledger) {
  yield* until(
    "the service to be ready",
    Effect.map(service.call("/api/v1/ready"), ({ status }) => (status === 200 ? true : undefined))
  )
  const relayers = yield* list(service, "relayers")
  const signers = yield* list(service, "signers")
  const wrong = ledger.mistakes(
    new Map(relayers.items.map(({ id, name = "" }) => [id, name])),
    new Set(signers.items.map(({ id }) => id))
  )
  tally.add("lost", wrong.length)
  tally.expect(wrong.length === 0, `acknowledged writes are there: ${wrong.slice(0, 3).join("; ")}`)
  tally.expect(relayers.total === relayers.items.length, "the total is the number of relayers")
  const verified = yield* service.call("/api/v1/audit/verify")
  tally.expect(verified.text.includes('"valid":true'), `the audit log verifies: ${verified.text}`)
})

/** Counts rows whose counterpart, which is written in the same transaction, is missing. */
const halves = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Record<string, bigint>>`
    WITH recorded AS (SELECT resource_id AS id, action FROM audit),
      published AS (SELECT resource_id AS id, type AS action FROM events)
    SELECT
      (SELECT count(*) FROM relayers r WHERE NOT EXISTS
        (SELECT FROM recorded a WHERE a.id = r.id AND a.action = 'relayer.created')) AS "relayers without record",
      (SELECT count(*) FROM signers s WHERE NOT EXISTS
        (SELECT FROM recorded a WHERE a.id = s.id AND a.action = 'signer.created')) AS "signers without record",
      (SELECT count(*) FROM (SELECT id, action FROM recorded WHERE action LIKE 'relayer.%' EXCEPT ALL SELECT id, action FROM published) x)
        AS "records without event",
      (SELECT count(*) FROM (SELECT id, action FROM published WHERE action LIKE 'relayer.%' EXCEPT ALL SELECT id, action FROM recorded) x)
        AS "events without record",
      (SELECT count(*) FROM recorded a WHERE a.action = 'relayer.created'
        AND NOT EXISTS (SELECT FROM relayers r WHERE r.id = a.id)
        AND NOT EXISTS (SELECT FROM recorded d WHERE d.id = a.id AND d.action = 'relayer.deleted')) AS "records of nothing",
      (SELECT count(*) FROM relayers r WHERE NOT EXISTS
        (SELECT FROM relayer_checks c WHERE c.relayer_id = r.id)) AS "relayers without check",
      (SELECT abs((SELECT count(*) FROM relayers) - (SELECT sum(count) FROM relayer_counts)))::bigint AS "difference to the stored count"`
  return row ?? {}
})

/** Checks the rows in the database itself. */
export const checkRows = Effect.fnUntraced(function* ({ tally }: Context, config: PgClient.PgPoolConfig) {
  const found = yield* Effect.orDie(
    Effect.provide(halves, Layer.fresh(PgClient.layer({ ...config, maxConnections: 1 })))
  )
  for (const [what, count] of Object.entries(found)) {
    tally.add("incomplete", Number(count))
    tally.expect(count === 0n, `no change is incomplete: ${count} ${what}`)
  }
})
