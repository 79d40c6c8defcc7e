// The audit log is cut while no instance runs. The file `audit-head` of the data directory shows it at the next start.
// Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { folder, postgresFolder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const reason = "the audit log was cut off or changed after this instance had verified it"

const listen = (home: string) => Service.listen({ folder: home, env: { API_KEY: Service.apiKey } })

const auditHead = (home: string) =>
  Effect.promise(() => fs.readFile(path.join(home, "data", "audit-head"), "utf8").catch(() => undefined))

/** Runs statements as the owner of the database. PostgreSQL runs as long as the service, also if that is frozen. */
const asOwner = Effect.fnUntraced(function* (home: string, ...statements: ReadonlyArray<string>) {
  const files = yield* postgresFolder(path.join(home, "data"))
  const config = { path: path.join(files ?? "", ".s.PGSQL.5432"), username: "relayer", database: "postgres" }
  const run = Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
  )
  yield* Effect.provide(run, Layer.fresh(PgClient.layer({ ...config, maxConnections: 1 })))
})

const audit = (service: Service.Listening) =>
  Effect.map(
    service.call("/api/v1/ready"),
    ({ text }) => (JSON.parse(text) as { readonly components: { readonly audit?: object } }).components.audit
  )

describe("an audit log that was cut while the service did nothing, before it was killed", () => {
  it.live("is reported after the next start, by readiness and by a verification", () =>
    Effect.gen(function* () {
      const home = yield* folder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const service = yield* listen(home)
          for (const id of ["a", "b", "c"]) yield* service.call("/api/v1/signers", { body: { id, type: "plain" } })
          yield* until(
            "the head of three records",
            Effect.map(auditHead(home), (text) => (text?.startsWith("3:") === true ? text : undefined))
          )
          yield* service.kill("SIGSTOP")
          yield* asOwner(
            home,
            "ALTER TABLE audit DISABLE TRIGGER USER",
            "DELETE FROM audit WHERE position > 1",
            "ALTER TABLE audit ENABLE TRIGGER USER"
          )
          yield* service.kill("SIGKILL")
          yield* service.exited
        })
      )
      const service = yield* listen(home)
      const verified = yield* service.call("/api/v1/audit/verify")
      assert.deepInclude(JSON.parse(verified.text).data, { valid: false, broken_at: 2 }, verified.text)
      const reported = yield* until("a report", audit(service))
      assert.deepStrictEqual(reported, { status: "unhealthy", reason })
      assert.match(yield* Effect.map(auditHead(home), String), /^3:/)
    })
  )
})
