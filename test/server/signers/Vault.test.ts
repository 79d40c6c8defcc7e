// Keys in Vault over HTTP: what is called, how often, and what is said when it fails.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { curveOperations } from "../../../src/server/signers/backends/SignerBackend.ts"
import { Vault, namespace } from "../../../testkit/Vault.ts"
import type { Fault, Operation } from "../../../testkit/Vault.ts"
import {
  badKey,
  failureOf,
  fresh,
  guarded,
  kv,
  login,
  notFound,
  privateKey,
  refused,
  throttled,
  transit,
  unexpected,
  unreachable
} from "./vaults.ts"

/** What the failure is, by what each operation answers. */
const faults: Partial<Record<Operation, ReadonlyArray<readonly [Fault, ReadonlyArray<string>]>>> = {
  login: [
    [400, login],
    [403, login],
    [404, login],
    [429, throttled],
    [500, unreachable],
    [503, unreachable],
    ["redirect", unexpected],
    ["garbage", unexpected],
    ["wrong shape", unexpected],
    ["cut off", unexpected],
    ["huge", unexpected]
  ],
  kv: [
    [400, unexpected],
    [403, refused],
    [404, notFound],
    [429, throttled],
    [503, unreachable],
    ["redirect", unexpected],
    ["garbage", unexpected],
    ["wrong shape", unexpected],
    ["cut off", unexpected],
    ["huge", unexpected]
  ]
}

layer(Layer.empty)("a key in Vault", (it) => {
  it.effect("is read for each use, signs as the key that it is, and is logged in for once", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      const publicKey = yield* key.publicKey("ed25519")
      const signature = yield* key.sign("ed25519", Buffer.from("a"))
      assert.isTrue(yield* Effect.promise(() => curveOperations.ed25519.verify(publicKey, Buffer.from("a"), signature)))
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [1, 2])
      const [first, second] = vault.seen
      assert.strictEqual(second?.url, "/proxied/v1/secret/data/hot/wallet-1")
      assert.strictEqual(first?.headers["x-vault-token"], undefined)
      assert.strictEqual(second?.headers["x-vault-namespace"], namespace)

      vault.secrets.set("hot/wallet-1", { value: `0x${"02".repeat(32)}` })
      assert.notDeepEqual(yield* key.publicKey("ed25519"), publicKey)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("concurrent uses share one login", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      yield* Effect.forEach(Array.from({ length: 20 }), () => key.publicKey("secp256k1"), { concurrency: "unbounded" })
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [1, 20])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("two signers with one role share its token, others have their own", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      yield* (yield* kv()).publicKey("ed25519")
      yield* (yield* transit()).publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 1)
      const other = yield* kv({ secret_id: Redacted.make("another") })
      assert.deepStrictEqual(yield* failureOf(other.publicKey("ed25519")), login)
      assert.strictEqual(vault.count("login"), 2)
    }).pipe(Effect.provide(fresh))
  )

  const leases = [
    ["of 100 seconds is renewed shortly before it ends", 100, "89 seconds", "2 seconds"],
    ["without end is used for an hour", 0, "59 minutes", "2 minutes"]
  ] as const
  it.effect.each(leases)("a token %s", ([, lease, good, over]) =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.lease.seconds = lease
      const key = yield* kv()
      yield* key.publicKey("ed25519")
      yield* TestClock.adjust(good)
      yield* key.publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 1)
      yield* TestClock.adjust(over)
      yield* key.publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 2)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a token that was revoked is replaced, once", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      yield* key.publicKey("ed25519")
      vault.revokeTokens()
      yield* key.publicKey("ed25519")
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [2, 3])
      vault.faults.set("kv", 403)
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), refused)
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [3, 5])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a token that is new is not replaced when it is refused", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.faults.set("kv", 403)
      assert.deepStrictEqual(yield* failureOf((yield* kv()).publicKey("ed25519")), refused)
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [1, 1])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a login that has failed is tried again", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.faults.set("login", 503)
      const key = yield* kv()
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), unreachable)
      vault.faults.clear()
      yield* key.publicKey("ed25519")
    }).pipe(Effect.provide(fresh))
  )

  for (const [operation, cases] of Object.entries(faults)) {
    for (const [fault, expected] of cases) {
      it.effect(`${operation} answers ${fault}: ${expected.join(", ")}`, () =>
        Effect.gen(function* () {
          const vault = yield* Vault
          vault.faults.set(operation as Operation, fault)
          assert.deepStrictEqual(yield* failureOf((yield* kv()).publicKey("ed25519")), expected)
          for (const { url } of vault.seen) assert.notInclude(url, "elsewhere")
        }).pipe(Effect.provide(fresh))
      )
    }
  }

  it.effect("that does not answer is given up", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.faults.set("kv", "hang")
      const fiber = yield* Effect.forkChild(failureOf((yield* kv()).publicKey("ed25519")))
      yield* Deferred.await(vault.hanging)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), unreachable)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a login with other waiting callers continues if the first caller is interrupted", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.faults.set("login", "hang")
      const key = yield* kv()
      const first = yield* Effect.forkChild(key.publicKey("ed25519"))
      const second = yield* Effect.forkChild(failureOf(key.publicKey("ed25519")))
      yield* Deferred.await(vault.hanging)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.join(second), unreachable)
      assert.strictEqual(vault.count("login"), 1)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a Vault that does not listen is unreachable", () =>
    Effect.gen(function* () {
      const key = yield* kv({ address: "http://127.0.0.1:1" })
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), unreachable)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("at an address that the guard refuses, nothing is called", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      const message = "points to a loopback address, which is not allowed"
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), ["forbidden", message])
      assert.deepStrictEqual(vault.seen, [])
    }).pipe(Effect.provide(guarded))
  )

  it.effect("something else than a key is refused", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      for (const secret of [{}, { value: 1 }, { value: "ab" }, { value: "0".repeat(64) }, { key: privateKey }]) {
        vault.secrets.set("hot/wallet-1", secret)
        assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), badKey)
      }
    }).pipe(Effect.provide(fresh))
  )
})
