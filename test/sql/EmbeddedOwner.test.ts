// The ownership of a data directory, concurrent starts on it, and the place of its files.
// PostgreSQL is a process, which runs by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as DataDirectory from "../../src/sql/embedded/DataDirectory.ts"
import * as Binaries from "../../src/sql/embedded/Binaries.ts"
import { serverUser } from "../../src/sql/embedded/Binaries.ts"
import { claimFolder } from "../../src/sql/embedded/DataFiles.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import * as Postmaster from "../../src/sql/embedded/Postmaster.ts"
import { isFolderClaimed, removeStaleFiles } from "../../src/sql/embedded/Postmaster.ts"
import { folder, isGone, until } from "../../testkit/process/Folder.ts"
import { dataDirectory, deadPid, kept, lockText, refusal, serves, value } from "./Embedded.ts"

/** A running server whose service has ended. */
const orphan = Effect.fnUntraced(function* (dataDir: string) {
  const binaries = yield* Binaries.locate(undefined, serverUser())
  yield* Effect.promise(() => fs.mkdir(dataDir, { mode: 0o711 }))
  const files = yield* DataDirectory.place(dataDir, serverUser())
  yield* DataDirectory.prepare(binaries, files, serverUser(), { passwordFile: undefined })
  return yield* Postmaster.start(binaries, files, serverUser(), { socketFolder: files, port: 5432 })
})

const names = (folder: string) => Effect.promise(() => fs.readdir(folder))

const here = `effect-relayer process ${process.pid} on ${os.hostname()}`

/** Accepts connections and sends nothing. */
const listening = (socket: string) =>
  Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const server = net.createServer()
      server.listen(socket, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )

/** Binaries whose server finds at its first start that another server has just started. */
const overtaken = Effect.fnUntraced(function* (home: string) {
  const { initdb, postgres } = yield* Binaries.locate(undefined, serverUser())
  const bin = path.join(home, "bin")
  const script = `#!/bin/sh
    PATH=/usr/bin:/bin
    if [ "$1" = -D ] && [ -e '${bin}/first' ]; then
      rm '${bin}/first'
      '${postgres}' "$@" 2>/dev/null &
      until grep -q ready "$2/postmaster.pid"; do sleep 0.02; done 2>/dev/null
    fi
    exec '${postgres}' "$@"`
  yield* Effect.promise(async () => {
    await fs.mkdir(bin)
    await fs.chmod(bin, 0o777)
    await fs.writeFile(path.join(bin, "first"), "")
    await fs.symlink(initdb, path.join(bin, "initdb"))
    await fs.writeFile(path.join(bin, "postgres"), script, { mode: 0o755 })
  })
  return bin
})

describe.concurrent("a data directory", () => {
  it.live("belongs to one service before its database exists, and to none after that service has ended", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const files = path.join(dataDir, "postgres")
      yield* Effect.promise(() => fs.mkdir(dataDir, { mode: 0o711 }))
      yield* Effect.gen(function* () {
        yield* claimFolder(files)
        assert.include(yield* refusal({ dataDir }), `${files} is in use by ${here}`)
        assert.deepStrictEqual(yield* names(dataDir), ["postgres.lock", "postgres.owner"])
        yield* Effect.promise(() => fs.rm(`${files}.owner`))
        assert.include(yield* refusal({ dataDir }), `${files} is in use by another effect-relayer`)
      }).pipe(Effect.scoped)
      // The file that a killed service leaves.
      yield* Effect.promise(() => fs.writeFile(`${files}.owner`, "effect-relayer process 1"))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      assert.deepStrictEqual(yield* names(dataDir), ["postgres", "postgres.lock"])
    })
  )

  it.live("is not shared with a second directory that links to the same files, even while they are created", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const dataDir = path.join(home, "data")
      const copy = path.join(home, "copy")
      const files = path.join(dataDir, "postgres")
      yield* Effect.promise(async () => {
        await fs.mkdir(copy, { mode: 0o711 })
        await fs.mkdir(dataDir, { mode: 0o711 })
        await fs.symlink(files, path.join(copy, "postgres"))
      })
      const first = yield* Effect.forkScoped(EmbeddedPostgres.start({ dataDir }))
      yield* until(
        "the owner",
        Effect.map(names(dataDir), (all) => all.includes("postgres.owner") || undefined)
      )
      assert.include(yield* refusal({ dataDir: copy }), `${files} is in use by ${here}`)
      const { connection } = yield* Fiber.join(first)
      assert.deepStrictEqual(yield* value(connection), kept)
      assert.include(yield* refusal({ dataDir: copy }), `${files} is in use by ${here}`)
    }).pipe(Effect.scoped)
  )

  it.live("is locked by files that only the owner can open", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      // An earlier version created it readable for all users.
      yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "postgres.lock"), "", { mode: 0o644 }))
      yield* claimFolder(path.join(dataDir, "postgres"))
      for (const name of ["postgres.lock", "postgres.owner"]) {
        const { mode } = yield* Effect.promise(() => fs.stat(path.join(dataDir, name)))
        assert.strictEqual(mode & 0o777, 0o600, name)
      }
    }).pipe(Effect.scoped)
  )

  it.live("is refused with a clear error if it cannot be locked", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      yield* Effect.promise(() => fs.mkdir(path.join(dataDir, "postgres.lock"), { recursive: true }))
      assert.match(yield* refusal({ dataDir }), new RegExp(`^cannot lock ${dataDir}/postgres: .+`))
      assert.deepStrictEqual(yield* names(dataDir), ["postgres.lock"])
    })
  )

  for (const state of ["runs", "is frozen"]) {
    it.live(`is rid of a server that an earlier service has left, which ${state}`, () =>
      Effect.gen(function* () {
        const dataDir = yield* dataDirectory
        const { pid } = yield* orphan(dataDir)
        if (state === "is frozen") process.kill(pid, "SIGSTOP")
        assert.deepStrictEqual(yield* serves(dataDir), kept)
        assert.isTrue(yield* isGone(pid))
      }).pipe(Effect.scoped)
    )
  }

  it.live("is taken over from a server that a killed service was starting", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const options = { dataDir: path.join(home, "data"), bin: yield* overtaken(home) }
      assert.deepStrictEqual(yield* serves(options), kept)
      assert.notInclude(yield* names(options.bin), "first")
    })
  )

  it.live("is freed of a lock file that a power cut left empty, but not of one that a server is about to fill", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      const files = path.join(dataDir, "postgres")
      const lockFile = path.join(files, "postmaster.pid")
      yield* Effect.promise(() => fs.writeFile(lockFile, ""))
      removeStaleFiles(files, Date.now())
      assert.isTrue(isFolderClaimed(files))
      yield* Effect.promise(() => fs.utimes(lockFile, 0, 0))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )

  it.live("is refused while a server of another container uses it, although its process id is unknown here", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      const files = path.join(dataDir, "postgres")
      const text = lockText(yield* deadPid, files)
      const lockFile = path.join(files, "postmaster.pid")
      yield* Effect.promise(() => fs.writeFile(lockFile, text))
      yield* Effect.gen(function* () {
        yield* listening(path.join(files, ".s.PGSQL.5432"))
        assert.include(yield* refusal({ dataDir }), `${files} is in use by a PostgreSQL of another container`)
        assert.strictEqual(yield* Effect.promise(() => fs.readFile(lockFile, "utf8")), text)
      }).pipe(Effect.scoped)
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )

  it.live("follows a link, even if its target has no files yet, and is never created in place of a broken link", () =>
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
        `${dataDir}/postgres is a link to ${elsewhere}/postgres, which does not exist: restore that folder`
      )
      assert.deepStrictEqual(yield* names(dataDir), ["postgres"])
      yield* Effect.promise(() => fs.mkdir(elsewhere, { mode: 0o711 }))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      assert.deepStrictEqual(yield* names(elsewhere), ["postgres", "postgres.lock"])
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )
})
