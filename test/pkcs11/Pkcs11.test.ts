// Keys in tokens of SoftHSM: how a key is named, PINs, and sessions that the token ends. SoftHSM runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"
import { makeAllowList, Outbound } from "../../src/outbound/Outbound.ts"
import { SignerBackends } from "../../src/server/signers/backends/SignerBackends.ts"
import { SignerSettings } from "../../src/server/signers/SignerSettings.ts"
import { curveOperations } from "../../src/server/signers/backends/SignerBackend.ts"
import type { SignerBackend } from "../../src/server/signers/backends/SignerBackend.ts"
import { KeyDerivation } from "../../src/threads/KeyDerivation.ts"
import * as SoftHsmLibrary from "../../testkit/signers/SoftHsmLibrary.ts"
import * as SoftHsmToken from "../../testkit/signers/SoftHsmToken.ts"

const modules = new Map([
  ["soft", SoftHsmLibrary.library],
  ["broken", "/nowhere/library.so"]
])

const backends = SignerBackends.layer.pipe(
  Layer.provide([
    Outbound.layer({ allow: makeAllowList([]) }),
    KeyDerivation.layer,
    Layer.succeed(SignerSettings, { pkcs11Modules: modules })
  ])
)

const toRequest = Schema.decodeUnknownEffect(CreateSigner)

/** What a signer with this configuration is created as, and its key. */
const create = Effect.fnUntraced(function* (config: object) {
  const request = yield* toRequest({ type: "pkcs11", config: { module: "soft", pin: SoftHsmToken.pin, ...config } })
  if (request.type !== "pkcs11") return assert.fail(request.type)
  const { pkcs11 } = yield* SignerBackends
  const prepared = yield* pkcs11.prepare(request.config)
  return { config: prepared.config, key: pkcs11.open(prepared) }
})

const refusal = (config: object) =>
  Effect.map(Effect.flip(create(config)), (error) =>
    error._tag === "SignerUnavailable" ? `${error.reason}: ${error.message}` : JSON.stringify(error)
  )

const signs = Effect.fnUntraced(function* (key: SignerBackend) {
  const digest = new Uint8Array(32).fill(1)
  const publicKey = yield* key.publicKey("secp256k1")
  const signature = yield* key.sign("secp256k1", digest)
  assert.isTrue(yield* Effect.promise(() => curveOperations.secp256k1.verify(publicKey, digest, signature)))
})

const withKey = Effect.gen(function* () {
  const token = yield* SoftHsmToken.token
  token.add("secp256k1", "hot", "01")
  return { token, named: { token_label: token.label, key_label: "hot" } }
})

layer(backends, { excludeTestServices: true })("a key in a token", (it) => {
  it.effect("is pinned by the serial number of the token and its id, whether the label or the id names it", () =>
    Effect.gen(function* () {
      const { token, named } = yield* withKey
      const { config, key } = yield* create(named)
      assert.match(config.token_serial, /^[0-9a-f]{16}$/)
      assert.strictEqual(config.key_id, "01")
      assert.notInclude(JSON.stringify(config), SoftHsmToken.pin)
      yield* signs(key)
      const byId = yield* create({ token_label: token.label, token_serial: config.token_serial, key_id: "01" })
      assert.deepStrictEqual(yield* byId.key.publicKey("secp256k1"), yield* key.publicKey("secp256k1"))
    })
  )

  it.effect("is refused if the name fits two keys, or none, or if the key may not sign", () =>
    Effect.gen(function* () {
      const { token, named } = yield* withKey
      token.add("secp256k1", "hot", "02")
      token.add("secp256k1", "mute", "03", false)
      assert.match(yield* refusal(named), /^bad_key: the token has several private keys/)
      yield* signs((yield* create({ ...named, key_id: "02" })).key)
      assert.match(yield* refusal({ ...named, key_label: "cold" }), /^bad_key: the token has no private key/)
      assert.match(yield* refusal({ ...named, key_label: "mute" }), /^refused: /)
      assert.match(yield* refusal({ ...named, token_label: "other" }), /^not_found: the module has no such token/)
      assert.match(yield* refusal({ ...named, token_serial: "0000" }), /^not_found/)
      assert.match(yield* refusal({ ...named, module: "unknown" }), /config\.module.*PKCS11_MODULES/)
      assert.match(yield* refusal({ ...named, module: "broken" }), /^unexpected: the library/)
      assert.match(yield* refusal({ ...named, module: "../x.so" }), /PKCS11_MODULES/)
      assert.match(yield* refusal({ token_label: token.label }), /key_label/)
    })
  )

  it.effect("is not used with another PIN, also while the service is logged in, and a wrong PIN is tried once", () =>
    Effect.gen(function* () {
      const { named } = yield* withKey
      const wrong = { ...named, pin: "9999" }
      assert.match(yield* refusal(wrong), /^login: the token has refused this PIN/)
      assert.match(yield* refusal(wrong), /^login: the token has refused this PIN/)
      const { key } = yield* create(named)
      yield* signs(key)
      assert.match(yield* refusal({ ...named, pin: "8888" }), /^login: /)
      yield* signs(key)
    })
  )

  it.effect("is not found by guessing its PIN: after ten wrong ones, no signer is created, and the others sign", () =>
    Effect.gen(function* () {
      const { named } = yield* withKey
      const { key } = yield* create(named)
      for (let pin = 1000; pin < 1010; pin++) assert.match(yield* refusal({ ...named, pin: `${pin}` }), /^login/)
      assert.match(yield* refusal(named), /^login: too many wrong PINs/)
      yield* signs(key)
    })
  )

  it.effect("signs again after the token has ended all sessions", () =>
    Effect.gen(function* () {
      const { token, named } = yield* withKey
      const { key } = yield* create(named)
      yield* Effect.forEach([1, 2, 3, 4], () => signs(key), { concurrency: 4 })
      token.unplug()
      yield* signs(key)
    })
  )

  it.effect("signs in parallel", () =>
    Effect.gen(function* () {
      const { key } = yield* create((yield* withKey).named)
      yield* Effect.forEach(
        Array.from({ length: 50 }, (_, index) => index),
        () => signs(key),
        { concurrency: 32 }
      )
    })
  )
})
