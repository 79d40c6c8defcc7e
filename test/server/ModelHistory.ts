// Checks that the audit log and the events agree with the model.
import { assert } from "@effect/vitest"
import { Context, Effect, Predicate, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditRecord } from "../../src/domain/audit/Audit.ts"
import { Relayer } from "../../src/domain/relayer/Relayer.ts"
import { parse } from "../../src/domain/request/ExactJson.ts"
import { Audit } from "../../src/server/audit/Audit.ts"
import { EventFeed } from "../../src/server/events/EventFeed.ts"
import type { Instance } from "./Instances.ts"
import type { Model } from "./Model.ts"
import { awaited } from "../../testkit/Awaited.ts"

const encode = Schema.encodeSync(Relayer)

const wire = (value: unknown = null): unknown =>
  JSON.parse(JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? String(child) : child)))

/** The resources that result from the records. The `before` of each record must be the state after the previous one. */
const replay = (records: ReadonlyArray<AuditRecord>) => {
  const replayed = new Map<string, unknown>()
  for (const { resource, resource_id, before, after } of records) {
    const id = `${resource} ${resource_id}`
    assert.deepStrictEqual(wire(before), wire(replayed.get(id)), "`before` is the state after the previous record")
    if (after === undefined) replayed.delete(id)
    else replayed.set(id, after)
  }
  return replayed
}

const isPaused = (value: unknown) => Predicate.hasProperty(value, "paused") && value.paused === true

/** The events of a record: the change itself, and whether it paused or resumed a relayer. */
const eventsOf = ({ action, before, after }: AuditRecord) => {
  const data = wire(after ?? before)
  const changed = { type: action as string, data }
  if (action !== "relayer.updated" || isPaused(before) === isPaused(after)) return [changed]
  return [changed, { type: isPaused(after) ? "relayer.paused" : "relayer.resumed", data }]
}

/** The events of each resource in order. The order between concurrent changes of two resources is not defined. */
const byResource = (events: ReadonlyArray<{ readonly type: string; readonly id: string; readonly data: unknown }>) =>
  Object.fromEntries(
    Map.groupBy(
      events.map(({ type, id, data }) => ({ of: `${type.split(".")[0]} ${id}`, type, data })),
      ({ of }) => of
    )
  )

/** All events. Waits until no transaction of another test holds some of them back. */
const everyEvent = Effect.fnUntraced(function* (instance: Instance) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM events`
  const { items } = yield* awaited(
    Context.get(instance, EventFeed).list({ limit: 1000 }),
    (page) => page.items.length === Number(row?.count)
  )
  return items
})

/** Checks all records and events, and returns the types of the events. */
export const check = Effect.fnUntraced(function* (instance: Instance, model: Model) {
  const audit = Context.get(instance, Audit)
  const { items: records } = yield* audit.list({ order: "oldest", limit: 1000 })
  const replayed = replay(records)
  const expected = [
    ...[...model.signers].map((id) => `signer ${id}`),
    ...[...model.notifications.keys()].map((id) => `notification ${id}`),
    ...[...model.relayers.keys()].map((id) => `relayer ${id}`)
  ]
  assert.deepStrictEqual([...replayed.keys()].sort(), expected.sort())
  for (const [id, { value }] of model.relayers) {
    assert.deepStrictEqual(wire(replayed.get(`relayer ${id}`)), wire(parse(JSON.stringify(encode(value)))))
  }
  for (const [id, { paused, ...note }] of model.notifications) {
    assert.deepInclude(replayed.get(`notification ${id}`), { ...note, ...(paused ? { paused } : {}) })
  }
  assert.deepInclude(yield* audit.verify(), { valid: true, checked: records.length })

  const events = yield* everyEvent(instance)
  assert.deepStrictEqual(
    byResource(events.map(({ type, resource_id, data }) => ({ type, id: resource_id, data: wire(data) }))),
    byResource(records.flatMap((record) => eventsOf(record).map((event) => ({ ...event, id: record.resource_id }))))
  )
  return events.map(({ type }) => type)
})
