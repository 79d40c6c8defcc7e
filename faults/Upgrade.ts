// This version opens databases of every earlier schema, also after a migration that failed halfway.
import { Effect } from "effect"
import * as EmbeddedPostgres from "../src/sql/embedded/EmbeddedPostgres.ts"
import { migrateTo } from "../src/sql/migrations/index.ts"
import type { Server } from "../src/sql/embedded/Transport.ts"
import * as Service from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Schema from "./Schema.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const masterKey = Buffer.alloc(32, 7)

/** The resources that every schema knows, as a caller sees them, and whether the key of a signer can still be read. */
const seen = Effect.fnUntraced(function* (service: Service.Listening) {
  const texts: Array<string> = []
  for (const resource of ["relayers", "signers", "notifications"]) {
    texts.push((yield* service.call(`/api/v1/${resource}?per_page=1000`)).text)
  }
  const [signer] = JSON.parse(texts[1] ?? "").data as ReadonlyArray<{ readonly id: string }>
  const verified = yield* service.call(`/api/v1/signers/${signer?.id}/verify`, { method: "POST", body: {} })
  return { texts, verified: verified.status }
})

export const Upgrade: Case = {
  name: "upgrade",
  promise: "databases of every earlier schema open with all their content; a migration that fails changes nothing",
  run: (context) =>
    Effect.gen(function* () {
      const { tally } = context
      const env = { STORAGE_ENCRYPTION_KEY: masterKey.toString("base64") }
      // The content is created by this version through its API.
      const world = yield* World.make
      const ledger = new Writer.Ledger()
      const { before, tables, olderTables } = yield* Effect.gen(function* () {
        const service = yield* world.listen(env)
        yield* service.call("/api/v1/notifications", {
          body: { id: "n", type: "webhook", url: "https://example.com/n" }
        })
        const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "u", lanes: 4, ledger })
        yield* Effect.sleep(2000)
        yield* writer.stop
        const before = yield* seen(service)
        const tables = yield* Sql.on(yield* world.database, Schema.read)
        const olderTables = yield* Sql.on(yield* world.database, Schema.withOlderSeals(tables, masterKey))
        return { before, tables, olderTables }
      }).pipe(Effect.scoped)
      tally.set(
        "rows",
        tables.reduce((sum, { rows }) => sum + (JSON.parse(rows) as ReadonlyArray<unknown>).length, 0)
      )

      for (const last of Schema.earlier) {
        const old = yield* World.make
        /** Runs PostgreSQL on the data directory without a service. */
        const inside = <A>(use: (database: Server["connection"]) => Effect.Effect<A>) =>
          Effect.scoped(
            Effect.flatMap(EmbeddedPostgres.start({ dataDir: old.dataDir }), ({ connection }) => use(connection))
          ).pipe(Effect.orDie)

        const schema = yield* inside((database) =>
          Sql.on(
            database,
            Effect.gen(function* () {
              yield* migrateTo(last)
              yield* Schema.write(Schema.hasMacs(last) ? tables : olderTables)
              return yield* Schema.describe
            })
          )
        )
        yield* inside((database) => Sql.run(database, ...Schema.failAtCommit))
        const failed = yield* Service.run({ folder: old.home, env: { ...old.env, ...env } })
        const left = yield* inside((database) =>
          Effect.andThen(Sql.run(database, ...Schema.succeedAtCommit), Sql.on(database, Schema.describe))
        )
        tally.add("failed migrations")
        tally.expect(failed.code === 1, `a start whose migration fails ends with 1: ${failed.code}`)
        tally.expect(failed.stderr.trim().split("\n").length === 1, `and prints one line: ${failed.stderr}`)
        tally.expect(left === schema, `schema ${last} is unchanged`)

        yield* Effect.gen(function* () {
          const service = yield* old.listen(env)
          const after = yield* seen(service)
          tally.add("upgrades")
          tally.expect(after.texts.join() === before.texts.join(), `the content of schema ${last} is there`)
          tally.expect(after.verified === 200, `secrets of schema ${last} can be read: ${after.verified}`)
          const written = yield* service.call("/api/v1/signers", { body: { type: "plain" } })
          tally.expect(written.status === 201, `schema ${last} can be written after its upgrade: ${written.text}`)
        }).pipe(Effect.scoped)
      }
    })
}
