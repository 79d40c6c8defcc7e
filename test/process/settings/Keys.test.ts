import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Keys from "../../../src/process/settings/Keys.ts"
import * as Settings from "../../../src/process/settings/Settings.ts"
import { folder } from "../../../testkit/process/Folder.ts"

describe("kept keys", () => {
  it.effect("are created once, even by concurrent starts, and only their owner can read them", () =>
    Effect.gen(function* () {
      const dataDir = path.join(yield* folder, "data")
      const made = yield* Effect.all(
        Array.from({ length: 8 }, () => Keys.apiKey(dataDir)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(made.map(({ key }) => Redacted.value(key))).size, 1)
      assert.strictEqual(made.filter((kept) => kept.made).length, 1)
      const { mode } = yield* Effect.promise(() => fs.stat(path.join(dataDir, "api-key")))
      assert.strictEqual(mode & 0o777, 0o600)
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(dataDir)), ["api-key"])
    })
  )

  it.effect("that are empty or cut short are refused, because an empty key would admit every caller", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      for (const text of ["", "\n", "er_short"]) {
        yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "api-key"), text))
        const error = yield* Effect.flip(Keys.apiKey(dataDir))
        assert.include(error.message, "valid key")
      }
      const key = Buffer.alloc(32, 1).toString("base64")
      for (const text of ["", "AAAA", `${key}\nAAAA\n`, `AAAA\n${key}\n`]) {
        yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "storage-encryption-key"), text))
        assert.include((yield* Effect.flip(Keys.storageEncryptionKey(dataDir))).message, "valid key")
      }
    })
  )

  it.effect("are one per file, except master keys, of which the current one comes first", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const [one, other] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"))
      yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "api-key"), `${one}\n${other}\n`))
      assert.include((yield* Effect.flip(Keys.apiKey(dataDir))).message, "valid key")

      const file = path.join(dataDir, "storage-encryption-key")
      for (const text of [`${one}\n${other}\n`, `${one}\r\n\n ${other}`]) {
        yield* Effect.promise(() => fs.writeFile(file, text))
        const kept = yield* Keys.storageEncryptionKey(dataDir)
        assert.deepStrictEqual([kept.key, ...kept.earlier].map(Redacted.value), [one, other])
        assert.isFalse(kept.made)
      }
    })
  )
})

const bytes = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

const readKeys = (dataDir: string) =>
  Effect.map(Keys.storageEncryptionKey(dataDir), (kept) => ({
    kept,
    bytes: [kept.key, ...kept.earlier].map((key) => Redacted.value(Settings.masterKeyBytes(key)))
  }))

const modes = async (dataDir: string) => {
  const names = await fs.readdir(dataDir)
  const stats = await Promise.all(names.map((name) => fs.stat(path.join(dataDir, name))))
  return new Set(stats.map(({ mode }) => mode & 0o777))
}

describe("the store of master keys", () => {
  it.effect("keeps the current key first, and every retired key in a file that is named by its id", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { kept } = yield* readKeys(dataDir)
      const [first] = yield* Keys.storedMasterKeyIds(dataDir)
      const store = Keys.store(kept)
      // An earlier attempt was killed.
      yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "storage-encryption-key.next"), "AAAA".repeat(99)))

      yield* store.keep([bytes(2), Settings.masterKeyBytes(kept.key)])
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(dataDir)), ["storage-encryption-key"])
      yield* store.keep([bytes(2)])
      yield* store.keep([bytes(3)])

      const [current, ...earlier] = (yield* readKeys(dataDir)).bytes
      assert.deepStrictEqual(current, Redacted.value(bytes(3)))
      assert.sameDeepMembers(earlier, [bytes(2), Settings.masterKeyBytes(kept.key)].map(Redacted.value))
      const ids = yield* Keys.storedMasterKeyIds(dataDir)
      assert.include(ids, first)
      const files = yield* Effect.promise(() => fs.readdir(dataDir))
      assert.deepStrictEqual(
        files.toSorted(),
        ["storage-encryption-key", ...ids.slice(1).map((id) => `storage-encryption-key.${id}`)].toSorted()
      )
      assert.deepStrictEqual(yield* Effect.promise(() => modes(dataDir)), new Set([0o600]))
    })
  )

  it.effect("replaces a whole file by a whole file: a concurrent reader sees one of them", () =>
    Effect.gen(function* () {
      const { kept } = yield* readKeys(yield* folder)
      const reader = yield* Effect.acquireRelease(
        Effect.promise(() => fs.open(kept.file)),
        (handle) => Effect.promise(() => handle.close())
      )
      yield* Keys.store(kept).keep([bytes(2), bytes(1)])
      assert.strictEqual(yield* Effect.promise(() => reader.readFile("utf8")), `${Redacted.value(kept.key)}\n`)
    })
  )

  it.effect("leaves the keys as they were if it cannot write", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { kept } = yield* readKeys(dataDir)
      yield* Effect.promise(() => fs.mkdir(`${kept.file}.next`))
      const exit = yield* Effect.exit(Keys.store(kept).keep([bytes(1)]))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* Keys.storageEncryptionKey(dataDir), { ...kept, made: false })
    })
  )
})
