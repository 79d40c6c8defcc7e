// `aws_kms` against its stand-in, and without its package.
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as AwsKmsBackend from "../../../../src/server/signers/backends/AwsKms.ts"
import { makeAwsCall } from "../../../../src/server/signers/backends/AwsKms.ts"
import * as RemoteSigner from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { makeRemoteCalls } from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import * as Keys from "../../../../testkit/signers/Keys.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { contract } from "./contract.ts"
import { backends, failureOfRequest, open } from "./signers.ts"

contract("aws_kms", ["secp256k1", "ed25519"], AwsKms.layer)

const services = Layer.provideMerge(backends, Layer.fresh(AwsKms.layer))

layerEach(services)("a key in AWS KMS", (it) => {
  const arn = "arn:aws:kms:eu-west-1:111122223333:key/1234"
  const answers = [
    [
      { KeyId: arn, KeySpec: "RSA_2048" },
      "config.key_id: is a key of RSA_2048: it has to be of ECC_SECG_P256K1 or ECC_NIST_EDWARDS25519"
    ],
    [{ KeyId: arn, KeyUsage: "KEY_AGREEMENT" }, "config.key_id: is not a key for signatures (SIGN_VERIFY)"],
    [{ KeyId: arn.replace("eu-west-1", "us-east-1") }, "config.region: does not answer as AWS KMS does"],
    [{ KeyId: "alias/secp256k1" }, "config.region: does not answer as AWS KMS does"]
  ] as const
  for (const [change, message] of answers) {
    it.effect(`is refused if AWS answers with ${Object.values(change).join(" and ")}`, () =>
      Effect.gen(function* () {
        const { reply, request } = yield* StandIn
        const PublicKey = Buffer.from(Keys.make("secp256k1").spki).toString("base64")
        const json = { KeySpec: "ECC_SECG_P256K1", KeyUsage: "SIGN_VERIFY", PublicKey, ...change }
        reply("describe", (response) => void response.end(JSON.stringify(json)))
        assert.strictEqual(yield* failureOfRequest(request("secp256k1")), message)
      })
    )
  }

  it.effect("on ed25519 is not asked to sign more than AWS signs", () =>
    Effect.gen(function* () {
      const { count, request } = yield* StandIn
      const { sign } = yield* open(request("ed25519"))
      const before = count("sign")
      assert.lengthOf(yield* sign("ed25519", new Uint8Array(4096)), 64)
      const { message } = yield* Effect.flip(sign("ed25519", new Uint8Array(4097)))
      assert.strictEqual(message, "AWS KMS signs at most 4096 bytes on ed25519")
      assert.strictEqual(count("sign") - before, 1)
    })
  )
})

it.effect("aws_kms: without its package, a signer is refused with the field and the name of the package", () =>
  Effect.gen(function* () {
    const call = yield* makeAwsCall(() => Promise.reject(new Error("Cannot find package")))
    const shared = { calls: yield* makeRemoteCalls, settings: {} }
    const { fields, prepare } = RemoteSigner.make(AwsKmsBackend.make(call), shared)
    const failure = yield* Effect.flip(prepare({ region: "eu-west-1", key_id: "alias/a" }))
    assert.strictEqual(failure._tag, "SignerUnavailable")
    if (failure._tag !== "SignerUnavailable") return
    assert.strictEqual(fields?.[failure.reason], "type")
    assert.match(failure.message, /^needs the package @aws-sdk\/client-kms, which cannot be loaded: install it/)
  })
)
