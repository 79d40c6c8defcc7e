// A key that its key service has rotated: which key signs afterwards, what a verification says, and how the signer gets a new login.
import { assert, it as test } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import * as crypto from "node:crypto"
import { CreateSigner } from "../../../../src/domain/signer/CreateSigner.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { attributes } from "../../../../packages/signer-pkcs11/src/Cryptoki.ts"
import type { Cryptoki } from "../../../../packages/signer-pkcs11/src/Cryptoki.ts"
import * as Library from "../../../../packages/signer-pkcs11/src/Library.ts"
import { networks } from "../../../../src/process/Networks.ts"
import * as Pkcs11 from "../../../../src/server/signers/backends/pkcs11/Pkcs11.ts"
import { ChainAccess } from "../../../../src/server/chains/RpcNodes.ts"
import * as Services from "../../../../src/server/Services.ts"
import { addressesOf } from "../../../../src/server/signers/SignerKeys.ts"
import { Signers } from "../../../../src/server/signers/Signers.ts"
import * as RemoteSigner from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { makeRemoteCalls } from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import * as Google from "../../../../testkit/signers/Google.ts"
import * as Keys from "../../../../testkit/signers/Keys.ts"
import * as Redirected from "../../../../testkit/signers/Redirected.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as Turnkey from "../../../../testkit/signers/Turnkey.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"
import { backends, signs } from "./signers.ts"

const id = SignerId.make("hot")
const toRequest = Schema.decodeUnknownEffect(CreateSigner)

/** The services of the relayer with key services at a stand-in, without HTTP. */
const services = <A, E>(standIn: Layer.Layer<A | StandIn, E>) =>
  Services.layerNoDeps({ networks, masterKey: Redacted.make(TestApi.masterKey), jobs: false }).pipe(
    Layer.provideMerge(
      Layer.merge(ChainAccess.layer, backends).pipe(
        Layer.provideMerge(Layer.unwrap(Effect.map(StandIn, ({ url }) => Redirected.layer(url))))
      )
    ),
    Layer.provideMerge(TestDatabase.layer),
    Layer.provideMerge(Layer.fresh(standIn))
  )

const create = Effect.fnUntraced(function* (request: { readonly type: string; readonly config: object }) {
  const signers = yield* Signers
  return yield* signers.create({ ...(yield* toRequest(request)), id })
})

/** What a verification says about the key, and whether it succeeds. */
const verified = Effect.gen(function* () {
  const { steps, verified } = yield* (yield* Signers).verify(id)
  const { status, message = "" } = steps.find(({ step }) => step === "key_state") ?? assert.fail("no state")
  return [verified, status, message] as const
})

const signsNow = Effect.gen(function* () {
  yield* signs(yield* (yield* Signers).use(id), "secp256k1")
})

const standInRequest = Effect.map(StandIn, ({ request }) => request("secp256k1"))

layerEach(services(AwsKms.layer))("a key of AWS KMS whose alias has moved", (it) => {
  it.effect("signs, is reported by a verification, and is found by its ARN for a new signer", () =>
    Effect.gen(function* () {
      const { moveAlias = () => assert.fail("no alias") } = yield* StandIn
      const before = yield* create(yield* standInRequest)
      if (before.type !== "aws_kms") return assert.fail(before.type)
      moveAlias("secp256k1")
      yield* signsNow
      const [isVerified, status, message] = yield* verified
      assert.deepStrictEqual([isVerified, status], [true, "warning"])
      assert.match(message, /^alias\/secp256k1 now points to arn:aws:kms:\S+, which does not sign/u)
      yield* (yield* Signers).delete(id)
      const { region, key_arn } = before.config
      const again = yield* create({ type: "aws_kms", config: { region, key_id: key_arn } })
      assert.deepStrictEqual(again.addresses, before.addresses)
      yield* signsNow
    })
  )
})

layerEach(services(Google.layer))("a key of Google Cloud KMS", (it) => {
  it.effect("signs with the version that the request names, until that version is disabled", () =>
    Effect.gen(function* () {
      const google = yield* Google.Google
      yield* create(yield* standInRequest)
      google.keys.set(Google.versionName("secp256k1").replace(/1$/u, "2"), Keys.make("secp256k1"))
      yield* signsNow
      assert.deepStrictEqual((yield* verified).slice(0, 2), [true, "ok"])
      google.state = "KEY_DISABLED"
      assert.deepStrictEqual(yield* verified, [
        false,
        "failed",
        "Google has no usable key there: it is disabled, destroyed, or has another algorithm"
      ])
    })
  )
})

layerEach(services(Azure.layer))("a key of Azure with a newer version", (it) => {
  const key = "relayers.vault.azure.net/keys/hot-1"

  it.effect("signs with its own version, and a verification warns until that is disabled", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      yield* create(yield* standInRequest)
      const [own] = [...(azure.keys.get(key)?.values() ?? [])]
      azure.add(key)
      yield* signsNow
      const [isVerified, status, message] = yield* verified
      assert.deepStrictEqual([isVerified, status], [true, "warning"])
      assert.match(message, /^the key has a newer version, which this signer does not use/u)
      if (own !== undefined) own.attributes.enabled = false
      assert.deepStrictEqual(yield* verified, [false, "failed", "the key in Azure is disabled"])
    })
  )

  it.effect("gets a new login by the request of its creation, and is found by its version for a new signer", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const signers = yield* Signers
      const before = yield* create(yield* standInRequest)
      if (before.type !== "azure_key_vault") return assert.fail(before.type)
      azure.add(key)
      const login = yield* toRequest({ type: "azure_key_vault", config: Azure.request() })
      if (login.type !== "azure_key_vault") return assert.fail(login.type)
      const after = yield* signers.replaceCredentials(id, login)
      assert.deepStrictEqual(after.addresses, before.addresses)
      yield* signsNow
      yield* signers.delete(id)
      const key_version = before.config.kid.split("/").at(-1)
      const again = yield* create({ type: "azure_key_vault", config: Azure.request({ key_version }) })
      assert.deepStrictEqual(again.addresses, before.addresses)
    })
  )
})

layerEach(services(Turnkey.layer))("a key of Turnkey", (it) => {
  it.effect("is disabled if another key has taken its id, because Turnkey has no versions", () =>
    Effect.gen(function* () {
      const { keys } = yield* Turnkey.Turnkey
      yield* create(yield* standInRequest)
      for (const [name, { curve }] of keys) if (curve === "secp256k1") keys.set(name, Keys.make(curve))
      const { steps } = yield* (yield* Signers).verify(id)
      assert.include(
        steps.map(({ message }) => message),
        "is not the key that the signer was created with"
      )
      const signer = yield* (yield* Signers).get(id)
      assert.strictEqual("disabled_reason" in signer ? signer.disabled_reason?.code : undefined, "key_mismatch")
    })
  )
})

interface Entry {
  readonly label: string
  readonly id: string
  readonly key: Keys.Key
}

/** A token that finds its keys by label and id, as a library of PKCS#11 does. */
const makeToken = (entries: Array<Entry>) => {
  let found: ReadonlyArray<Buffer> = []
  let signing: Keys.Key | undefined
  const handleOf = (ofClass: number, index: number) => Buffer.from([ofClass, index])
  const at = (object: Buffer) => entries[object[1] ?? -1] ?? assert.fail("no such object")
  const library: Cryptoki = {
    load: () => undefined,
    C_Initialize: () => undefined,
    C_GetSlotList: () => [Buffer.alloc(8)],
    C_GetTokenInfo: () => ({ label: "relayer", serialNumber: "0001", flags: 0 }),
    C_OpenSession: () => Buffer.alloc(8),
    C_CloseSession: () => undefined,
    C_Login: () => undefined,
    C_FindObjectsInit: (_, template) => {
      const wanted = new Map(template.map(({ type, value }) => [type, value]))
      const ofClass = Number(wanted.get(attributes.class))
      const [label, keyId] = [wanted.get(attributes.label), wanted.get(attributes.id)]
      found = entries.flatMap((entry, index) => {
        const fits = label === undefined || label === entry.label
        const hasId = !Buffer.isBuffer(keyId) || keyId.toString("hex") === entry.id
        return fits && hasId ? [handleOf(ofClass, index)] : []
      })
    },
    C_FindObjects: (_, most) => found.slice(0, most),
    C_FindObjectsFinal: () => undefined,
    C_GetAttributeValue: (_, object, template) => {
      const { id: keyId, key } = at(object)
      const values: Readonly<Record<number, Buffer>> = {
        [attributes.id]: Buffer.from(keyId, "hex"),
        [attributes.ecParams]: Buffer.from("06052b8104000a", "hex"),
        [attributes.ecPoint]: Buffer.concat([Buffer.from("0441", "hex"), key.publicKey])
      }
      return template.map(({ type }) => ({ type, value: values[type] ?? Buffer.alloc(0) }))
    },
    C_SignInit: (_, __, object) => {
      signing = at(object).key
    },
    C_SignAsync: (_, message) => Promise.resolve(Buffer.from(signing?.sign(message) ?? []))
  }
  return library
}

const pin = Redacted.make("1234")

/** The signer type with one token. Each call has a session of its own, which looks for its key. */
const kindOf = Effect.fnUntraced(function* (entries: Array<Entry>) {
  const provider = Pkcs11.make(new Map([["hsm", "/hsm.so"]]), () =>
    Promise.resolve({ load: () => Promise.resolve({ open: () => Library.make(makeToken(entries)) }) })
  )
  return RemoteSigner.make(provider, { calls: yield* makeRemoteCalls, settings: {} })
})

const entry = (label: string, keyId: string): Entry => ({ label, id: keyId, key: Keys.make("secp256k1") })

const named = { module: "hsm", token_label: "relayer", key_label: "hot", pin }

test.effect(
  "a key of PKCS#11 whose label a second key has got signs by its id, is reported, and gets a new login",
  () =>
    Effect.gen(function* () {
      const entries = [entry("hot", "01")]
      const kind = yield* kindOf(entries)
      const prepared = yield* kind.prepare(named)
      const backend = kind.open(prepared)
      const inspection = backend.inspect ?? assert.fail("no inspection")
      assert.isUndefined((yield* inspection).warning)
      entries.unshift(entry("hot", "02"))
      yield* signs(backend, "secp256k1")
      const { publicKey, warning } = yield* inspection
      assert.deepStrictEqual([...publicKey], [...(yield* backend.publicKey("secp256k1"))])
      assert.strictEqual(warning, "another key of the token has the same label; this signer does not use it")
      const again = yield* kind.prepare(kind.ofKey?.(named, prepared.config) ?? named)
      assert.deepStrictEqual(again.pinned, prepared.pinned)
      const refused = yield* Effect.flip(kind.prepare(named))
      assert.match(refused._tag === "SignerUnavailable" ? refused.message : "", /several private keys.*give key_id$/u)
    })
)

test.effect("a key of PKCS#11 without an id does not sign while two keys have its label", () =>
  Effect.gen(function* () {
    const entries = [entry("hot", "")]
    const kind = yield* kindOf(entries)
    const prepared = yield* kind.prepare(named)
    assert.deepStrictEqual(Object.keys(yield* addressesOf(kind.open(prepared))), ["evm"])
    entries.unshift(entry("hot", ""))
    const refused = yield* Effect.flip(kind.open(prepared).sign("secp256k1", crypto.randomBytes(32)))
    assert.deepStrictEqual(
      [refused.reason, refused.message],
      ["bad_key", "the token has several private keys with this name: give key_id"]
    )
  })
)
