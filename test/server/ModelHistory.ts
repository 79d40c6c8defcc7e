// What the audit log and the events tell of the resources, which is what the model says.
import { assert } from "@effect/vitest"
import { Context, Effect, Predicate, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditRecord } from "../../src/domain/audit/Audit.ts"
import { parse } from "../../src/domain/request/ExactJson.ts"
import { Relayer } from "../../src/domain/relayer/Relayer.ts"
import { Audit } from "../../src/server/audit/Audit.ts"
import { EventFeed } from "../../src/server/events/EventFeed.ts"
import type { Instance } from "./Instances.ts"
import type { Model } from "./Model.ts"

const encode = Schema.encodeSync(Relayer)

const wire = (value: unknown = null): unknown =>
  JSON.parse(JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? String(child) : child)))

/** The resources that there are, as the records leave them; each begins with what the one before has left. */
const replay = (records: ReadonlyArray<AuditRecord>) => {
  const told = new Map<string, unknown>()
  for (const { resource, resource_id, before, after } of records) {
    const id = `${resource} ${resource_id}`
    assert.deepStrictEqual(wire(before), wire(told.get(id)), "what a change says was there is what was there")
    if (after === undefined) told.delete(id)
    else told.set(id, after)
  }
  return told
}

const isPaused = (value: unknown) => Predicate.hasProperty(value, "paused") && value.paused === true

/** What is told of a change: itself, and of a relayer also that it was paused or resumed. */
const eventsOf = ({ action, before, after }: AuditRecord) => {
  const data = wire(after ?? before)
  const changed = { type: action as string, data }
  if (action !== "relayer.updated" || isPaused(before) === isPaused(after)) return [changed]
  return [changed, { type: isPaused(after) ? "relayer.paused" : "relayer.resumed", data }]
}

/** Of each resource, in order: no order is promised between two that were changed at once. */
const byResource = (events: ReadonlyArray<{ readonly type: string; readonly id: string; readonly data: unknown }>) =>
  Object.fromEntries(
    Map.groupBy(
      events.map(({ type, id, data }) => ({ of: `${type.split(".")[0]} ${id}`, type, data })),
      ({ of }) => of
    )
  )

/** All events, as soon as no transaction of another test hides some. */
const everyEvent = Effect.fnUntraced(function* (instance: Instance) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM events`
  const { items } = yield* Effect.repeat(Context.get(instance, EventFeed).list({ limit: 1000 }), {
    until: (page) => page.items.length === Number(row?.count)
  })
  return items
})

/** Returns the types of what has been told. */
export const check = Effect.fnUntraced(function* (instance: Instance, model: Model) {
  const audit = Context.get(instance, Audit)
  const { items: records } = yield* audit.list({ order: "oldest", limit: 1000 })
  const told = replay(records)
  const expected = [
    ...[...model.signers].map((id) => `signer ${id}`),
    ...[...model.notifications.keys()].map((id) => `notification ${id}`),
    ...[...model.relayers.keys()].map((id) => `relayer ${id}`)
  ]
  assert.deepStrictEqual([...told.keys()].sort(), expected.sort())
  for (const [id, { value }] of model.relayers) {
    assert.deepStrictEqual(wire(told.get(`relayer ${id}`)), wire(parse(JSON.stringify(encode(value)))))
  }
  for (const [id, { paused, ...note }] of model.notifications) {
    assert.deepInclude(told.get(`notification ${id}`), { ...note, ...(paused ? { paused } : {}) })
  }
  assert.deepInclude(yield* audit.verify(), { valid: true, checked: records.length })

  const events = yield* everyEvent(instance)
  assert.deepStrictEqual(
    byResource(events.map(({ type, resource_id, data }) => ({ type, id: resource_id, data: wire(data) }))),
    byResource(records.flatMap((record) => eventsOf(record).map((event) => ({ ...event, id: record.resource_id }))))
  )
  return events.map(({ type }) => type)
})
