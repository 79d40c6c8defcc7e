// All commands on all resources, by two instances on one PostgreSQL, against a model in memory.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { parse } from "../../src/domain/ExactJson.ts"
import { Relayer } from "../../src/domain/Relayer.ts"
import { Audit } from "../../src/server/Audit/Audit.ts"
import { Instances, layer as instances } from "./Instances.ts"
import { Model, run } from "./Model.ts"
import { Commands } from "./ModelCommands.ts"

const encode = Schema.encodeSync(Relayer)
const wire = (value: unknown = null): unknown =>
  JSON.parse(JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? String(child) : child)))

layer(instances)("two instances", (it) => {
  it.effect.prop(
    "do what a model in memory does, for any sequence of commands, and the audit log tells the same",
    [Commands],
    ([commands]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`TRUNCATE relayers, signers, notifications, audit, events CASCADE`
        const both = yield* Instances
        const model = new Model()
        for (const command of commands) yield* run(both, model, command)

        const audit = Context.get(both[1], Audit)
        const { items } = yield* audit.list({ order: "oldest", limit: 1000 })
        const told = new Map<string, unknown>()
        for (const { resource, resource_id, before, after } of items) {
          const id = `${resource} ${resource_id}`
          assert.deepStrictEqual(wire(before), wire(told.get(id)), "what a change says was there is what was there")
          if (after === undefined) told.delete(id)
          else told.set(id, after)
        }
        const expected = [
          ...[...model.signers].map((id) => `signer ${id}`),
          ...[...model.notifications.keys()].map((id) => `notification ${id}`),
          ...[...model.relayers.keys()].map((id) => `relayer ${id}`)
        ]
        assert.deepStrictEqual([...told.keys()].sort(), expected.sort())
        for (const [id, { value }] of model.relayers) {
          assert.deepStrictEqual(wire(told.get(`relayer ${id}`)), wire(parse(JSON.stringify(encode(value)))))
        }
        const verified = yield* audit.verify()
        assert.deepInclude(verified, { valid: true, checked: items.length })
      }),
    { arbitrary: { runs: 60 }, timeout: 120_000 }
  )
})
