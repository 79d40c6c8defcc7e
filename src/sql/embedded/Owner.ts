// Whose the server on a data folder is: ours, a living service's, or nobody's any more.
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as net from "node:net"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"
import * as Pid from "./Pid.ts"
import * as Postmaster from "./Postmaster.ts"

/** Another service has the directory: nothing that waiting would mend. */
export class DirectoryInUse extends Schema.TaggedError<DirectoryInUse>()("DirectoryInUse", {
  message: Schema.String
}) {}

const inUse = (dataDir: string, service: string) =>
  new DirectoryInUse({ message: `${dataDir} is in use by ${service}: stop it first, or choose another DATA_DIR` })

/** A server is there that does not answer: it starts or ends, and whose it is shows in a moment. */
class Unsettled extends Schema.TaggedError<Unsettled>()("Unsettled", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export const unsettled = (message: string) => (cause: unknown) => new Unsettled({ message, cause })

/** A session for as long as the scope is open. */
const session = (connection: PgClient.PgClientConfig) =>
  Effect.map(
    Layer.build(PgClient.layerFrom(PgClient.makeClient({ ...connection, applicationName: Postmaster.service }))),
    Context.get(SqlClient.SqlClient)
  )

/** Distinguishes our session lock from others in the same database. */
const lockKey = 7_303_014

/** A session-level advisory lock, which the server gives back the moment this process, or the session, dies. */
const lock = Effect.fnUntraced(function* (dataDir: string, sql: SqlClient.SqlClient) {
  const [taken] = yield* sql<{ locked: boolean }>`SELECT pg_try_advisory_lock(${lockKey}) AS locked`
  if (taken?.locked === true) return
  const [holder] = yield* sql<{ application_name: string }>`
    SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.objid = ${lockKey} AND l.granted`
  return yield* inUse(dataDir, holder?.application_name ?? "another effect-relayer")
})

const cannotConnect = "cannot connect to the embedded PostgreSQL"

/** Takes the directory for this process, until the scope closes: on the server that it has started. */
export const take = (
  dataDir: string,
  connection: PgClient.PgClientConfig
): Effect.Effect<void, DatabaseError | DirectoryInUse, Scope.Scope> =>
  Effect.flatMap(session(connection), (sql) => lock(dataDir, sql)).pipe(
    Effect.catchTag("SqlError", (cause) => Effect.fail(new DatabaseError({ message: cannotConnect, cause })))
  )

/** Within it, a service has locked the server that it has started. In milliseconds. */
const startsWithin = 10_000

/** The living service that has started this server so lately that it may not have locked it yet. */
const starter = Effect.fnUntraced(function* (server: Pid.Running, sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ service: string }>`SELECT current_setting('cluster_name') AS service`
  const service = row?.service ?? ""
  const isYoung = (yield* Clock.currentTimeMillis) - server.startedAt < startsWithin
  return isYoung && Pid.isAlive(Number(/\d+$/.exec(service)?.[0])) ? service : undefined
})

/** Whether a server listens in this folder whose process cannot be seen from here: another container's, on a shared volume. */
const answersUnseen = (folder: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = net.connect(path.join(folder, ".s.PGSQL.5432"))
    const tell = (answers: boolean) => {
      socket.destroy()
      resume(Effect.succeed(answers && Pid.running(folder) === undefined))
    }
    socket.once("connect", () => tell(true))
    // Its queue is full: it listens, and is frozen.
    socket.once("error", (error: NodeJS.ErrnoException) => tell(error.code === "EAGAIN"))
  })

/**
 * Stops the server on `folder` that survived its service, and clears away what a killed one left.
 * Fails where its service lives.
 */
export const stopOrphan = Effect.fnUntraced(
  function* (dataDir: string, folder: string, connect: (server: Pid.Running) => PgClient.PgClientConfig) {
    const server = Pid.running(folder)
    if (server === undefined) {
      if (yield* answersUnseen(folder)) return yield* inUse(dataDir, "a PostgreSQL of another container")
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.try({
        try: () => Pid.removeStale(folder, now),
        catch: (cause) => new DatabaseError({ message: "cannot remove the lock file of a server that is gone", cause })
      })
    }
    const sql = yield* session(connect(server))
    const service = yield* starter(server, sql)
    if (service !== undefined) return yield* inUse(dataDir, service)
    yield* lock(dataDir, sql)
    // Another one may have taken its place since.
    if (Pid.running(folder)?.pid !== server.pid) return yield* unsettled(cannotConnect)(undefined)
    // With the lock in hand, so that nobody who is just starting takes it for a server to work with.
    yield* Effect.logInfo("stopping the PostgreSQL that an earlier service left behind", { pid: server.pid })
    return yield* Postmaster.stop(server.pid)
  },
  Effect.scoped,
  Effect.catchTag("SqlError", (cause) => Effect.fail(unsettled(cannotConnect)(cause)))
)
