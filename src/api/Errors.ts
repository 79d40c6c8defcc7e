// The only table from error to status and message. Each entry is a schema that works both ways: the server encodes the
// error with it, the typed client decodes the body back to the same class.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import * as ApiKey from "../domain/access/ApiKey.ts"
import * as Caller from "../domain/access/Caller.ts"
import * as Delivery from "../domain/notification/Delivery.ts"
import * as Idempotency from "../domain/request/Idempotency.ts"
import * as MasterKey from "../domain/masterKey/MasterKey.ts"
import * as Network from "../domain/network/Network.ts"
import * as Notification from "../domain/notification/Notification.ts"
import * as Relayer from "../domain/relayer/Relayer.ts"
import * as Request from "../domain/request/Request.ts"
import * as Signer from "../domain/signer/Signer.ts"
import * as Version from "../domain/request/Version.ts"

const body = <Message extends string>(message: Message) => ({
  data: Schema.Null,
  message: Schema.Literal(message),
  success: Schema.Literal(false)
})

/** A value of `body`. */
const bodyOf = <const Message extends string>(message: Message) => ({ data: null, message, success: false as const })

interface Fieldless<E> {
  new (props: {}): E
}

const failure = <E extends Schema.Top & Fieldless<E["Type"]>, const Message extends string>(
  error: E,
  status: number,
  message: Message
) =>
  Schema.Struct(body(message)).pipe(
    Schema.decodeTo(
      Schema.toType(error),
      SchemaTransformation.transform({
        decode: (): E["Type"] => new error({}),
        encode: () => bodyOf(message)
      })
    ),
    HttpApiSchema.status(status)
  )

interface Explained<E> {
  new (props: { readonly error: string }): E
}

/** A failure whose `error` text says more. */
const explained = <
  E extends Schema.Top & Explained<E["Type"]> & { readonly Type: { readonly error: string } },
  const Message extends string
>(
  error: E,
  status: number,
  message: Message
) =>
  Schema.Struct({ ...body(message), error: Schema.String }).pipe(
    Schema.decodeTo(
      Schema.toType(error),
      SchemaTransformation.transform({
        decode: (failed): E["Type"] => new error({ error: failed.error }),
        encode: (failed: E["Type"]) => ({ ...bodyOf(message), error: failed.error })
      })
    ),
    HttpApiSchema.status(status)
  )

/** A failure whose response has header fields. */
const headed = <E extends Schema.Top, const Message extends string, Fields extends Schema.Struct.Fields>(
  error: E,
  status: number,
  message: Message,
  headers: Fields,
  transformation: {
    readonly decode: (headers: Schema.Struct<Fields>["Type"]) => E["Type"]
    readonly encode: (error: E["Type"]) => Schema.Struct<Fields>["Type"]
  }
) =>
  error.pipe(
    HttpApiSchema.encodeToWithHeaders(
      { body: Schema.Struct(body(message)).pipe(HttpApiSchema.status(status)), headers },
      {
        decode: ({ headers }) => transformation.decode(headers),
        encode: (error) => ({ body: bodyOf(message), headers: transformation.encode(error) })
      }
    )
  )

const retryAfter = { "retry-after": Schema.FiniteFromString }

export const BadRequestError = Schema.Struct({ ...body("Bad Request"), error: Schema.optionalKey(Schema.String) }).pipe(
  Schema.decodeTo(
    Schema.toType(Request.BadRequest),
    SchemaTransformation.transform({
      decode: ({ error }) => new Request.BadRequest(error === undefined ? {} : { error }),
      encode: ({ error }) => ({ ...bodyOf("Bad Request"), ...(error === undefined ? {} : { error }) })
    })
  ),
  HttpApiSchema.status(400)
)

/** The attributes of RFC 6750, section 3.1. There is none if the request brings no token. */
const invalidToken = 'Bearer error="invalid_token"' as const

export const UnauthorizedError = headed(
  Caller.Unauthorized,
  401,
  "Unauthorized",
  { "www-authenticate": Schema.Literals(["Bearer", invalidToken]) },
  {
    decode: (headers) =>
      new Caller.Unauthorized(headers["www-authenticate"] === invalidToken ? { reason: "invalid_token" } : {}),
    encode: ({ reason }) => ({ "www-authenticate": reason === undefined ? ("Bearer" as const) : invalidToken })
  }
)

export const TooManyRequestsError = headed(Caller.TooManyRequests, 429, "Too Many Requests", retryAfter, {
  decode: (headers) => new Caller.TooManyRequests({ retryAfter: headers["retry-after"] }),
  encode: ({ retryAfter }) => ({ "retry-after": retryAfter })
})

/** Seconds after which a caller may try again when the database is away or the process drains. */
export const retryAfterUnavailable = 1

export const ServiceUnavailableError = headed(Request.ServiceUnavailable, 503, "Service Unavailable", retryAfter, {
  decode: () => new Request.ServiceUnavailable({}),
  encode: () => ({ "retry-after": retryAfterUnavailable })
})

export const MethodNotAllowedError = headed(
  Request.MethodNotAllowed,
  405,
  "Method Not Allowed",
  { allow: Schema.String },
  {
    decode: ({ allow }) => new Request.MethodNotAllowed({ allow: allow.match(/[A-Z]+/g) ?? [] }),
    encode: ({ allow }) => ({ allow: allow.join(", ") })
  }
)

export const ForbiddenError = failure(Caller.Forbidden, 403, "Forbidden")

export const TooManyApiKeysError = explained(ApiKey.TooManyApiKeys, 409, "Too many API keys")

export const NotFoundError = failure(Request.NotFound, 404, "Not Found")
export const ApiKeyNotFoundError = failure(ApiKey.ApiKeyNotFound, 404, "API key not found")
export const DeliveryNotFoundError = failure(Delivery.DeliveryNotFound, 404, "Delivery not found")
export const NetworkNotFoundError = failure(Network.NetworkNotFound, 404, "Network not found")
export const NotificationNotFoundError = failure(Notification.NotificationNotFound, 404, "Notification not found")
export const RelayerNotFoundError = failure(Relayer.RelayerNotFound, 404, "Relayer not found")
export const SignerNotFoundError = failure(Signer.SignerNotFound, 404, "Signer not found")

export const NetworkIdTakenError = failure(Network.NetworkIdTaken, 409, "Network with this ID already exists")
export const NotificationIdTakenError = failure(
  Notification.NotificationIdTaken,
  409,
  "Notification with this ID already exists"
)
export const RelayerIdTakenError = failure(Relayer.RelayerIdTaken, 409, "Relayer with this ID already exists")
export const SignerIdTakenError = failure(Signer.SignerIdTaken, 409, "Signer with this ID already exists")

export const NetworkInUseError = explained(Network.NetworkInUse, 409, "Network is in use")
export const NotificationInUseError = explained(Notification.NotificationInUse, 409, "Notification is in use")
export const SignerInUseError = explained(Signer.SignerInUse, 409, "Signer is in use")

const stillRunning = "Request with this idempotency key is still running"

/** Seconds after which a caller may repeat a request whose first copy is still running. */
export const retryAfterBusy = 1

export const IdempotencyKeyBusyError = headed(Idempotency.IdempotencyKeyBusy, 409, stillRunning, retryAfter, {
  decode: () => new Idempotency.IdempotencyKeyBusy({}),
  encode: () => ({ "retry-after": retryAfterBusy })
})

export const IdempotencyKeyReusedError = failure(
  Idempotency.IdempotencyKeyReused,
  422,
  "Idempotency key reused with a different request"
)

export const RotationRunningError = failure(MasterKey.RotationRunning, 409, "Rotation of the master key is running")

export const PreconditionFailedError = failure(Version.PreconditionFailed, 412, "Precondition Failed")

export const PayloadTooLargeError = failure(Request.PayloadTooLarge, 413, "Payload Too Large")

/** `Accept` and `Accept-Encoding` say what the endpoint takes instead (RFC 9110, section 15.5.16). */
export const UnsupportedMediaTypeError = headed(
  Request.UnsupportedMediaType,
  415,
  "Unsupported Media Type",
  { accept: Schema.String, "accept-encoding": Schema.Literal("identity") },
  {
    decode: ({ accept }) => new Request.UnsupportedMediaType({ accept: accept.match(/[^\s,]+/g) ?? [] }),
    encode: ({ accept }) => ({ accept: accept.join(", "), "accept-encoding": "identity" as const })
  }
)

export const InternalServerErrorError = failure(Request.InternalServerError, 500, "Internal Server Error")

// These are sent before there is a request that an endpoint could answer.
export const RequestTimeoutError = failure(Request.RequestTimeout, 408, "Request Timeout")
export const ExpectationFailedError = failure(Request.ExpectationFailed, 417, "Expectation Failed")
export const RequestHeaderFieldsTooLargeError = failure(
  Request.RequestHeaderFieldsTooLarge,
  431,
  "Request Header Fields Too Large"
)

/** Failures of any endpoint. */
export const any = [InternalServerErrorError, ServiceUnavailableError] as const

/** A request that waits for something outside of the database is refused if its caller has too many of them. */
export const ofOutboundWork = [TooManyRequestsError] as const
