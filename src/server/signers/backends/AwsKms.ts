// `aws_kms`: a key of AWS KMS. It signs digests on secp256k1, and messages on ed25519.
import { Effect, Option, Predicate, RcMap, Redacted, Schema } from "effect"
import type * as ClientKms from "@aws-sdk/client-kms"
import type { KMSClient } from "@aws-sdk/client-kms"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import * as Decode from "./Decode.ts"
import { loadPackage, makeFailures } from "./RemoteSigner.ts"
import type { Described, Provider } from "./RemoteSigner.ts"
import { requestIdField } from "./SignerBackend.ts"
import type { ConfigOf, RequestOf, SignerUnavailable } from "./SignerBackend.ts"

// The failures of a key in AWS KMS: for each, the field of the request that causes it, the message, and the errors of AWS.

const { fields, unavailable } = makeFailures({
  forbidden: ["config.key_id", "SIGNER_KEYS does not allow this key"],
  unreachable: ["config.region", "AWS KMS does not answer"],
  unexpected: ["config.region", "does not answer as AWS KMS does"],
  login: ["config.region", "the service has no valid credentials for AWS"],
  throttled: ["config.region", "AWS KMS accepts no more requests now"],
  refused: ["config.key_id", "AWS does not let the service use the key: it needs kms:GetPublicKey and kms:Sign"],
  not_found: ["config.key_id", "AWS KMS has no such key in this region"],
  bad_key: ["config.key_id", "the key is disabled, or does not sign"],
  mismatch: ["config.key_id", "the key signs with another key than its public key"],
  not_installed: ["type", "needs the package @aws-sdk/client-kms"]
})

type AwsReason = Parameters<typeof unavailable>[0]

const reasons = new Map<string, AwsReason>(
  Object.entries({
    ThrottlingException: "throttled",
    TooManyRequestsException: "throttled",
    LimitExceededException: "throttled",
    KMSInternalException: "unreachable",
    KeyUnavailableException: "unreachable",
    DependencyTimeoutException: "unreachable",
    TimeoutError: "unreachable",
    AbortError: "unreachable",
    ExpiredTokenException: "login",
    UnrecognizedClientException: "login",
    InvalidClientTokenId: "login",
    IncompleteSignature: "login",
    CredentialsProviderError: "login",
    TokenProviderError: "login",
    // The clock of the service differs from the clock of AWS. The client corrects the difference for the next try.
    InvalidSignatureException: "login",
    RequestTimeTooSkewed: "login",
    RequestExpired: "login",
    AccessDeniedException: "refused",
    AccessDenied: "refused",
    NotFoundException: "not_found",
    InvalidArnException: "not_found",
    DisabledException: "bad_key",
    KMSInvalidStateException: "bad_key",
    InvalidKeyUsageException: "bad_key",
    UnsupportedOperationException: "bad_key"
  } as const)
)

/** Fields of the SDK's errors. `$response` is the answer that could not be read. */
const SdkError = Schema.Struct({
  name: Schema.String,
  /** Code of a connection error, such as `ECONNRESET`. */
  code: Schema.optionalKey(Schema.Unknown),
  $metadata: Schema.optionalKey(
    Schema.Struct({
      httpStatusCode: Schema.optionalKey(Schema.UndefinedOr(Schema.Finite)),
      requestId: Schema.optionalKey(Schema.UndefinedOr(Schema.String))
    })
  ),
  $response: Schema.optionalKey(
    Schema.Struct({
      statusCode: Schema.optionalKey(Schema.UndefinedOr(Schema.Finite)),
      headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
})

const readError = Schema.decodeUnknownOption(SdkError)

const isConnection = (code: unknown) => typeof code === "string" && /^(E[A-Z_]+|UND_ERR_[A-Z_]+)$/.test(code)

const reasonOf = ({ name, code, $metadata, $response }: typeof SdkError.Type): AwsReason => {
  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  if (status === 429) return "throttled"
  const known = reasons.get(name)
  if (known !== undefined) return known
  if ((status !== undefined && status >= 500) || isConnection(code)) return "unreachable"
  return status === 401 ? "login" : status === 403 ? "refused" : "unexpected"
}

/** Seconds, from `Retry-After`. */
const Seconds = Schema.decodeUnknownOption(
  Schema.FiniteFromString.check(Schema.isBetween({ minimum: 0, maximum: 86_400 }))
)

/** `error` is what the SDK threw. Its text is discarded. */
const failureOfError = (error: unknown): SignerUnavailable => {
  const sdk = Option.getOrUndefined(readError(error))
  if (sdk === undefined) return unavailable("unexpected")
  const seconds = Option.getOrUndefined(Seconds(sdk.$response?.headers?.["retry-after"]))
  return unavailable(reasonOf(sdk), {
    retryAfter: seconds === undefined ? undefined : seconds * 1000,
    ...requestIdField(sdk.$metadata?.requestId)
  })
}

// What AWS KMS answers. The SDK does not check the types of the values.

const curveOfSpec = new Map<string, Curve>([
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
const readKey = Effect.fnUntraced(function* (answer: unknown) {
  const { KeyId, KeySpec, KeyUsage, PublicKey } = yield* Effect.mapError(decodeKey(answer), () =>
    unavailable("unexpected")
  )
  const curve = curveOfSpec.get(KeySpec)
  if (curve === undefined) {
    return yield* unavailable("bad_key", {
      detail: `is a key of ${KeySpec}: it has to be of ${[...curveOfSpec.keys()].join(" or ")}`
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
const readSignature = Effect.fnUntraced(function* (curve: Curve, answer: unknown) {
  const { $metadata, Signature } = yield* Effect.mapError(decodeSignature(answer), () => unavailable("unexpected"))
  const signature = curve === "ed25519" ? Signature : yield* Effect.promise(() => Decode.ofDer(Signature))
  if (signature === undefined) return yield* unavailable("unexpected")
  return { signature, ...requestIdField($metadata.requestId) }
})

// Limits the bytes of a response of AWS, because the SDK reads a response into memory whatever its length.

/** Bytes. Responses of AWS KMS have less than ten thousand. */
const longestBody = 1_048_576

async function* limited(parts: AsyncIterable<Uint8Array>) {
  let length = 0
  for await (const part of parts) {
    length += part.length
    if (length > longestBody) throw new Error("the response is too long")
    yield part
  }
}

const toStream = (parts: AsyncGenerator<Uint8Array>) =>
  new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    }
  })

const isBody = (value: unknown): value is AsyncIterable<Uint8Array> =>
  Predicate.hasProperty(value, Symbol.asyncIterator)

/** The client fails if a response is too long, and closes the connection. */
const limitBodies = ({ middlewareStack }: KMSClient): void =>
  middlewareStack.add(
    (next) => async (call) => {
      const answered = await next(call)
      const { response } = answered
      if (Predicate.hasProperty(response, "body") && isBody(response.body)) {
        response.body = toStream(limited(response.body))
      }
      return answered
    },
    { step: "deserialize", priority: "low", name: "limitedBody" }
  )

// The clients of AWS KMS, one for each region. They log in with the credentials of the process, as the SDK of AWS finds them.

type Kms = Pick<typeof ClientKms, "KMSClient" | "GetPublicKeyCommand" | "SignCommand">

/** Makes one call, without a retry. After a failed login, the next call loads new credentials. */
export type AwsCall = <A>(
  region: string,
  send: (client: KMSClient, kms: Kms, abortSignal: AbortSignal) => Promise<A>
) => Effect.Effect<A, SignerUnavailable>

/**
 * Without `throwOnRequestTimeout`, the SDK waits forever for a server that does not answer. Its default of 50 sockets limits it to
 * 333 signatures per second, at 150 ms each. All times are milliseconds.
 */
const clientOptions = {
  maxAttempts: 1,
  requestHandler: {
    connectionTimeout: 1000,
    requestTimeout: 3000,
    throwOnRequestTimeout: true,
    httpAgent: { maxSockets: 200, keepAlive: true },
    httpsAgent: { maxSockets: 200, keepAlive: true }
  }
}

/** A client that nothing uses for this time is closed. */
const idleTimeToLive = "1 hour"

const renew = (client: KMSClient) =>
  Effect.ignore(Effect.tryPromise(() => client.config.credentials({ forceRefresh: true })))

/** The clients are closed when the scope closes. */
export const makeAwsCall = Effect.fnUntraced(function* (
  load: () => Promise<Kms> = () => import("@aws-sdk/client-kms")
) {
  const loaded = loadPackage("@aws-sdk/client-kms", load)

  const open = Effect.fnUntraced(function* (region: string) {
    const kms = yield* loaded
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new kms.KMSClient({ ...clientOptions, region })),
      (opened) => Effect.sync(() => opened.destroy())
    )
    limitBodies(client)
    return client
  })

  const clients = yield* RcMap.make({ lookup: open, idleTimeToLive })

  /** A request may name a region that does not exist, so the client of a region that does not answer is not kept. */
  const repair = (region: string, client: KMSClient, { reason }: SignerUnavailable) => {
    if (reason === "login") return renew(client)
    return reason === "unreachable" ? RcMap.invalidate(clients, region) : Effect.void
  }

  const call: AwsCall = Effect.fnUntraced(function* (region, send) {
    // A missing package fails here, because the map would keep the failure.
    const kms = yield* loaded
    const client = yield* RcMap.get(clients, region)
    return yield* Effect.tryPromise({ try: (signal) => send(client, kms, signal), catch: failureOfError }).pipe(
      Effect.tapError((failure) => repair(region, client, failure))
    )
  }, Effect.scoped)

  return call
})

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

export const make = (call: AwsCall): Provider<Request, Named, Config> => {
  const read = Effect.fnUntraced(function* (region: string, KeyId: string) {
    const answer = yield* call(region, (client, kms, abortSignal) =>
      client.send(new kms.GetPublicKeyCommand({ KeyId }), { abortSignal })
    )
    const key = yield* readKey(answer)
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
      return yield* readSignature(curve, answer)
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
