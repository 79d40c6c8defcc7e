// What AWS KMS answers. The SDK does not check the types of the values.
import { Effect, Schema } from "effect"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Decode from "../remote/Decode.ts"
import type { Described } from "../remote/RemoteKey.ts"
import * as RequestIds from "../RequestIds.ts"
import { unavailable } from "./AwsFailures.ts"

const curves = new Map<string, Curve>([
  ["ECC_SECG_P256K1", "secp256k1"],
  ["ECC_NIST_EDWARDS25519", "ed25519"]
])

const Word = Schema.String.check(Schema.isPattern(/^[A-Z][A-Z0-9_]{0,40}$/u))

const decodeKey = Schema.decodeUnknownEffect(
  Schema.Struct({ KeyId: Schema.String, KeySpec: Word, KeyUsage: Word, PublicKey: Schema.Uint8Array })
)

const decodeSignature = Schema.decodeUnknownEffect(
  Schema.Struct({
    Signature: Schema.Uint8Array,
    $metadata: Schema.Struct({ requestId: Schema.optionalKey(Schema.UndefinedOr(Schema.String)) })
  })
)

/** The ARN of the key, and the key. `answer` is the one of `GetPublicKey`. */
export const readKey = Effect.fnUntraced(function* (answer: unknown) {
  const { KeyId, KeySpec, KeyUsage, PublicKey } = yield* Effect.mapError(decodeKey(answer), () =>
    unavailable("unexpected")
  )
  const curve = curves.get(KeySpec)
  if (curve === undefined) {
    return yield* unavailable("bad_key", {
      detail: `is a key of ${KeySpec}: it has to be of ${[...curves.keys()].join(" or ")}`
    })
  }
  if (KeyUsage !== "SIGN_VERIFY")
    return yield* unavailable("bad_key", { detail: "is not a key for signatures (SIGN_VERIFY)" })
  const decoded = Decode.ofSpki(PublicKey)
  if (decoded?.curve !== curve) return yield* unavailable("unexpected")
  // AWS returns no public key for a key that is disabled or scheduled for deletion.
  const described: Described = { ...decoded, state: `enabled, ${KeySpec}, ${KeyUsage}` }
  return { arn: KeyId, described }
})

/** The signature of 64 bytes, with the id of the call. `answer` is the one of `Sign`. */
export const readSignature = Effect.fnUntraced(function* (curve: Curve, answer: unknown) {
  const { $metadata, Signature } = yield* Effect.mapError(decodeSignature(answer), () => unavailable("unexpected"))
  const signature = curve === "ed25519" ? Signature : yield* Effect.promise(() => Decode.ofDer(Signature))
  if (signature === undefined) return yield* unavailable("unexpected")
  return { signature, ...RequestIds.field($metadata.requestId) }
})
