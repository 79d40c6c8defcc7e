// The embedded PostgreSQL for different system users and folders. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { canReach } from "../../src/sql/embedded/Binaries.ts"
import { ran } from "../../testkit/process/Commands.ts"
import { folder, postgresFolder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const isRoot = process.getuid?.() === 0
const nobody = { uid: 65534, gid: 65534 }

const works = Effect.fnUntraced(function* (options: Service.Options) {
  // It runs `initdb`.
  const env = { API_KEY: Service.apiKey, POSTGRES_BIN: "" }
  const service = yield* Service.listen({ env, ...options })
  const created = yield* service.call("/api/v1/signers", { body: { id: "kept", type: "plain" } })
  assert.strictEqual(created.status, 201)
  assert.deepStrictEqual(yield* Service.stop(service), { code: 0, signal: null })
  return service.stdout()
})

describe.concurrent("the embedded PostgreSQL", () => {
  it.live("works in a folder that only its user can enter; for root, in another place that is logged and linked", () =>
    Effect.gen(function* () {
      const home = yield* folder
      yield* Effect.promise(() => fs.chmod(home, 0o700))
      const output = yield* works({ folder: home })
      const data = path.join(home, "data")
      const files = (yield* postgresFolder(data)) ?? assert.fail("no files")
      assert.include(yield* Effect.promise(() => fs.readdir(files)), "PG_VERSION")
      if (!isRoot) return assert.strictEqual(files, path.join(data, "postgres"))
      assert.isFalse(files.startsWith(home))
      assert.strictEqual(yield* Effect.promise(() => fs.readlink(path.join(data, "postgres"))), files)
      assert.include(output, `"folder":"${files}"`)
      const { uid, mode } = yield* Effect.promise(() => fs.stat(files))
      assert.deepStrictEqual([uid, mode & 0o777], [nobody.uid, 0o700])

      const again = yield* Service.listen({ folder: home })
      assert.strictEqual((yield* again.call("/api/v1/signers/kept")).status, 200)
      assert.strictEqual(yield* postgresFolder(data), files)
    })
  )

  it.live(
    "is in a DATA_DIR that only root can enter, of which the group of PostgreSQL may enter that folder alone",
    (context) =>
      Effect.gen(function* () {
        if (!isRoot) context.skip("only root starts PostgreSQL as another user")
        const home = yield* folder
        const data = path.join(home, "data")
        yield* Effect.promise(() => fs.mkdir(data, { mode: 0o700 }))
        const output = yield* works({ folder: home })
        assert.strictEqual(yield* postgresFolder(data), path.join(data, "postgres"))
        const { gid, mode, uid } = yield* Effect.promise(() => fs.stat(data))
        assert.deepStrictEqual([uid, gid, mode & 0o777], [0, nobody.gid, 0o710])
        const key = yield* Effect.promise(() => fs.stat(path.join(data, "storage-encryption-key")))
        assert.strictEqual(key.mode & 0o077, 0)
        assert.include(output, `embedded PostgreSQL in ${data}`)
      })
  )

  it.live("finds and removes what a removed DATA_DIR has left in another place", (context) =>
    Effect.gen(function* () {
      if (!isRoot) context.skip("only root places files elsewhere")
      const home = yield* folder
      yield* Effect.promise(() => fs.chmod(home, 0o700))
      const command = (...flags: ReadonlyArray<string>) => ran({ folder: home, flags })
      const output = yield* works({ folder: home })
      const data = path.join(home, "data")
      const files = (yield* postgresFolder(data)) ?? assert.fail("no files")
      const parent = path.dirname(files)
      assert.include(output, `embedded PostgreSQL of ${data} in ${files}`)
      assert.notInclude((yield* command("data")).stdout, `--left ${parent} `)
      assert.include((yield* command("data", "remove", "--left", parent, "--yes")).stderr, "no removed data directory")

      yield* Effect.promise(() => fs.rm(data, { recursive: true }))
      const listed = yield* command("data")
      assert.include(listed.stdout, `effect-relayer data remove --left ${parent} --yes`)
      assert.include(listed.stdout, `${path.join(data, "postgres")} led to`)
      const again = yield* works({ folder: home })
      assert.include(again, "an earlier database of the data directory is left")
      assert.include(again, `"folder":"${files}"`)

      const unsure = yield* command("data", "remove", "--left", parent)
      assert.include(unsure.stderr, `this would remove the database in ${files} for good: add --yes`)
      assert.strictEqual((yield* command("data", "remove", "--left", parent, "--yes")).code, 0)
      assert.isFalse(
        yield* Effect.promise(() =>
          fs.access(parent).then(
            () => true,
            () => false
          )
        )
      )
    })
  )

  it.live("works for a user without rights in the DATA_DIR of that user", (context) =>
    Effect.gen(function* () {
      const needed = [path.dirname(Service.main), process.execPath, path.resolve("node_modules/effect")]
      const reachable = yield* Effect.forEach(needed, (target) => canReach(nobody, target))
      if (isRoot && reachable.includes(false)) context.skip(`uid ${nobody.uid} cannot enter this checkout`)
      const home = yield* folder
      const data = path.join(home, "data")
      yield* Effect.promise(() => fs.mkdir(data, { mode: 0o700 }))
      if (isRoot) yield* Effect.promise(() => fs.chown(data, nobody.uid, nobody.gid))
      const user = isRoot ? nobody : undefined
      const output = yield* works({ folder: home, user })
      assert.notInclude(output, "unprivileged user")
      const files = yield* Effect.promise(() => fs.lstat(path.join(data, "postgres")))
      assert.isTrue(files.isDirectory())
      assert.strictEqual(files.uid, isRoot ? nobody.uid : process.getuid?.())

      if (!isRoot) return
      // Nothing can be locked with a file of another user that can only be read.
      const lock = path.join(data, "postgres.lock")
      yield* Effect.promise(() => fs.chown(lock, 0, 0))
      yield* Effect.promise(() => fs.chmod(lock, 0o444))
      const refused = yield* Service.run({ folder: home, user })
      assert.strictEqual(refused.code, 1)
      assert.match(
        refused.stderr,
        /^effect-relayer: cannot lock .+\/postgres: .*attempt to write a readonly database\n$/
      )
    })
  )
})
