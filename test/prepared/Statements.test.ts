// Each statement of an earlier run, which `.ci/statements.mjs` has recorded, is prepared on the PostgreSQL of TEST_DATABASE_URL.
// PostgreSQL runs by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Client } from "pg"
import type { ClientConfig, Connection } from "pg"
import { inject } from "vitest"
import * as Migrate from "../../src/sql/Migrate.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import { folder as temporaryFolder } from "../../testkit/process/Folder.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

/** Fewer statements than this are those of a part of the tests. */
const enough = 500

/** A text, and the numbers of the types of its parameters. */
const Statement = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.Array(Schema.Number)]))
type Statement = typeof Statement.Type

const recorded = Effect.gen(function* () {
  const folder =
    process.env["STATEMENTS"] ?? assert.fail("STATEMENTS does not name the folder of the recorded statements")
  const files = fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
  const lines = files.flatMap((name) => fs.readFileSync(path.join(folder, name), "utf8").split("\n").filter(Boolean))
  return yield* Effect.forEach(new Set(lines), (line) => Schema.decodeEffect(Statement)(line))
})

const connect = (config: ClientConfig) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(config)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Prepares a statement as the service does, by a message of the protocol. Gives the error, or `undefined`. */
const errorOf = (client: Client, [text, types]: Statement) =>
  Effect.callback<string | undefined>((resume) => {
    client.query({
      submit: (connection: Connection) => {
        connection.parse({ name: "", text, types: types.map(String) }, true)
        connection.sync()
      },
      handleError: ({ message }: Error) => resume(Effect.succeed(message)),
      handleReadyForQuery: () => resume(Effect.succeed(undefined))
    })
  })

/** The embedded server, with the tables of the service. */
const embedded = Effect.gen(function* () {
  const home = yield* temporaryFolder
  const { connection } = yield* EmbeddedPostgres.start({ dataDir: path.join(home, "data") })
  yield* Effect.provide(Migrate.migrate("postgres"), PgClient.layer({ ...connection, database: "postgres" }))
  return yield* connect({
    host: path.dirname(connection.path ?? ""),
    user: connection.username,
    database: "postgres"
  })
})

const given = Effect.gen(function* () {
  const server = inject("postgres")
  const url = new URL("url" in server ? server.url : assert.fail("TEST_DATABASE_URL is not set"))
  url.pathname = `/${yield* TestDatabase.make}`
  return yield* connect({ connectionString: url.href })
})

// Processes and sockets do not follow the test clock.
it.live("the statements of the service and its tests are valid on this version of PostgreSQL", () =>
  Effect.gen(function* () {
    const [all, before, here] = [yield* recorded, yield* embedded, yield* given]
    const refused: Array<string> = []
    let foreign = 0
    for (const statement of all) {
      // A statement about tables that only a test creates.
      if ((yield* errorOf(before, statement)) !== undefined) foreign++
      else {
        const error = yield* errorOf(here, statement)
        if (error !== undefined) refused.push(`${error}: ${statement[0]}`)
      }
    }
    yield* Effect.logInfo(`${all.length} statements are prepared, ${foreign} of them are about tables of tests`)
    assert.deepStrictEqual(refused, [])
    assert.isAbove(all.length - foreign, enough)
  }).pipe(Effect.scoped)
)
