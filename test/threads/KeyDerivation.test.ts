// Keys are derived in a thread that ends with the fiber that waits for it.
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as crypto from "node:crypto"
import { KeyDerivation } from "../../src/threads/KeyDerivation.ts"

const secret = { passphrase: "correct horse", salt: Buffer.from("salt") }

/** Seconds of a core, by JavaScript: OpenSSL refuses this block size. */
const costly = { ...secret, kdf: "scrypt", n: 2 ** 18, r: 1, p: 8 } as const
const cheap = { ...secret, kdf: "scrypt", n: 2, r: 8, p: 1 } as const
const iterated = { ...secret, kdf: "pbkdf2", c: 1000 } as const

/** A thread has a port to the main thread. */
const threads = Effect.sync(() => process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length)

const hex = (key: Uint8Array) => Buffer.from(key).toString("hex")

layer(KeyDerivation.layer)("a key derivation", (it) => {
  it.effect("derives by scrypt and by PBKDF2", () =>
    Effect.gen(function* () {
      const { derive } = yield* KeyDerivation
      const { passphrase, salt } = secret
      assert.strictEqual(hex(yield* derive(cheap)), hex(crypto.scryptSync(passphrase, salt, 32, { N: 2, r: 8, p: 1 })))
      assert.strictEqual(hex(yield* derive(iterated)), hex(crypto.pbkdf2Sync(passphrase, salt, 1000, 32, "sha256")))
    })
  )

  it.effect("runs alone, in the order of the requests", () =>
    Effect.gen(function* () {
      const { derive } = yield* KeyDerivation
      const done: Array<string> = []
      const record = (name: string, self: Effect.Effect<unknown>) =>
        Effect.tap(
          self,
          Effect.sync(() => done.push(name))
        )
      yield* Effect.all([record("first", derive({ ...costly, n: 2 ** 16, p: 1 })), record("second", derive(cheap))], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(done, ["first", "second"])
    })
  )

  it.effect("ends its thread when the fiber that waits for it is interrupted", () =>
    Effect.gen(function* () {
      const { derive } = yield* KeyDerivation
      const before = yield* threads
      const fiber = yield* Effect.forkChild(derive(costly), { startImmediately: true })
      assert.strictEqual(yield* threads, before + 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* threads, before)
      assert.strictEqual((yield* derive(cheap)).length, 32)
    })
  )

  it.effect("dies if its thread fails", () =>
    Effect.gen(function* () {
      const { derive } = yield* KeyDerivation
      const exit = yield* Effect.exit(derive({ ...cheap, n: 3 }))
      assert.strictEqual(exit._tag, "Failure")
      assert.strictEqual((yield* derive(cheap)).length, 32)
    })
  )
})
