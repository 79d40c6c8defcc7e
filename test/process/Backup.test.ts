// Backups, and what is restored from them. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { ran } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const relayer = (id: string, network: string) => ({
  id,
  name: id,
  network,
  network_type: "evm",
  paused: false,
  signer_id: "hot-1"
})

const command = (home: string, flags: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  ran({ folder: home, flags, env })

const keyFiles = async (dataDir: string) =>
  (await fs.readdir(dataDir)).filter((name) => name.startsWith("storage-encryption-key")).toSorted()

const copyKeys = async (from: string, to: string) => {
  await fs.mkdir(to, { recursive: true })
  for (const name of await keyFiles(from)) await fs.copyFile(path.join(from, name), path.join(to, name))
}

/** A service with a signer and a relayer, backed up, then with a rotated master key and another relayer, then killed. */
const backedUpAndLost = Effect.fnUntraced(function* (home: string) {
  const data = path.join(home, "data")
  const backup = path.join(home, "relayer.backup")
  yield* Effect.scoped(
    Effect.gen(function* () {
      const service = yield* Service.listen({ folder: home, flags: ["serve"] })
      const created = yield* service.call("/api/v1/signers", { body: { id: "hot-1", type: "plain" } })
      assert.strictEqual(created.status, 201)
      const first = yield* service.call("/api/v1/relayers", { body: relayer("first", "sepolia") })
      assert.strictEqual(first.status, 201)
      const written = yield* command(home, ["backup", backup])
      assert.strictEqual(written.code, 0, written.stderr)
      assert.match(written.stdout, /need the master key [0-9a-f]{8}, which is not in it/)

      const rotated = yield* service.call("/api/v1/master-key/rotate", { method: "POST" })
      assert.strictEqual(rotated.status, 200, rotated.text)
      assert.include(rotated.text, path.join(data, "storage-encryption-key."))
      assert.include(rotated.text, "Backups from before this rotation need the earlier key")
      const second = yield* service.call("/api/v1/relayers", { body: relayer("second", "mainnet") })
      assert.strictEqual(second.status, 201)
      yield* service.kill("SIGKILL")
    })
  )
  return { data, backup }
})

describe("backup and restore of the embedded database", () => {
  it.live("bring back a lost data directory, also after a rotation of the master key", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const { data, backup } = yield* backedUpAndLost(home)
      assert.lengthOf(yield* Effect.promise(() => keyFiles(data)), 2)
      const { mode } = yield* Effect.promise(() => fs.stat(backup))
      assert.strictEqual(mode & 0o777, 0o600)

      const fresh = path.join(home, "fresh")
      // It runs `initdb`: a restored database is on a server with another identifier.
      const there = { DATA_DIR: fresh, POSTGRES_BIN: "" }
      const early = yield* command(home, ["restore", backup], there)
      assert.strictEqual(early.code, 1)
      assert.match(early.stderr, /needs the master key [0-9a-f]{8}: copy its storage-encryption-key files/)

      yield* Effect.promise(() => copyKeys(data, fresh))
      const restored = yield* command(home, ["restore", backup], there)
      assert.strictEqual(restored.code, 0, restored.stderr)
      const again = yield* command(home, ["restore", backup], there)
      assert.strictEqual(again.code, 1)
      assert.include(again.stderr, "--replace")

      yield* Effect.scoped(
        Effect.gen(function* () {
          const env = { DATA_DIR: fresh, API_KEY: Service.apiKey }
          const service = yield* Service.listen({ folder: home, flags: ["serve"], env })
          const list = yield* service.call("/api/v1/relayers")
          assert.deepStrictEqual(
            (JSON.parse(list.text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id),
            ["first"]
          )
          const verified = yield* service.call("/api/v1/signers/hot-1/verify", { method: "POST" })
          assert.include(verified.text, '"verified":true')
          const audit = yield* service.call("/api/v1/audit/verify")
          assert.include(audit.text, '"valid":true')
          const created = yield* service.call("/api/v1/relayers", { body: relayer("third", "holesky") })
          assert.strictEqual(created.status, 201, created.text)

          const busy = yield* command(home, ["restore", backup, "--replace"], { DATA_DIR: fresh })
          assert.strictEqual(busy.code, 1)
          assert.include(busy.stderr, "stop every instance first")
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("leave no file behind a backup that fails, and never write over one", () =>
    Effect.gen(function* () {
      const home = yield* folder
      assert.strictEqual((yield* command(home, ["migrate"])).code, 0)
      const file = path.join(home, "taken.backup")
      yield* Effect.promise(() => fs.writeFile(file, "mine"))
      const refused = yield* command(home, ["backup", file])
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "exists")
      assert.strictEqual(yield* Effect.promise(() => fs.readFile(file, "utf8")), "mine")

      const missing = yield* command(home, ["backup", path.join(home, "no-such-folder", "x.backup")])
      assert.strictEqual(missing.code, 1)
      assert.include(missing.stderr, "cannot write")
    }).pipe(Effect.scoped)
  )

  it.live("create no database where there is none", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const refused = yield* command(home, ["backup", path.join(home, "x.backup")])
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "there is no database in")
      assert.isEmpty(yield* Effect.promise(() => fs.readdir(home)))
    }).pipe(Effect.scoped)
  )
})

describe("the command data", () => {
  it.live("shows where the files are, and removes the database on request, but never a running one or a key", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const data = path.join(home, "data")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const service = yield* Service.listen({ folder: home, flags: ["serve"] })
          const shown = yield* command(home, ["data"])
          assert.match(shown.stdout, /server +running, process \d+/)
          assert.include(shown.stdout, "storage-encryption-key")
          const busy = yield* command(home, ["data", "remove", "--yes"])
          assert.strictEqual(busy.code, 1)
          assert.include(busy.stderr, "is in use by effect-relayer process")
          yield* Service.stop(service)
        })
      )
      const asked = yield* command(home, ["data", "remove"])
      assert.strictEqual(asked.code, 1)
      assert.include(asked.stderr, "--yes")
      const removed = yield* command(home, ["data", "remove", "--yes"])
      assert.strictEqual(removed.code, 0, removed.stderr)
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(data)), ["storage-encryption-key"])
      assert.include((yield* command(home, ["data"])).stdout, "none")
    }).pipe(Effect.scoped)
  )
})
