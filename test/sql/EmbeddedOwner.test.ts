// Who has a data directory, where two services come to it at once, and where its files are.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as path from "node:path"
import * as Binaries from "../../src/sql/embedded/Binaries.ts"
import * as DataDirectory from "../../src/sql/embedded/DataDirectory.ts"
import * as Pid from "../../src/sql/embedded/Pid.ts"
import * as Postmaster from "../../src/sql/embedded/Postmaster.ts"
import { serverUser } from "../../src/sql/embedded/SystemUser.ts"
import { folder, isGone, postgresPid } from "../process/Folder.ts"
import { dataDirectory, deadPid, kept, refusal, serves } from "./Embedded.ts"

/** A server of this process's that nobody has locked yet: as between a start and the lock. */
const unlocked = Effect.fnUntraced(function* (dataDir: string) {
  const binaries = yield* Binaries.locate(undefined, serverUser())
  yield* Effect.promise(() => fs.mkdir(dataDir, { mode: 0o711 }))
  const files = yield* DataDirectory.prepare(binaries, dataDir, serverUser(), { passwordFile: undefined })
  return yield* Postmaster.start(binaries, files, serverUser(), { socketFolder: files, port: 5432 })
})

/** Takes connections and says nothing. */
const listening = (socket: string) =>
  Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const server = net.createServer()
      server.listen(socket, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )

const inAMinute = Effect.clockWith((clock) =>
  Effect.succeed<Clock.Clock>(
    Object.create(clock, {
      currentTimeMillis: { value: Effect.map(clock.currentTimeMillis, (now) => now + 60_000) }
    })
  )
)

/** Binaries whose server finds, when it starts for the first time, that another one has just come first. */
const overtaken = Effect.fnUntraced(function* (home: string) {
  const { initdb, postgres } = yield* Binaries.locate(undefined, serverUser())
  const bin = path.join(home, "bin")
  const script = `#!/bin/sh
    PATH=/usr/bin:/bin
    [ "$1" = -D ] || exec '${postgres}' "$@"
    '${postgres}' "$@" 2>/dev/null &
    until grep -q ready "$2/postmaster.pid"; do sleep 0.02; done 2>/dev/null
    exec '${postgres}' "$@"`
  yield* Effect.promise(async () => {
    await fs.mkdir(bin)
    await fs.symlink(initdb, path.join(bin, "initdb"))
    await fs.writeFile(path.join(bin, "postgres"), script, { mode: 0o755 })
  })
  return bin
})

describe.concurrent("a data directory", () => {
  it.live("leaves a server alone that a living service has just started, and stops one that nobody ever locks", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const { pid } = yield* unlocked(dataDir)
      assert.include(yield* refusal({ dataDir }), `${dataDir} is in use by effect-relayer process ${process.pid}`)
      assert.strictEqual(yield* postgresPid(dataDir), pid)
      // By then, that id is some other process's.
      assert.deepStrictEqual(yield* Effect.provideServiceEffect(serves(dataDir), Clock.Clock, inAMinute), kept)
      assert.isTrue(yield* isGone(pid))
    }).pipe(Effect.scoped)
  )

  it.live("says whose directory it is when another service's server has come first by a moment", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const dataDir = path.join(home, "data")
      const bin = yield* overtaken(home)
      assert.include(yield* refusal({ dataDir, bin }), `${dataDir} is in use by effect-relayer process ${process.pid}`)
      assert.isDefined(yield* postgresPid(dataDir))
    })
  )

  it.live("is rid of a lock file that a power cut left empty, and not of one that a server is about to fill", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      const files = path.join(dataDir, "postgres")
      const lockFile = path.join(files, "postmaster.pid")
      yield* Effect.promise(() => fs.writeFile(lockFile, ""))
      Pid.removeStale(files, Date.now())
      assert.isTrue(Pid.isClaimed(files))
      yield* Effect.promise(() => fs.utimes(lockFile, 0, 0))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )

  it.live("keeps off a server that another container has started, whose process id says nothing here", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      const files = path.join(dataDir, "postgres")
      const lockFile = path.join(files, "postmaster.pid")
      const text = [yield* deadPid, files, 1, 5432, files, "", "", "ready   "].join("\n")
      yield* Effect.promise(() => fs.writeFile(lockFile, text))
      yield* Effect.gen(function* () {
        yield* listening(path.join(files, ".s.PGSQL.5432"))
        assert.include(yield* refusal({ dataDir }), `${dataDir} is in use by a PostgreSQL of another container: `)
        assert.strictEqual(yield* Effect.promise(() => fs.readFile(lockFile, "utf8")), text)
      }).pipe(Effect.scoped)
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )

  it.live(
    "goes where a link points to, also when the files are still to be made, and never to an empty place instead",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        const dataDir = path.join(home, "data")
        const elsewhere = path.join(home, "elsewhere")
        yield* Effect.promise(async () => {
          await fs.mkdir(dataDir, { mode: 0o711 })
          await fs.symlink(path.join(elsewhere, "postgres"), path.join(dataDir, "postgres"))
        })
        const gone = yield* refusal({ dataDir })
        assert.include(
          gone,
          `${dataDir}/postgres is a link to ${elsewhere}/postgres, which is gone: bring that folder back`
        )
        assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(dataDir)), ["postgres"])
        yield* Effect.promise(() => fs.mkdir(elsewhere, { mode: 0o711 }))
        assert.deepStrictEqual(yield* serves(dataDir), kept)
        assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(elsewhere)), ["postgres"])
        assert.deepStrictEqual(yield* serves(dataDir), kept)
      })
  )
})
