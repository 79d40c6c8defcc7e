// The only table that maps an error to a status and a message. Each entry works both ways: the server encodes, the client decodes.
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import * as ApiKey from "../domain/access/ApiKey.ts"
import * as Caller from "../domain/access/Caller.ts"
import { AuditCheckpointNotFound } from "../domain/audit/Audit.ts"
import * as Claim from "../domain/claim/Claim.ts"
import { ApplyRunning, ConfigurationNotFound, PlanOutdated, PlanRefused } from "../domain/configuration/Plan.ts"
import * as MasterKey from "../domain/masterKey/MasterKey.ts"
import * as Network from "../domain/network/Network.ts"
import * as Delivery from "../domain/notification/Delivery.ts"
import * as Notification from "../domain/notification/Notification.ts"
import * as Relayer from "../domain/relayer/Relayer.ts"
import { field } from "../domain/request/Field.ts"
import { count } from "../domain/request/Page.ts"
import * as Request from "../domain/request/Request.ts"
import { IdempotencyKeyBusy, IdempotencyKeyReused, PreconditionFailed } from "../domain/request/Request.ts"
import * as Signer from "../domain/signer/Signer.ts"
import { TransactionConflict } from "../networks/core/Rules.ts"
import * as TransactionLimits from "../networks/core/TransactionLimits.ts"
import { RelayerPaused } from "../networks/core/TransactionLimits.ts"
import { TransactionNotFound } from "../networks/core/TransactionValues.ts"
import * as Failure from "./Failure.ts"
import { explained, explainedAtTimes, failure, headed, sentence, values } from "./Failure.ts"

export const BadRequestError = explainedAtTimes(400)(
  Request.BadRequest,
  "Bad Request",
  "The request is invalid; `error` names every invalid field."
)

/** The attributes of RFC 6750, section 3.1. They are absent if the request has no API key. */
const invalidToken = 'Bearer error="invalid_token"' as const

export const UnauthorizedError = Caller.Unauthorized.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct({ ...Failure.fields("Unauthorized"), error: Failure.explanation })
        .annotate({ identifier: "UnauthorizedError" })
        .pipe(HttpApiSchema.status(401)),
      headers: {
        "www-authenticate": field(
          Schema.Literals(["Bearer", invalidToken]),
          "The authentication scheme (RFC 6750), with an error if the request has an API key.",
          "Bearer"
        )
      }
    },
    {
      decode: ({ headers }) =>
        new Caller.Unauthorized(headers["www-authenticate"] === invalidToken ? { reason: "invalid_token" } : {}),
      encode: (error) => ({
        body: { ...values("Unauthorized"), error: error.message },
        headers: { "www-authenticate": error.reason === undefined ? ("Bearer" as const) : invalidToken }
      })
    }
  )
).annotate({
  description: "The API key is missing, malformed, unknown, expired or revoked; `error` says whether there was one."
})

const retryAfter = { "retry-after": count("Seconds after which the caller may try again.", 1) }

export const TooManyRequestsError = headed(
  Caller.TooManyRequests,
  429,
  "Too Many Requests",
  "The API key has used up its rate limit, or the key service of a signer takes no more requests now. Try again after `Retry-After`.",
  retryAfter,
  {
    decode: (headers) => new Caller.TooManyRequests({ retryAfter: headers["retry-after"] }),
    encode: ({ retryAfter }) => ({ "retry-after": retryAfter })
  }
)

/** Seconds after which a caller may try again if the database cannot be reached or the instance is stopping. */
export const retryAfterUnavailable = 1

export const ServiceUnavailableError = headed(
  Request.ServiceUnavailable,
  503,
  "Service Unavailable",
  "The database cannot be reached, the request took too long, the instance is stopping, or it is older than the schema of the database. Try again after `Retry-After`.",
  retryAfter,
  {
    decode: () => new Request.ServiceUnavailable({}),
    encode: () => ({ "retry-after": retryAfterUnavailable })
  }
)

export const BadGatewayError = explained(502)(
  Request.BadGateway,
  "Bad Gateway",
  "No RPC provider gave a usable answer. `error` has the masked URL of each, the JSON-RPC method, and the HTTP status, the JSON-RPC code or the time limit."
)

export const MethodNotAllowedError = headed(
  Request.MethodNotAllowed,
  405,
  "Method Not Allowed",
  "The path exists, but not for this method.",
  { allow: field(Schema.String, "The methods of the path.", "GET, POST") },
  {
    decode: ({ allow }) => new Request.MethodNotAllowed({ allow: allow.match(/[A-Z]+/g) ?? [] }),
    encode: ({ allow }) => ({ allow: allow.join(", ") })
  }
)

export const ForbiddenError = failure(403)(
  Caller.Forbidden,
  "Forbidden",
  "The API key lacks the scope of this operation, or is limited to other relayers."
)

export const TooManyApiKeysError = explained(409)(
  ApiKey.TooManyApiKeys,
  "Too many API keys",
  "The caller has created as many API keys as it may have at the same time."
)

export const NotFoundError = sentence(404)(
  Request.NotFound,
  "Not Found",
  "The path does not exist; `error` says where those of the API are."
)

export const AuditCheckpointNotFoundError = failure(404)(
  AuditCheckpointNotFound,
  "Audit checkpoint not found",
  "There is no checkpoint at this position."
)
export const ApiKeyNotFoundError = failure(404)(ApiKey.ApiKeyNotFound, "API key not found", "No API key has this id.")
export const DeliveryNotFoundError = failure(404)(
  Delivery.DeliveryNotFound,
  "Delivery not found",
  "The notification has no delivery with this id."
)
export const NetworkNotFoundError = failure(404)(
  Network.NetworkNotFound,
  "Network not found",
  "No network has this id."
)
export const NotificationNotFoundError = failure(404)(
  Notification.NotificationNotFound,
  "Notification not found",
  "No notification has this id."
)
export const RelayerNotFoundError = failure(404)(
  Relayer.RelayerNotFound,
  "Relayer not found",
  "No relayer has this id, or the API key is limited to others."
)
export const SignerNotFoundError = failure(404)(Signer.SignerNotFound, "Signer not found", "No signer has this id.")

export const ApiKeyIdTakenError = failure(409)(
  ApiKey.ApiKeyIdTaken,
  "API key with this ID already exists",
  "An API key has or had this id."
)
export const NetworkIdTakenError = failure(409)(
  Network.NetworkIdTaken,
  "Network with this ID already exists",
  "A network of this type already has this name."
)
export const NotificationIdTakenError = failure(409)(
  Notification.NotificationIdTaken,
  "Notification with this ID already exists",
  "A notification already has this id."
)
export const RelayerIdTakenError = failure(409)(
  Relayer.RelayerIdTaken,
  "Relayer with this ID already exists",
  "A relayer already has this id."
)
export const SignerIdTakenError = failure(409)(
  Signer.SignerIdTaken,
  "Signer with this ID already exists",
  "A signer already has this id."
)

export const SignerKeyTakenError = failure(409)(
  Signer.SignerKeyTaken,
  "Another signer already has this key",
  "Another signer has the same `public_key`: two signers of one key would be two accounts with the same nonces."
)

export const NetworkInUseError = explained(409)(
  Network.NetworkInUse,
  "Network is in use",
  "Relayers or other networks use it; `error` names those that the API key may read."
)
export const NotificationInUseError = explained(409)(
  Notification.NotificationInUse,
  "Notification is in use",
  "Relayers use it; `error` names those that the API key may read."
)
export const RelayerInUseError = explained(409)(
  Relayer.RelayerInUse,
  "Relayer is in use",
  "It has open transactions; `error` says how many."
)
export const SignerInUseError = explained(409)(
  Signer.SignerInUse,
  "Signer is in use",
  "Relayers use it; `error` names those that the API key may read."
)

const stillRunning = "Request with this idempotency key is still running"

/** Seconds after which a caller may repeat a request whose first copy is still running. */
export const retryAfterBusy = 1

export const IdempotencyKeyBusyError = headed(
  IdempotencyKeyBusy,
  409,
  stillRunning,
  "The first request with this `Idempotency-Key` is still running; `Retry-After` is sent.",
  retryAfter,
  {
    decode: () => new IdempotencyKeyBusy({}),
    encode: () => ({ "retry-after": retryAfterBusy })
  }
)

export const IdempotencyKeyReusedError = failure(422)(
  IdempotencyKeyReused,
  "Idempotency key reused with a different request",
  "The `Idempotency-Key` was used for another request."
)

export const RotationRunningError = failure(409)(
  MasterKey.RotationRunning,
  "Rotation of the master key is running",
  "Another rotation of the master key is running."
)

export const ClaimNotFoundError = failure(404)(Claim.ClaimNotFound, "Claim not found", "Nobody holds this name.")
export const ClaimHeldError = explained(409)(
  Claim.ClaimHeld,
  "Name is claimed",
  "Another holder has the name; `error` says until when."
)
export const ClaimFinalError = explained(409)(
  Claim.ClaimFinal,
  "Claim is final",
  "What the name stands for was done, by this holder or another one; `error` says since when it is claimed."
)
export const ClaimLapsedError = sentence(409)(
  Claim.ClaimLapsed,
  "Claim has lapsed",
  "`by` does not hold the name any more: somebody else may have had it since."
)

export const PreconditionFailedError = failure(412)(
  PreconditionFailed,
  "Precondition Failed",
  "The current version of the resource does not match `If-Match`."
)

export const PayloadTooLargeError = failure(413)(
  Request.PayloadTooLarge,
  "Payload Too Large",
  "The body is larger than the limit."
)

/** `Accept` and `Accept-Encoding` say what the endpoint accepts (RFC 9110, section 15.5.16). */
export const UnsupportedMediaTypeError = Request.UnsupportedMediaType.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct({ ...Failure.fields("Unsupported Media Type"), error: Failure.explanation })
        .annotate({ identifier: "UnsupportedMediaTypeError" })
        .pipe(HttpApiSchema.status(415)),
      headers: {
        accept: field(Schema.String, "The supported content types.", "application/json"),
        "accept-encoding": field(Schema.Literal("identity"), "The supported encoding: none.", "identity")
      }
    },
    {
      decode: ({ body, headers }) =>
        new Request.UnsupportedMediaType({ accept: headers.accept.match(/[^\s,]+/g) ?? [], error: body.error }),
      encode: ({ accept, error }) => ({
        body: { ...values("Unsupported Media Type"), error },
        headers: { accept: accept.join(", "), "accept-encoding": "identity" as const }
      })
    }
  )
).annotate({
  description: "The content type or the encoding of the body is not supported; `error` names what is expected."
})

export const InternalServerErrorError = explainedAtTimes(500)(
  Request.InternalServerError,
  "Internal Server Error",
  "The service has a fault, which is logged with the `x-request-id` of this response; or a row of the database was changed outside of the service, and `error` names its resource."
)

// The next three are sent before there is a request that an endpoint could answer.
export const RequestTimeoutError = failure(408)(
  Request.RequestTimeout,
  "Request Timeout",
  "The request did not arrive in time."
)
export const ExpectationFailedError = failure(417)(
  Request.ExpectationFailed,
  "Expectation Failed",
  "The service does not support the value of `Expect`."
)
export const RequestHeaderFieldsTooLargeError = failure(431)(
  Request.RequestHeaderFieldsTooLarge,
  "Request Header Fields Too Large",
  "The headers are larger than the limit."
)

/** Failures that every endpoint can have. */
export const any = [InternalServerErrorError, ServiceUnavailableError] as const

// The rows of the table of errors that are about transactions and the accounts that send them.

export const TransactionNotFoundError = failure(404)(
  TransactionNotFound,
  "Transaction not found",
  "The relayer has no transaction with this id."
)

export const RelayerPausedError = sentence(403)(
  RelayerPaused,
  "Relayer paused",
  "The operator has paused the relayer: nothing new is sent or signed."
)
export const RelayerIsChannelError = failure(409)(
  Relayer.RelayerIsChannel,
  "Relayer has the address of a channel",
  "The account of the signer is a channel of a stellar relayer."
)
export const TransactionLimitExceededError = explained(403)(
  TransactionLimits.TransactionLimitExceeded,
  "Transaction limit exceeded",
  "The request is beyond the `transaction_limits` of the API key, or the key has none for the network type of the relayer; `error` names the limit or the missing member, such as `transaction_limits.stellar`."
)
export const TransactionConflictError = explained(409)(
  TransactionConflict,
  "Transaction conflict",
  "The state of the transaction, or another transaction with the same `external_id`, does not allow the request; `error` says why."
)

export const RehearsalTooLargeError = explained(413)(
  Relayer.RehearsalTooLarge,
  "Rehearsal too large",
  "The days have more transactions than a rehearsal reads; `error` names the largest number of days that fits."
)

export const NotImplementedError = explained(501)(
  Request.NotImplemented,
  "Not Implemented",
  "The network type of the relayer does not support it."
)

// The rows of the error table for configurations.

export const PlanRefusedError = explained(422)(
  PlanRefused,
  "Plan refused",
  "The service cannot become what the document says; `error` has one line for each reason, with the path."
)

export const PlanOutdatedError = explained(412)(
  PlanOutdated,
  "Plan outdated",
  "The digest is not that of the document and the service. `error` says what has changed since the plan; nothing was written."
)

export const ApplyRunningError = explained(409)(
  ApplyRunning,
  "Apply is running",
  "Another apply of the configuration has run for ten seconds; `error` says since when."
)

export const ConfigurationNotFoundError = failure(404)(
  ConfigurationNotFound,
  "Configuration not found",
  "No configuration of this name was applied."
)
