// Random commands on all resources, sent to two instances on one PostgreSQL and compared with a model in memory.
import { afterAll, assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { property } from "../../testkit/Depth.ts"
import { Instances, layer as instances } from "./Instances.ts"
import { Model } from "./Model.ts"
import { Commands, beginning } from "./ModelCommands.ts"
import * as ModelHistory from "./ModelHistory.ts"
import { run } from "./ModelRun.ts"

layer(instances)("two instances", (it) => {
  const recorded = new Set<string>()

  it.effect.prop(
    "agree with a model in memory after any sequence of commands, and so do the audit log and the events",
    [Commands],
    ([commands]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
        yield* sql`TRUNCATE relayers, signers, notifications, deliveries, audit, events CASCADE`
        yield* sql`ALTER TABLE audit ENABLE TRIGGER USER`
        const both = yield* Instances
        const model = new Model()
        for (const command of [...beginning, ...commands]) yield* run(both, model, command)
        for (const type of yield* ModelHistory.check(both[1], model)) recorded.add(type)
      }),
    property(100, { size: 60 })
  )

  // The sequences cover all types of changes.
  afterAll(() => {
    assert.deepStrictEqual([...recorded].sort(), [
      "notification.created",
      "notification.deleted",
      "notification.updated",
      "relayer.created",
      "relayer.deleted",
      "relayer.paused",
      "relayer.resumed",
      "relayer.updated",
      "signer.created",
      "signer.deleted"
    ])
  })
})
