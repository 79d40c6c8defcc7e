// Signers of key services, made from requests as they are on the wire, with a stand-in behind the outbound client.
import { assert } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Hex } from "effect/encoding"
import * as crypto from "node:crypto"
import { CreateSigner } from "../../../../src/domain/signer/CreateSigner.ts"
import { Signer } from "../../../../src/domain/signer/Signer.ts"
import type { Curve, SignerType } from "../../../../src/domain/signer/Signer.ts"
import { addressesOf } from "../../../../src/server/signers/SignerKeys.ts"
import { curveOperations } from "../../../../src/server/signers/backends/SignerBackend.ts"
import type { SignerBackend, SignerKind } from "../../../../src/server/signers/backends/SignerBackend.ts"
import { SignerBackends } from "../../../../src/server/signers/backends/SignerBackends.ts"
import { KeyDerivation } from "../../../../src/threads/KeyDerivation.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import * as Google from "../../../../testkit/signers/Google.ts"
import * as Redirected from "../../../../testkit/signers/Redirected.ts"
import { StandIn, secretText } from "../../../../testkit/signers/StandIn.ts"
import * as Turnkey from "../../../../testkit/signers/Turnkey.ts"

export const standIns = [
  ["aws_kms", AwsKms.layer],
  ["google_cloud_kms", Google.layer],
  ["azure_key_vault", Azure.layer],
  ["turnkey", Turnkey.layer]
] as const

export const backends = Layer.unwrap(
  Effect.map(StandIn, ({ url }) =>
    Layer.fresh(SignerBackends.layer).pipe(Layer.provide([Redirected.layer(url), KeyDerivation.layer]))
  )
)

interface Request {
  readonly type: CreateSigner["type"]
  readonly config: object
}

const toRequest = Schema.decodeUnknownEffect(CreateSigner)

const kindOf = Effect.fnUntraced(function* ({ type }: Request) {
  const kinds: { readonly [T in SignerType]: SignerKind<SignerType> } = yield* SignerBackends
  return kinds[type]
})

/** What is stored of a request. */
export const prepare = Effect.fnUntraced(function* (request: Request) {
  const { config } = yield* Effect.orDie(toRequest(request))
  return yield* (yield* kindOf(request)).prepare(config)
})

const toSigner = Schema.decodeUnknownEffect(Signer)

/** Creates a signer, and opens it from JSON, in which the database has it. */
export const open = Effect.fnUntraced(function* (request: Request) {
  const kind = yield* kindOf(request)
  const { config, pinned, ...prepared } = yield* prepare(request)
  if (pinned === undefined) return assert.fail("the signer has no public key")
  const shown = {
    id: "signer-1",
    type: request.type,
    config,
    curve: pinned.curve,
    public_key: Hex.encode(pinned.publicKey),
    addresses: yield* addressesOf(kind.open({ config, pinned, ...prepared }))
  }
  const stored = yield* Effect.orDie(toSigner(JSON.parse(JSON.stringify(shown))))
  return kind.open({ config: stored.config, pinned, ...prepared })
})

/** The error of a request for a signer, as the API shows it. */
export const failureOfRequest = Effect.fnUntraced(function* (request: Request) {
  const failure = yield* Effect.flip(prepare(request))
  assert.notInclude(JSON.stringify(failure) + failure.message, secretText)
  if (failure._tag !== "SignerUnavailable") return "error" in failure ? failure.error : failure._tag
  return `${(yield* kindOf(request)).fields?.[failure.reason] ?? "config"}: ${failure.message}`
})

export const messageOf = (curve: Curve) => crypto.randomBytes(curve === "secp256k1" ? 32 : 200)

export const signs = Effect.fnUntraced(function* (backend: SignerBackend, curve: Curve) {
  const message = messageOf(curve)
  const signature = yield* backend.sign(curve, message)
  const publicKey = yield* backend.publicKey(curve)
  assert.strictEqual(signature.length, curve === "secp256k1" ? 65 : 64)
  assert.isTrue(yield* Effect.promise(() => curveOperations[curve].verify(publicKey, message, signature)))
})
