import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Keys from "../../src/process/Keys.ts"
import { folder } from "./Folder.ts"

describe("kept keys", () => {
  it.effect("are made once, also by many at once, and only their owner can read them", () =>
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

  it.effect("that are empty or cut short are refused: an empty key would let everybody in", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      for (const text of ["", "\n", "er_short"]) {
        yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "api-key"), text))
        const error = yield* Effect.flip(Keys.apiKey(dataDir))
        assert.include(error.message, "no key")
      }
      yield* Effect.promise(() => fs.writeFile(path.join(dataDir, "storage-encryption-key"), "AAAA"))
      assert.include((yield* Effect.flip(Keys.storageEncryptionKey(dataDir))).message, "no key")
    })
  )
})
