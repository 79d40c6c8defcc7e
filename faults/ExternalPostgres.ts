// A PostgreSQL outside of the service, which uses it through `DATABASE_URL`. It can be stopped and started again.
import { Effect, Exit, Redacted, Scope } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as DataDirectory from "../src/sql/embedded/DataDirectory.ts"
import * as Binaries from "../src/sql/embedded/Binaries.ts"
import { serverUser } from "../src/sql/embedded/Binaries.ts"
import * as Postmaster from "../src/sql/embedded/Postmaster.ts"
import { freePort } from "../testkit/process/Ports.ts"
import { folder } from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"

/** It runs on loopback when this returns. Services run in `home`. */
export const make = Effect.gen(function* () {
  const home = yield* folder
  const port = yield* freePort
  const user = serverUser()
  const binaries = yield* Binaries.locate(undefined, user)
  const dataDir = path.join(home, "data")
  yield* Effect.promise(() => fs.mkdir(dataDir, { mode: 0o711 }))
  const files = yield* DataDirectory.place(dataDir, user)
  yield* DataDirectory.prepare(binaries, files, user, { passwordFile: undefined })
  let scope: Scope.Closeable | undefined
  let pid = 0

  const start = Effect.gen(function* () {
    scope = yield* Scope.make()
    const run = yield* Postmaster.start(binaries, files, user, { socketFolder: undefined, port }).pipe(
      Scope.provide(scope)
    )
    pid = run.pid
  }).pipe(Effect.orDie)
  const stop = Effect.suspend(() => (scope === undefined ? Effect.void : Scope.close(scope, Exit.void)))
  yield* start
  yield* Effect.addFinalizer(() => stop)

  const url = `postgres://relayer@127.0.0.1:${port}/postgres`
  const env = {
    API_KEY: Service.apiKey,
    DATABASE_URL: url,
    STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    RATE_LIMIT_REQUESTS_PER_SECOND: "1000000",
    RATE_LIMIT_BURST_SIZE: "1000000"
  }
  return {
    pid: () => pid,
    start,
    /** A fast shutdown, like the one of a Linux distribution. */
    stop,
    database: { url: Redacted.make(url) },
    listen: (more: Record<string, string> = {}, main = Service.main) =>
      Service.listen({ folder: home, env: { ...env, ...more }, main }),
    /** Starts an instance that does not listen, and waits for its end. */
    refused: (more: Record<string, string>, main: string) =>
      Service.run({ folder: home, env: { ...env, ...more }, main })
  }
}).pipe(Effect.orDie)
