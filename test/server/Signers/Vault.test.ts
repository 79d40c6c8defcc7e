// Keys in Vault over HTTP: what is called, how often, and what is said when it fails.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import * as crypto from "node:crypto"
import * as AllowList from "../../../src/outbound/AllowList.ts"
import { Outbound } from "../../../src/outbound/Outbound.ts"
import { SignerBackends } from "../../../src/server/Signers/backends/SignerBackends.ts"
import { operations } from "../../../src/server/Signers/backends/Curves.ts"
import { Vault, namespace, refusalText, roleId, secretId } from "../../support/Vault.ts"
import type { Fault, Operation } from "../../support/Vault.ts"

const outbound = (allow: ReadonlyArray<string>) => Outbound.layer({ allow: AllowList.make(allow) })
const backends = (allow: ReadonlyArray<string>) => SignerBackends.layer.pipe(Layer.provide(outbound(allow)))
const fresh = Layer.provideMerge(Layer.fresh(backends(["127.0.0.1"])), Layer.fresh(Vault.layer))

const privateKey = "01".repeat(32)

const request = (vault: Vault["Service"], changes: object = {}) => ({
  address: vault.address,
  namespace,
  role_id: Redacted.make(roleId),
  secret_id: Redacted.make(secretId),
  key_name: "hot/wallet-1",
  mount_point: "secret",
  ...changes
})

/** With a key in the key-value store. */
const kv = Effect.fnUntraced(function* (changes: object = {}) {
  const vault = yield* Vault
  vault.secrets.set("hot/wallet-1", { value: privateKey })
  const kinds = yield* SignerBackends
  return kinds.vault.open(yield* kinds.vault.prepare(request(vault, changes)))
})

/** With a key of the transit engine. */
const transit = Effect.fnUntraced(function* (changes: object = {}) {
  const vault = yield* Vault
  vault.keys.set("solana.1", crypto.generateKeyPairSync("ed25519").privateKey)
  const kinds = yield* SignerBackends
  const pubkey = vault.publicKey("solana.1")
  const place = { key_name: "solana.1", mount_point: "transit", pubkey, ...changes }
  return kinds.vault_transit.open(yield* kinds.vault_transit.prepare({ ...request(vault), ...place }))
})

/** Reason and text of the failure, which has nothing of an answer. */
const failureOf = <A, R>(self: Effect.Effect<A, { readonly reason: string; readonly message: string }, R>) =>
  Effect.map(Effect.flip(self), ({ reason, message }) => {
    assert.notInclude(message, refusalText)
    return [reason, message]
  })

const unreachable = ["unreachable", "Vault does not answer"]
const unexpected = ["unexpected", "does not answer as Vault does"]
const login = ["login", "Vault refuses the login"]
const refused = ["refused", "Vault does not let this role use the key"]
const notFound = ["not_found", "Vault has no such key"]
const badKey = ["bad_key", "Vault has no usable key there"]

/** What the failure is, by what each operation answers. */
const faults: Partial<Record<Operation, ReadonlyArray<readonly [Fault, ReadonlyArray<string>]>>> = {
  login: [
    [400, login],
    [403, login],
    [404, login],
    [429, unreachable],
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
    [429, unreachable],
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
      assert.isTrue(yield* Effect.promise(() => operations.ed25519.verify(publicKey, Buffer.from("a"), signature)))
      assert.deepStrictEqual([vault.count("login"), vault.count("kv")], [1, 2])
      const [first, second] = vault.seen
      assert.strictEqual(second?.url, "/proxied/v1/secret/data/hot/wallet-1")
      assert.strictEqual(first?.headers["x-vault-token"], undefined)
      assert.strictEqual(second?.headers["x-vault-namespace"], namespace)

      vault.secrets.set("hot/wallet-1", { value: `0x${"02".repeat(32)}` })
      assert.notDeepEqual(yield* key.publicKey("ed25519"), publicKey)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("one login does for any number of uses at once", () =>
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

  it.effect("a token is renewed shortly before its lease ends", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.lease.seconds = 100
      const key = yield* kv()
      yield* key.publicKey("ed25519")
      yield* TestClock.adjust("89 seconds")
      yield* key.publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 1)
      yield* TestClock.adjust("2 seconds")
      yield* key.publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 2)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("a token without end is used for an hour", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.lease.seconds = 0
      const key = yield* kv()
      yield* key.publicKey("ed25519")
      yield* TestClock.adjust("59 minutes")
      yield* key.publicKey("ed25519")
      assert.strictEqual(vault.count("login"), 1)
      yield* TestClock.adjust("2 minutes")
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

  it.effect("a login that others wait for goes on when its first caller goes away", () =>
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

  it.effect("nobody listens: unreachable", () =>
    Effect.gen(function* () {
      const key = yield* kv({ address: "http://127.0.0.1:1" })
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), unreachable)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("at an address that the guard refuses, nothing is called", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* kv()
      const message = "points to a loopback address, which OUTBOUND_ALLOW does not name"
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), ["forbidden", message])
      assert.deepStrictEqual(vault.seen, [])
    }).pipe(Effect.provide(Layer.provideMerge(Layer.fresh(backends([])), Layer.fresh(Vault.layer))))
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

layer(Layer.empty)("a key that never leaves Vault", (it) => {
  it.effect("signs there, what is sent byte for byte", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      const publicKey = yield* key.publicKey("ed25519")
      assert.strictEqual(Buffer.from(publicKey).toString("base64"), vault.publicKey("solana.1"))
      for (const message of [new Uint8Array(0), crypto.randomBytes(1), crypto.randomBytes(1000)]) {
        const signature = yield* key.sign("ed25519", message)
        assert.isTrue(yield* Effect.promise(() => operations.ed25519.verify(publicKey, message, signature)))
      }
      assert.deepStrictEqual([vault.count("login"), vault.count("keys"), vault.count("sign")], [1, 1, 3])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("has no key on secp256k1, which needs no call", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      const curve = ["curve", "the key in Vault is not on this curve"]
      assert.deepStrictEqual(yield* failureOf(key.publicKey("secp256k1")), curve)
      assert.deepStrictEqual(yield* failureOf(key.sign("secp256k1", new Uint8Array(32))), curve)
      assert.deepStrictEqual(vault.seen, [])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is told apart from another key, another kind of key and none", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      vault.keys.set("solana.1", crypto.generateKeyPairSync("ed25519").privateKey)
      const mismatch = ["mismatch", "is not the public key of the key in Vault"]
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), mismatch)
      const onAnotherCurve = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      for (const other of [onAnotherCurve, 1_700_000_000]) {
        vault.keys.set("solana.1", other)
        assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), badKey)
      }
      vault.keys.clear()
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), notFound)
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", new Uint8Array(1))), notFound)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("an answer without a signature is none", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      vault.faults.set("sign", "wrong shape")
      const signed = yield* Effect.result(failureOf(key.sign("ed25519", new Uint8Array(1))))
      assert.deepStrictEqual(signed, Result.succeed(unexpected))
    }).pipe(Effect.provide(fresh))
  )
})
