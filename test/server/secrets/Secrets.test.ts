// What is sealed opens at its place, with its master key, unchanged; and nowhere else.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import { Hex } from "effect/encoding"
import { createCipheriv, createDecipheriv } from "node:crypto"
import { ActiveKeyring, Secrets } from "../../../src/server/secrets/Secrets.ts"
import type { SecretPlace } from "../../../src/server/secrets/Secrets.ts"
import { keyIdOf, keys, masterKey } from "../masterKey/Start.ts"

const context = { config: { address: "https://vault" }, type: "x" }
const place: SecretPlace = { table: "signers", id: "a", column: "key", context }

/** The first byte is that of the current key. */
const withKeys = (current: number, ...others: ReadonlyArray<number>) => Secrets.layer(keys(current, ...others))

const seal = (text: string, byte = 1) =>
  Effect.flatMap(Secrets, (secrets) => secrets.seal(Redacted.make(text), place)).pipe(Effect.provide(withKeys(byte)))

const open = (sealed: Uint8Array, at = place) =>
  Effect.flatMap(Secrets, (secrets) => Effect.map(secrets.open(sealed, at), Redacted.value))

const rewrap = (sealed: Uint8Array, at = place) =>
  Effect.flatMap(
    Effect.flatMap(ActiveKeyring, ({ get }) => get),
    (keyring) => keyring.rewrap(sealed, at)
  )

const header = (byte: number) => `03${keyIdOf(masterKey(byte))}`

/** Of nonce, ciphertext and tag. */
const decrypt = (key: Uint8Array, encrypted: Uint8Array, aad: Uint8Array) => {
  const decipher = createDecipheriv("aes-256-gcm", key, encrypted.slice(0, 12))
  decipher.setAAD(aad).setAuthTag(encrypted.slice(-16))
  return Buffer.concat([decipher.update(encrypted.slice(12, -16)), decipher.final()])
}

const encrypt = (key: Uint8Array, secret: Uint8Array, aad: Uint8Array) => {
  const nonce = Buffer.alloc(12, 9)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
}

/** As version 2 of the format: like the current one, but never bound to a context. */
const sealedV2 = (text: string, { table, id, column }: SecretPlace, byte = 1): Uint8Array => {
  const start = Buffer.from(`02${keyIdOf(masterKey(byte))}`, "hex")
  const where = Buffer.from(JSON.stringify([table, id, column]))
  const dataKey = Buffer.alloc(32, 77)
  const wrapped = encrypt(Redacted.value(masterKey(byte)), dataKey, Buffer.concat([start, where]))
  return new Uint8Array(Buffer.concat([start, wrapped, encrypt(dataKey, Buffer.from(text), where)]))
}

const isUnreadable = (error: { readonly _tag: string }) => assert.strictEqual(error._tag, "SecretUnreadable")

describe("Secrets", () => {
  it.effect.prop("what is sealed opens at its place", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const sealed = yield* seal(text.toWellFormed())
      assert.strictEqual(yield* open(sealed), text.toWellFormed())
    }).pipe(Effect.provide(withKeys(1)))
  )

  it.effect("a byte order mark belongs to the secret", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* open(yield* seal("\uFEFFsecret")), "\uFEFFsecret")
    }).pipe(Effect.provide(withKeys(1)))
  )

  it.effect("begins with the version and the id of the master key, and never looks the same", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* seal("secret"), yield* seal("secret")]
      assert.strictEqual(Hex.encode(one.slice(0, 5)), header(1))
      assert.lengthOf(one, 5 + (12 + 32 + 16) + (12 + "secret".length + 16))
      assert.deepStrictEqual(one.slice(0, 5), other.slice(0, 5))
      assert.notDeepEqual(one.slice(5, 65), other.slice(5, 65))
      assert.notDeepEqual(one.slice(65), other.slice(65))
    })
  )

  it.effect("is header, wrapped key and secret, each encrypted as the format says", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret")
      const canonical = '{"config":{"address":"https://vault"},"type":"x"}'
      const where = Buffer.from(JSON.stringify([place.table, place.id, place.column, canonical]))
      const dataKey = decrypt(
        Redacted.value(masterKey(1)),
        sealed.slice(5, 65),
        Buffer.concat([sealed.slice(0, 5), where])
      )
      assert.lengthOf(dataKey, 32)
      assert.strictEqual(decrypt(dataKey, sealed.slice(65), where).toString(), "secret")
    })
  )

  it.effect("what an earlier format has sealed neither opens nor comes under another key", () =>
    Effect.gen(function* () {
      const unbound: SecretPlace = { table: "networks", id: "a", column: "rpc_urls" }
      for (const at of [place, unbound]) {
        const sealed = sealedV2("secret", at)
        isUnreadable(yield* Effect.flip(open(sealed, at).pipe(Effect.provide(withKeys(1)))))
        isUnreadable(yield* Effect.flip(rewrap(sealed, at).pipe(Effect.provide(withKeys(2, 1)))))
      }
    })
  )

  it.effect("does not open with another context, whatever the order of its fields is", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret")
      const { config, type } = context
      assert.strictEqual(yield* open(sealed, { ...place, context: { type, config } }), "secret")
      for (const context of [undefined, {}, { config }, { type, config: { address: "https://thief" } }]) {
        isUnreadable(yield* Effect.flip(open(sealed, { ...place, context })))
      }
    }).pipe(Effect.provide(withKeys(1)))
  )

  it.effect("opens with whichever key is named, and seals with the current one", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* open(yield* seal("of the other", 2)), "of the other")
      const sealed = yield* Effect.flatMap(Secrets, (secrets) => secrets.seal(Redacted.make("x"), place))
      assert.strictEqual(yield* open(sealed).pipe(Effect.provide(withKeys(1))), "x")
      isUnreadable(yield* Effect.flip(open(sealed).pipe(Effect.provide(withKeys(2)))))
      isUnreadable(yield* Effect.flip(open(yield* seal("of nobody", 3))))
    }).pipe(Effect.provide(withKeys(1, 2)))
  )

  const changed = (sealed: Uint8Array, index: number, mask: number) =>
    sealed.map((byte, at) => (at === index % sealed.length ? byte ^ mask : byte))

  const Change = Schema.Struct({
    text: Schema.String,
    index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })),
    mask: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 }))
  })

  it.effect.prop("does not open with any byte changed in any way", [Change], ([{ text, index, mask }]) =>
    Effect.gen(function* () {
      isUnreadable(yield* Effect.flip(open(changed(yield* seal(text), index, mask))))
    }).pipe(Effect.provide(withKeys(1, 2)))
  )

  it.effect("does not open with any one bit changed, nor is it re-wrapped with one of its header or wrapped key", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret", 2)
      for (let index = 0; index < sealed.length; index++) {
        for (let bit = 0; bit < 8; bit++) {
          const tampered = changed(sealed, index, 1 << bit)
          isUnreadable(yield* Effect.flip(open(tampered)))
          const rewrapped = yield* Effect.option(rewrap(tampered))
          if (index < 65) assert.isTrue(Option.isNone(rewrapped), `${index}`)
          else isUnreadable(yield* Effect.flip(open(Option.getOrThrow(Option.flatten(rewrapped)))))
        }
      }
    }).pipe(Effect.provide(withKeys(1, 2)))
  )

  it.effect("does not open or come under another key elsewhere, or with a part missing", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret", 2)
      for (const elsewhere of [{ id: "b" }, { column: "config" }, { table: "notifications" }]) {
        isUnreadable(yield* Effect.flip(open(sealed, { ...place, ...elsewhere })))
        isUnreadable(yield* Effect.flip(rewrap(sealed, { ...place, ...elsewhere })))
      }
      for (let length = 0; length < sealed.length; length++) {
        isUnreadable(yield* Effect.flip(open(sealed.slice(0, length))))
      }
      isUnreadable(yield* Effect.flip(rewrap(yield* seal("secret", 3))))
    }).pipe(Effect.provide(withKeys(1, 2)))
  )

  it.effect("header and wrapped key of one secret do not open what follows them in another", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* seal("one"), yield* seal("two")]
      isUnreadable(yield* Effect.flip(open(Uint8Array.from([...one.slice(0, 65), ...other.slice(65)]))))
    }).pipe(Effect.provide(withKeys(1)))
  )

  it.effect("is re-wrapped under the current key, with the secret's ciphertext as it was", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret", 2)
      const rewrapped = Option.getOrThrow(yield* rewrap(sealed))
      assert.strictEqual(yield* open(rewrapped).pipe(Effect.provide(withKeys(1))), "secret")
      assert.deepStrictEqual(rewrapped.slice(65), sealed.slice(65))
      assert.notDeepEqual(rewrapped.slice(17, 65), sealed.slice(17, 65))
      assert.isTrue(Option.isNone(yield* rewrap(rewrapped)))
    }).pipe(Effect.provide(withKeys(1, 2)))
  )
})
