// The embedded PostgreSQL for different system users and folders.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { canReach } from "../../src/sql/embedded/SystemUser.ts"
import { folder, postgresFolder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const isRoot = process.getuid?.() === 0
const nobody = { uid: 65534, gid: 65534 }

const works = Effect.fnUntraced(function* (options: Service.Options) {
  const service = yield* Service.listen(options)
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
