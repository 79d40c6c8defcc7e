// The failures of a key in AWS KMS: for each, the field of the request that causes it, the message, and the errors of AWS.
import { Option, Schema } from "effect"
import * as RequestIds from "../RequestIds.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import * as Failures from "../remote/Failures.ts"

export const { fields, unavailable } = Failures.make({
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

const read = Schema.decodeUnknownOption(SdkError)

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
export const ofError = (error: unknown): SignerUnavailable => {
  const sdk = Option.getOrUndefined(read(error))
  if (sdk === undefined) return unavailable("unexpected")
  const seconds = Option.getOrUndefined(Seconds(sdk.$response?.headers?.["retry-after"]))
  return unavailable(reasonOf(sdk), {
    retryAfter: seconds === undefined ? undefined : seconds * 1000,
    ...RequestIds.field(sdk.$metadata?.requestId)
  })
}
