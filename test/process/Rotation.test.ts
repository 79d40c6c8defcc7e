// Rotation of the master key: set by the operator of a service, or kept in a file, with a kill at each step.
// Services run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Keys from "../../src/process/settings/Keys.ts"
import * as Settings from "../../src/process/settings/Settings.ts"
import type { KeyStore } from "../../src/server/masterKey/MasterKeys.ts"
import {
  addSigners,
  keyIdOf,
  markedKeys,
  openSigners,
  ownSecrets,
  rotate,
  seal,
  signerPlace,
  tested,
  withStart
} from "../server/masterKey/Start.ts"
import { evmRelayer, notification, signer } from "../../testkit/fixtures.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { ran, serving } from "../../testkit/process/Commands.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const newKey = Buffer.alloc(32, 8).toString("base64")

describe.concurrent("STORAGE_ENCRYPTION_KEY", () => {
  it.live("can be changed only if the previous key is in STORAGE_DECRYPTION_KEYS", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const env = Service.onServer(inject("postgres"), yield* TestDatabase.make)
      const oldKey = env.STORAGE_ENCRYPTION_KEY ?? assert.fail("no key")
      const listen = (more: Record<string, string>) => serving(home, { ...env, ...more })

      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* listen({})
          for (const [resource, body] of Object.entries({
            signers: signer,
            notifications: notification,
            relayers: evmRelayer
          })) {
            const created = yield* first.call(`/api/v1/${resource}`, { body })
            assert.strictEqual(created.status, 201, created.text)
          }
        })
      )

      const refusal = Effect.fnUntraced(function* (more: Record<string, string>) {
        const given = { ...env, PORT: "0", LOG_LEVEL: "none", ...more }
        const { code, stderr, stdout } = yield* ran({ folder: home, flags: ["serve"], env: given })
        assert.strictEqual(code, 1, stderr + stdout)
        assert.match(stderr, /^effect-relayer: [^\n]+\n$/)
        for (const key of [oldKey, newKey]) assert.notInclude(stderr + stdout, key)
        return stderr
      })
      const another = "the database was written with another master key (key id "
      assert.include(yield* refusal({ STORAGE_ENCRYPTION_KEY: newKey }), another)

      const changed = { STORAGE_ENCRYPTION_KEY: newKey, STORAGE_DECRYPTION_KEYS: oldKey }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const second = yield* listen(changed)
          const kept = yield* second.call(`/api/v1/relayers/${evmRelayer.id}`)
          assert.strictEqual(kept.status, 200, kept.text)
          const created = yield* second.call("/api/v1/signers", { body: { id: "new", type: "plain" } })
          assert.strictEqual(created.status, 201, created.text)
        })
      )

      const dropped = yield* refusal({ STORAGE_ENCRYPTION_KEY: newKey })
      assert.match(dropped, /still contains secrets under another master key .*STORAGE_DECRYPTION_KEYS/)
      assert.match(yield* refusal({}), /still contains secrets under another master key/)
      // The refused starts left no mark, so these keys are sufficient.
      yield* listen(changed)
    })
  )

  it.effect("and STORAGE_DECRYPTION_KEYS are 32 bytes each and appear in no error", () =>
    Effect.gen(function* () {
      const [one = "", other = ""] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"))
      const settings = yield* Settings.decode({ STORAGE_DECRYPTION_KEYS: `${one}, ${other}\n` })
      assert.deepStrictEqual(Settings.decryptionKeys(settings).map(Redacted.value), [one, other])
      assert.deepStrictEqual(Settings.decryptionKeys(yield* Settings.decode({ STORAGE_DECRYPTION_KEYS: "" })), [])
      for (const text of [`${one},`, `${one} ${other}`, `${one},AAAA`]) {
        const error = yield* Effect.flip(Settings.decode({ STORAGE_DECRYPTION_KEYS: text }))
        assert.match(error.message, /^ {2}STORAGE_DECRYPTION_KEYS: .*32 bytes as base64/m)
        assert.notInclude(error.message, one)
      }
    })
  )
})

const startFrom = Effect.fnUntraced(function* (dataDir: string) {
  const kept = yield* Keys.storageEncryptionKey(dataDir)
  const keys = {
    current: Settings.masterKeyBytes(kept.key),
    others: kept.earlier.map(Settings.masterKeyBytes)
  }
  return { kept, keys, store: Keys.store(kept) }
})

/** Runs `self` in a service with the master keys of the file. `change` wraps the store. */
const withFile =
  (dataDir: string, change: (store: KeyStore, file: string) => KeyStore = (store) => store) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.flatMap(startFrom(dataDir), ({ kept, keys, store }) => withStart(keys, change(store, kept.file))(self))

/** Simulates a kill: the next steps do not happen. */
const killed = Effect.die(new Error("killed"))

/** The file is written twice: with the new and the previous keys, then with only the new key. */
const kills = {
  "before the file is written": { write: 1, at: "before" },
  "while the file is written": { write: 1, at: "within" },
  "when the file holds the new key, which nothing uses": { write: 1, at: "after" },
  "when only the file holds the key of before": { write: 2, at: "before" },
  "while the file is written again": { write: 2, at: "within" },
  "at the very end": { write: 2, at: "after" }
} as const

const killAt =
  ({ write, at }: (typeof kills)[keyof typeof kills]) =>
  (store: KeyStore, file: string): KeyStore => {
    let writes = 0
    return {
      files: store.files,
      keep: (keys) =>
        Effect.gen(function* () {
          if (++writes === write && at === "before") return yield* killed
          if (writes === write && at === "within") {
            yield* Effect.promise(() => fs.writeFile(`${file}.next`, newKey.slice(0, 10)))
            return yield* killed
          }
          yield* store.keep(keys)
          if (writes === write) return yield* killed
        })
    }
  }

const secrets = { a: "secret of a", b: "secret of b" }

/** Keys in the file itself: more than one while a rotation is unfinished. */
const keysInFile = (dataDir: string) =>
  Effect.promise(async () => {
    const text = await fs.readFile(path.join(dataDir, "storage-encryption-key"), "utf8")
    return text.trim().split("\n").length
  })

/** The file holds the key that seals everything. Retired keys have files of their own, named by their ids. */
const assertDone = Effect.fnUntraced(function* (dataDir: string) {
  const { kept, keys } = yield* startFrom(dataDir)
  assert.strictEqual(yield* keysInFile(dataDir), 1)
  const retired = kept.earlier.map((key) => `storage-encryption-key.${keyIdOf(Settings.masterKeyBytes(key))}`)
  assert.deepStrictEqual(
    (yield* Effect.promise(() => fs.readdir(dataDir))).toSorted(),
    ["storage-encryption-key", ...retired].toSorted()
  )
  assert.strictEqual((yield* Effect.promise(() => fs.stat(kept.file))).mode & 0o777, 0o600)
  assert.deepStrictEqual(yield* markedKeys, [keyIdOf(keys.current)])
  return yield* withFile(dataDir)(openSigners)
})

describe("a master key that is kept in a file", () => {
  it.effect("is replaced by a new one without a restart", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const before = yield* startFrom(dataDir)
      yield* Effect.gen(function* () {
        yield* addSigners("a")
        const { key_id, rewrapped } = yield* rotate
        assert.strictEqual(rewrapped, 1 + ownSecrets)
        assert.notStrictEqual(key_id, keyIdOf(before.keys.current))
        assert.strictEqual(yield* keysInFile(dataDir), 1)
        assert.deepStrictEqual((yield* startFrom(dataDir)).keys.others, [before.keys.current])
        yield* addSigners("b")
        assert.deepStrictEqual(yield* openSigners, secrets)
      }).pipe(withFile(dataDir))
      assert.deepStrictEqual(yield* assertDone(dataDir), secrets)
      assert.strictEqual((yield* Effect.flip(withStart(before.keys)(Effect.void)))._tag, "WrongMasterKey")
    }).pipe(tested)
  )

  for (const [when, kill] of Object.entries(kills)) {
    it.effect(`opens every secret after a kill ${when}, and the next rotation completes`, () =>
      Effect.gen(function* () {
        const dataDir = yield* folder
        yield* withFile(dataDir)(addSigners("a"))
        const exit = yield* Effect.exit(withFile(dataDir, killAt(kill))(rotate))
        assert.isTrue(Exit.isFailure(exit))
        const holdsBoth = (kill.write === 1 && kill.at === "after") || (kill.write === 2 && kill.at !== "after")
        assert.strictEqual(yield* keysInFile(dataDir), holdsBoth ? 2 : 1)

        yield* Effect.gen(function* () {
          assert.deepStrictEqual(yield* openSigners, { a: "secret of a" })
          yield* addSigners("b")
        }).pipe(withFile(dataDir))
        assert.strictEqual((yield* withFile(dataDir)(rotate)).rewrapped, 2 + ownSecrets)
        assert.deepStrictEqual(yield* assertDone(dataDir), secrets)
      }).pipe(tested)
    )

    it.effect(`serves after a rotation that failed ${when}, and can be rotated again`, () =>
      Effect.gen(function* () {
        const dataDir = yield* folder
        yield* Effect.gen(function* () {
          yield* addSigners("a")
          assert.isTrue(Exit.isFailure(yield* Effect.exit(rotate)))
          yield* addSigners("b")
          assert.deepStrictEqual(yield* openSigners, secrets)
          assert.strictEqual((yield* rotate).rewrapped, 2 + ownSecrets)
          assert.deepStrictEqual(yield* openSigners, secrets)
        }).pipe(withFile(dataDir, killAt(kill)))
        assert.deepStrictEqual(yield* assertDone(dataDir), secrets)
      }).pipe(tested)
    )
  }

  it.live("opens every secret after a kill while secrets are re-encrypted", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        yield* addSigners("a", "b")
        const sealed = yield* seal("secret of b", signerPlace("b"))
        const rotation = yield* Effect.gen(function* () {
          yield* sql`UPDATE signers SET key_sealed = ${sealed} WHERE id = 'b'`
          const rotation = yield* Effect.forkScoped(rotate)
          yield* until(
            "one of two to be re-wrapped",
            sql`SELECT DISTINCT substring(key_sealed FROM 1 FOR 5) FROM signers`.pipe(
              Effect.orDie,
              Effect.map((headers) => headers.length === 2 || undefined)
            )
          )
          return rotation
        }).pipe(sql.withTransaction)
        yield* Fiber.interrupt(rotation)
      }).pipe(withFile(dataDir))
      assert.lengthOf((yield* startFrom(dataDir)).keys.others, 1)
      assert.lengthOf(yield* markedKeys, 2)
      assert.deepStrictEqual(yield* withFile(dataDir)(openSigners), secrets)
      yield* withFile(dataDir)(rotate)
      assert.deepStrictEqual(yield* assertDone(dataDir), secrets)
    }).pipe(Effect.scoped, tested)
  )
})
