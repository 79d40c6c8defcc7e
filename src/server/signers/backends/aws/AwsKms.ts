// `aws_kms`: a key of AWS KMS. It signs digests on secp256k1, and messages on ed25519.
import { Effect, Redacted } from "effect"
import type { GetPublicKeyResponse } from "@aws-sdk/client-kms"
import { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Curve.ts"
import * as Decode from "../remote/Decode.ts"
import type { Described, Provider } from "../remote/RemoteKey.ts"
import type { ConfigOf, RequestOf } from "../SignerBackend.ts"
import type { Call } from "./AwsClients.ts"
import { fields, unavailable } from "./AwsFailures.ts"

type Request = RequestOf<"aws_kms">
type Config = ConfigOf<"aws_kms">

/** `key_arn` is absent until the key is resolved. */
type Named = Request & Partial<Config>

/** Calls per second of all elliptic curve keys of an account and region, as AWS allows them by default. */
const rate = 1000

/** Bytes of the longest message that AWS KMS signs on ed25519. */
const longestMessage = 4096

const curves: Readonly<Record<string, Curve>> = {
  ECC_SECG_P256K1: "secp256k1",
  ECC_NIST_EDWARDS25519: "ed25519"
}

/** On secp256k1, the message is a digest; AWS would hash it again if the type were `RAW`. On ed25519, it is the message itself. */
const algorithms = {
  secp256k1: { SigningAlgorithm: "ECDSA_SHA_256", MessageType: "DIGEST" },
  ed25519: { SigningAlgorithm: "ED25519_SHA_512", MessageType: "RAW" }
} as const satisfies Record<Curve, object>

const arnPattern = /^arn:aws[a-z-]*:kms:([a-z0-9-]+):(\d{12}):key\/([A-Za-z0-9-]+)$/

/** The parts of the ARN of a key. Undefined for any other text. */
const partsOf = (arn: string) => {
  const [, region, account, id] = arnPattern.exec(arn) ?? []
  return region === undefined || account === undefined || id === undefined ? undefined : { region, account, id }
}

const wrongRegion = (arn: string, region: string) => arn.startsWith("arn:") && arn.split(":")[3] !== region

const prepare = ({ region, key_id }: Request) =>
  wrongRegion(key_id, region)
    ? Effect.fail(
        BadRequest.of([{ field: "config.key_id", message: "is the ARN of another region than config.region" }])
      )
    : Effect.succeed({ config: { region, key_id }, secret: Redacted.make("") })

const describedOf = Effect.fnUntraced(function* ({ KeySpec, KeyUsage, PublicKey }: GetPublicKeyResponse) {
  const spec = KeySpec ?? "an unknown kind"
  const curve = curves[spec]
  if (curve === undefined) {
    return yield* unavailable("bad_key", `is a key of ${spec}: it has to be of ${Object.keys(curves).join(" or ")}`)
  }
  if (KeyUsage !== "SIGN_VERIFY") return yield* unavailable("bad_key", "is not a key for signatures (SIGN_VERIFY)")
  const decoded = Decode.ofSpki(PublicKey ?? new Uint8Array())
  if (decoded?.curve !== curve) return yield* unavailable("unexpected")
  // AWS returns no public key for a key that is disabled or scheduled for deletion.
  return { ...decoded, state: `enabled, ${spec}, ${KeyUsage}` } satisfies Described
})

export const make = (call: Call): Provider<Request, Named, Config> => {
  const read = Effect.fnUntraced(function* (region: string, KeyId: string) {
    const answer = yield* call(region, (client, kms, abortSignal) =>
      client.send(new kms.GetPublicKeyCommand({ KeyId }), { abortSignal })
    )
    const arn = answer.KeyId ?? ""
    if (partsOf(arn)?.region !== region) return yield* unavailable("unexpected")
    return { arn, described: yield* describedOf(answer) }
  })

  /** A warning. Undefined if the request still names the key of the signer. */
  const warningOf = ({ region, key_id, key_arn }: Config) => {
    if (key_id === key_arn || key_id === partsOf(key_arn)?.id) return Effect.undefined
    return read(region, key_id).pipe(
      Effect.map(({ arn }) => (arn === key_arn ? undefined : `${key_id} now points to ${arn}, which does not sign`)),
      Effect.catchTag("SignerUnavailable", ({ message, reason }) =>
        reason === "unreachable" || reason === "throttled"
          ? Effect.fail(unavailable(reason))
          : Effect.succeed(`${key_id} can no longer be resolved: ${message}`)
      )
    )
  }

  return {
    fields,
    prepare,
    resolve: ({ config: { region, key_id } }) =>
      Effect.map(read(region, key_id), ({ arn, described }) => ({
        ...described,
        config: { region, key_id, key_arn: arn }
      })),
    describe: Effect.fnUntraced(function* ({ config }) {
      const { described } = yield* read(config.region, config.key_arn)
      const warning = yield* warningOf(config)
      return warning === undefined ? described : { ...described, warning }
    }),
    sign: Effect.fnUntraced(function* ({ config }, curve, message) {
      if (curve === "ed25519" && message.length > longestMessage) {
        return yield* unavailable("refused", `AWS KMS signs at most ${longestMessage} bytes on ed25519`)
      }
      const { $metadata, Signature = new Uint8Array() } = yield* call(config.region, (client, kms, abortSignal) =>
        client.send(new kms.SignCommand({ KeyId: config.key_arn, Message: message, ...algorithms[curve] }), {
          abortSignal
        })
      )
      const signature = curve === "ed25519" ? Signature : yield* Effect.promise(() => Decode.ofDer(Signature))
      if (signature === undefined) return yield* unavailable("unexpected")
      return { signature, ...($metadata.requestId === undefined ? {} : { requestId: $metadata.requestId }) }
    }),
    identity: ({ config: { region, key_arn = "" } }) => ({
      service: "AWS KMS",
      breaker: `aws_kms ${region}`,
      account: `aws_kms ${region} ${partsOf(key_arn)?.account ?? ""}`,
      rate
    }),
    ambientKey: ({ key_arn }) => key_arn
  }
}
