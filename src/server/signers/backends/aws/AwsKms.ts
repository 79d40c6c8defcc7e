// `aws_kms`: a key of AWS KMS. It signs digests on secp256k1, and messages on ed25519.
import { Effect, Redacted } from "effect"
import { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import type { Provider } from "../remote/RemoteKey.ts"
import type { ConfigOf, RequestOf } from "../SignerBackend.ts"
import * as AwsAnswers from "./AwsAnswers.ts"
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

/** The ARN of a key, the account of the ARN of an alias, or nothing. */
const knownParts = (keyId: string) => (partsOf(keyId) === undefined ? keyId.split(":").slice(0, -1).join(":") : keyId)

const wrongRegion = (arn: string, region: string) => arn.startsWith("arn:") && arn.split(":")[3] !== region

const prepare = ({ region, key_id }: Request) =>
  wrongRegion(key_id, region)
    ? Effect.fail(
        BadRequest.of([{ field: "config.key_id", message: "is the ARN of another region than config.region" }])
      )
    : Effect.succeed({ config: { region, key_id }, secret: Redacted.make("") })

export const make = (call: Call): Provider<Request, Named, Config> => {
  const read = Effect.fnUntraced(function* (region: string, KeyId: string) {
    const answer = yield* call(region, (client, kms, abortSignal) =>
      client.send(new kms.GetPublicKeyCommand({ KeyId }), { abortSignal })
    )
    const key = yield* AwsAnswers.readKey(answer)
    return partsOf(key.arn)?.region === region ? key : yield* unavailable("unexpected")
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
        return yield* unavailable("refused", { detail: `AWS KMS signs at most ${longestMessage} bytes on ed25519` })
      }
      const answer = yield* call(config.region, (client, kms, abortSignal) =>
        client.send(new kms.SignCommand({ KeyId: config.key_arn, Message: message, ...algorithms[curve] }), {
          abortSignal
        })
      )
      return yield* AwsAnswers.readSignature(curve, answer)
    }),
    identity: ({ config: { region, key_arn = "" } }) => ({
      service: "AWS KMS",
      breaker: `aws_kms ${region}`,
      account: `aws_kms ${region} ${partsOf(key_arn)?.account ?? ""}`,
      rate
    }),
    ambientKey: ({ key_arn, key_id }) => key_arn ?? knownParts(key_id)
  }
}
