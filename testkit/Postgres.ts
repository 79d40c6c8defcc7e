// The global setup of the project `postgres`: one server for all files, with the schema in a template database. The server
// is an embedded one, or that of TEST_DATABASE_URL. The processes that tests start get a bundle of the sources, and copies of one cluster.
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Exit, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TestProject } from "vitest/node"
import type { DatabaseError } from "../src/sql/Connection.ts"
import * as Migrate from "../src/sql/Migrate.ts"
import * as Binaries from "../src/sql/embedded/Binaries.ts"
import * as DataDirectory from "../src/sql/embedded/DataDirectory.ts"
import * as EmbeddedPostgres from "../src/sql/embedded/EmbeddedPostgres.ts"
import * as Bundle from "./process/Bundle.ts"

/** How test files connect to the server: by URL or by Unix socket. The databases of a run have its name. */
export type Server = { readonly run: string } & (
  | { readonly url: string }
  | { readonly path: string; readonly username: string }
)

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: Server
  }
}

export const template = "effect_relayer_template"

/** What the names of the databases of a run begin with. */
export const namePrefix = ({ run }: Server): string => `test_${run}_`

/** A connection serves all tests of a worker, which send some hundred different statements. PostgreSQL parses and plans each once. */
const keptStatements = 1000

/** The test clock does not measure the time in which a connection is opened, so it must not time out. */
const common = {
  maxConnections: 8,
  connectTimeout: Duration.infinity,
  preparedStatementCacheSize: keptStatements
}

export const clientConfig = (server: Server, database: string): PgClient.PgPoolConfig => {
  if ("path" in server) return { path: server.path, username: server.username, database, ...common }
  const url = new URL(server.url)
  url.pathname = `/${database}`
  return { url: Redacted.make(url.href), ...common }
}

/** Each worker keeps a pool, and tests of processes start up to four instances with pools of ten, which are killed and started again. */
const serverConnections = 300

const start = Effect.fnUntraced(function* (dataDir: string): Effect.fn.Return<Server, DatabaseError, Scope.Scope> {
  const run = randomBytes(4).toString("hex")
  const url = process.env.TEST_DATABASE_URL
  if (url !== undefined) return { run, url }
  const { connection } = yield* EmbeddedPostgres.start({
    dataDir,
    bin: process.env.POSTGRES_BIN ?? process.env.TEST_POSTGRES_BIN,
    maxConnections: serverConnections
  })
  return { run, path: connection.path ?? "", username: connection.username ?? "" }
})

const onServer = (server: Server, use: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(SqlClient.SqlClient, use).pipe(
    Effect.provide(PgClient.layer({ ...clientConfig(server, "postgres"), maxConnections: 1 })),
    Effect.scoped
  )

const makeTemplate = (server: Server) =>
  onServer(server, (sql) =>
    Effect.gen(function* () {
      yield* sql`DROP DATABASE IF EXISTS ${sql(template)}`
      yield* sql`CREATE DATABASE ${sql(template)}`
      yield* Migrate.migrate(template).pipe(
        Effect.provide(PgClient.layer({ ...clientConfig(server, template), maxConnections: 1 }))
      )
    })
  )

/** Workers keep databases until they end. */
const dropDatabases = (server: Server) =>
  onServer(server, (sql) =>
    Effect.gen(function* () {
      const left = yield* sql<{ readonly name: string }>`
        SELECT datname AS name FROM pg_database WHERE starts_with(datname, ${namePrefix(server)})`
      yield* Effect.forEach(left, ({ name }) => sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`)
    })
  )

/** A program in the place of `initdb` copies the files of a cluster. With a password, the cluster is another one. */
const copying = (cluster: string, initdb: string): string => `#!/bin/sh
case " $* " in
  *" -A trust "*) PATH=/usr/bin:/bin:/run/current-system/sw/bin exec cp -Rp '${cluster}/.' "$2" ;;
  *) exec '${initdb}' "$@" ;;
esac
`

/**
 * Makes a cluster as the service does, and a folder of programs for the embedded servers of processes: a copy takes a sixth of the processor
 * time of `initdb`. Undefined: this system has no shell for it.
 */
const makePrograms = Effect.fnUntraced(function* (folder: string) {
  if (process.platform === "win32") return undefined
  const user = Binaries.serverUser()
  const binaries = yield* Binaries.locate(undefined, user)
  const cluster = path.join(folder, "cluster")
  yield* DataDirectory.prepare(binaries, cluster, user, { passwordFile: undefined })
  const programs = path.join(folder, "bin")
  const initdb = path.join(programs, "initdb")
  fs.mkdirSync(programs)
  fs.symlinkSync(binaries.postgres, path.join(programs, "postgres"))
  fs.writeFileSync(initdb, copying(cluster, binaries.initdb))
  for (const place of [programs, initdb]) fs.chmodSync(place, 0o755)
  return programs
})

const givenBundle = process.env.TEST_BUNDLE

/** Workers get the environment of this process. */
const bundle = async (): Promise<void> => {
  const entry = givenBundle ?? (await Bundle.build())
  if (entry !== undefined) process.env.TEST_BUNDLE = entry
}

export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  await bundle()
  project.onTestsRerun(bundle)
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-test-"))
  fs.chmodSync(dataDir, 0o711)
  const programs = await Effect.runPromise(makePrograms(dataDir))
  if (programs !== undefined) process.env.TEST_POSTGRES_BIN = programs
  const scope = Scope.makeUnsafe()
  const server = await Effect.runPromise(Scope.provide(start(dataDir), scope))
  await Effect.runPromise(makeTemplate(server))
  project.provide("postgres", server)
  return async () => {
    if ("url" in server) await Effect.runPromise(dropDatabases(server))
    await Effect.runPromise(Scope.close(scope, Exit.void))
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
}
