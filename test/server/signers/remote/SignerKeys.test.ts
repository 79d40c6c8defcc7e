// `SIGNER_KEYS` does not only limit which keys signers use: a request also learns nothing about other keys, and the login of the
// service is not sent to other places.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SignerBackends } from "../../../../src/server/signers/backends/SignerBackends.ts"
import { SignerSettings } from "../../../../src/server/signers/SignerSettings.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { backends, failureOfRequest, open, signs } from "./signers.ts"

const awsOf = (key_id: string) => ({ type: "aws_kms" as const, config: { region: "eu-west-1", key_id } })

const allowing = <A>(standIn: Layer.Layer<A | StandIn>, keys: ReadonlyArray<string>) =>
  Layer.provideMerge(backends, Layer.provideMerge(Layer.succeed(SignerSettings, { keys }), Layer.fresh(standIn)))

/** The same without a list. */
const allAllowed = Layer.provide(Layer.fresh(backends), Layer.succeed(SignerSettings, {}))

const message = "config.key_id: SIGNER_KEYS allows no usable key with this name"

layerEach(allowing(AwsKms.layer, ["arn:aws:kms:eu-west-1:999999999999"]))("a key of AWS that is not allowed", (it) => {
  it.effect("looks like one that does not exist, that is disabled, or that the role may not use", () =>
    Effect.gen(function* () {
      const { count, fail } = yield* StandIn
      for (const name of ["alias/secp256k1", "alias/none", "1234abcd-12ab-34cd-56ef-1234567890ab"]) {
        assert.strictEqual(yield* failureOfRequest(awsOf(name)), message)
      }
      for (const fault of ["disabled key", "refused", "other key"] as const) {
        fail("describe", fault, 1)
        assert.strictEqual(yield* failureOfRequest(awsOf("alias/secp256k1")), message, fault)
      }
      assert.strictEqual(count("sign"), 0)
    })
  )

  it.effect("is refused without a call if the request names its account", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      for (const name of ["key/1234", "alias/secp256k1"]) {
        assert.strictEqual(yield* failureOfRequest(awsOf(`arn:aws:kms:eu-west-1:111122223333:${name}`)), message)
      }
      assert.strictEqual(count("describe"), 0)
    })
  )

  it.effect("does not hide that AWS does not answer", () =>
    Effect.gen(function* () {
      const { fail } = yield* StandIn
      fail("describe", "throttled for a minute")
      assert.strictEqual(
        yield* failureOfRequest(awsOf("alias/secp256k1")),
        "config.region: AWS KMS accepts no more requests now"
      )
    })
  )
})

layerEach(allowing(AwsKms.layer, ["arn:aws:kms:eu-west-1:111122223333"]))("a key of AWS that is allowed", (it) => {
  it.effect("is used, and the request that names its ARN gets the reason of a failure", () =>
    Effect.gen(function* () {
      const { fail } = yield* StandIn
      yield* signs(yield* open(awsOf("alias/secp256k1")), "secp256k1")
      fail("describe", "disabled key", 1)
      assert.strictEqual(
        yield* failureOfRequest(awsOf("arn:aws:kms:eu-west-1:111122223333:key/1234")),
        "config.key_id: the key is disabled, or does not sign"
      )
    })
  )
})

layerEach(allowing(AwsKms.layer, ["arn:aws:kms:eu-west-1:999999999999"]))("a signer of a key", (it) => {
  it.effect("that is no longer allowed does not sign and is not described, and nobody is called", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const created = Effect.flatMap(SignerBackends, ({ aws_kms }) =>
        aws_kms.prepare({ region: "eu-west-1", key_id: "alias/secp256k1" })
      )
      const prepared = yield* Effect.provide(created, allAllowed, { local: true })
      const { inspect, sign } = (yield* SignerBackends).aws_kms.open(prepared)
      const before = [count("sign"), count("describe")]
      const signing = Effect.asVoid(sign("secp256k1", new Uint8Array(32)))
      for (const call of [signing, Effect.asVoid(inspect ?? assert.fail("no inspection"))]) {
        const { message, reason } = yield* Effect.flip(call)
        assert.deepStrictEqual([reason, message], ["forbidden", "SIGNER_KEYS does not allow this key"])
      }
      assert.deepStrictEqual([count("sign"), count("describe")], before)
    })
  )
})

const vault = "https://relayers.vault.azure.net"

const ofMachine = (changes: object = {}) => ({
  type: "azure_key_vault" as const,
  config: { auth_type: "managed_identity", vault_url: vault, key_name: "hot-1", ...changes }
})

const withIdentity = (keys: ReadonlyArray<string>) => {
  const settings = Layer.effect(
    SignerSettings,
    Effect.map(Azure.Azure, (azure) => ({ keys, azure: azure.environment() }))
  )
  return Layer.provideMerge(backends, Layer.provideMerge(settings, Layer.fresh(Azure.layer)))
}

layerEach(withIdentity([`${vault}/keys/hot-1`]))("the identity of the machine in Azure", (it) => {
  it.effect("is used for keys that SIGNER_KEYS names, and its token is sent to no other vault or key", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      for (const other of [{ vault_url: "https://others.vault.azure.net" }, { key_name: "hot-2" }]) {
        const refusal = yield* failureOfRequest(ofMachine(other))
        assert.include(refusal, "SIGNER_KEYS allows no usable key with this name")
      }
      assert.deepStrictEqual([count("login"), count("describe")], [0, 0])
      yield* signs(yield* open(ofMachine()), "secp256k1")
    })
  )
})

layerEach(withIdentity([`${vault}/keys/hot-1/00000000000000000000000000000000`]))("a version in SIGNER_KEYS", (it) => {
  it.effect("does not allow the others of its key", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      assert.include(yield* failureOfRequest(ofMachine()), "SIGNER_KEYS allows no usable key with this name")
      assert.strictEqual(count("sign"), 0)
    })
  )
})
