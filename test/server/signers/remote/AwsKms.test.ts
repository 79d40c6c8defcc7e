// `aws_kms` against its stand-in, and without its package.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as AwsClients from "../../../../src/server/signers/backends/aws/AwsClients.ts"
import * as AwsKmsBackend from "../../../../src/server/signers/backends/aws/AwsKms.ts"
import * as RemoteCalls from "../../../../src/server/signers/backends/remote/RemoteCalls.ts"
import * as RemoteSigner from "../../../../src/server/signers/backends/remote/RemoteSigner.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import { contract } from "./contract.ts"

contract("aws_kms", ["secp256k1", "ed25519"], AwsKms.layer)

it.effect("aws_kms: without its package, a signer is refused with the field and the name of the package", () =>
  Effect.gen(function* () {
    const call = yield* AwsClients.make(() => Promise.reject(new Error("Cannot find package")))
    const shared = { calls: yield* RemoteCalls.make, settings: {} }
    const { fields, prepare } = RemoteSigner.make(AwsKmsBackend.make(call), shared)
    const failure = yield* Effect.flip(prepare({ region: "eu-west-1", key_id: "alias/a" }))
    assert.strictEqual(failure._tag, "SignerUnavailable")
    if (failure._tag !== "SignerUnavailable") return
    assert.strictEqual(fields?.[failure.reason], "type")
    assert.match(failure.message, /^needs the package @aws-sdk\/client-kms, which cannot be loaded: install it/)
  })
)
