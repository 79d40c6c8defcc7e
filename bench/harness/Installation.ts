// Installs the service with its own data directory and a number of relayers. All contenders of this size use its database,
// so that they see the same rows.
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import { runningServer } from "../../src/sql/embedded/Postmaster.ts"
import * as Child from "./Child.ts"
import * as Fill from "./Fill.ts"
import * as Folder from "./Folder.ts"

/** The API key of every contender. */
export const key = "er_bench_0123456789abcdefghijklmnopqrstuvwxyz"

/** A server under measurement. */
export interface Server {
  readonly contender: string
  readonly url: string
  readonly pid: number
}

/** The PostgreSQL of a service. */
export interface Postgres {
  readonly pid: number
  readonly socketFolder: string
  readonly port: number
}

export interface Installation {
  readonly size: number
  readonly folder: string
  readonly service: Server
  readonly postgres: Postgres
  readonly sql: SqlClient.SqlClient
  /** A file with the ids of at most 100,000 relayers, in random order. */
  readonly ids: string
}

export const root = path.join(import.meta.dirname, "..", "..")

const idsAtMost = 100_000

/**
 * Rate limits are on but never reached. Jobs are off, because they would call the chains of a million relayers. The access log
 * is off, because the other contenders write none.
 */
const environment = (dataDir: string): Record<string, string> => ({
  DATA_DIR: dataDir,
  API_KEY: key,
  WATCH: "off",
  ACCESS_LOG: "off",
  RATE_LIMIT_REQUESTS_PER_SECOND: "1000000",
  RATE_LIMIT_BURST_SIZE: "1000000"
})

export interface ServiceOptions {
  readonly contender: string
  /** The folder of a built checkout of the service. */
  readonly checkout: string
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** Flags of Node. */
  readonly node?: ReadonlyArray<string>
}

export const startService = ({ contender, checkout, dataDir, env = {}, node = [] }: ServiceOptions) =>
  Child.start(
    {
      name: contender,
      args: [...node, path.join(checkout, "dist", "main.js")],
      cwd: checkout,
      env: { ...environment(dataDir), ...env },
      log: path.join(dataDir, "log")
    },
    "/api/v1/relayers",
    key
  )

const connect = ({ socketFolder, port }: Postgres) =>
  Layer.build(
    PgClient.layer({
      database: "postgres",
      username: "relayer",
      path: path.join(socketFolder, `.s.PGSQL.${port}`)
    })
  ).pipe(Effect.map(Context.get(SqlClient.SqlClient)))

const writeIds = Effect.fnUntraced(function* (file: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string }>`SELECT id FROM relayers ORDER BY random() LIMIT ${idsAtMost}`
  fs.writeFileSync(file, rows.map(({ id }) => id).join("\n"))
})

const encryptionKey = (dataDir: string) => fs.readFileSync(path.join(dataDir, "storage-encryption-key"), "utf8").trim()

export const masterKeyOf = ({ folder }: { readonly folder: string }): Uint8Array =>
  new Uint8Array(Buffer.from(encryptionKey(folder), "base64"))

export interface Options extends Omit<ServiceOptions, "dataDir" | "node"> {
  readonly size: number
}

/** Starts the service and fills its database with `size` relayers. */
export const make = Effect.fnUntraced(function* ({ size, ...options }: Options) {
  const dataDir = yield* Folder.temporary
  const service = yield* startService({ ...options, dataDir })
  const socketFolder = fs.realpathSync(path.join(dataDir, "postgres"))
  const pid = runningServer(socketFolder)
  if (pid === undefined) return yield* new Child.ChildFailed({ message: `no PostgreSQL in ${dataDir}` })
  const postgres: Postgres = { pid, socketFolder, port: 5432 }
  const sql = yield* connect(postgres)
  const ids = path.join(dataDir, "ids")
  yield* Fill.relayers(0, size).pipe(
    Effect.andThen(Fill.authenticate(masterKeyOf({ folder: dataDir }))),
    Effect.andThen(Fill.compact),
    Effect.andThen(writeIds(ids)),
    Effect.andThen(sql`CHECKPOINT`),
    Effect.provideService(SqlClient.SqlClient, sql)
  )
  const { contender } = options
  return { size, folder: dataDir, service: { contender, ...service }, postgres, sql, ids } satisfies Installation
})

/** The settings with which another service uses the database of an installation. */
export const databaseOf = ({ folder, postgres }: Installation): Record<string, string> => ({
  DATABASE_URL: `postgres://relayer@localhost:${postgres.port}/postgres?host=${encodeURIComponent(postgres.socketFolder)}`,
  STORAGE_ENCRYPTION_KEY: encryptionKey(folder)
})
