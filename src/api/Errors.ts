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

/** What `body` describes. */
const told = <const Message extends string>(message: Message) => ({ data: null, message, success: false as const })

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
        encode: () => told(message)
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
        encode: (failed: E["Type"]) => ({ ...told(message), error: failed.error })
      })
    ),
    HttpApiSchema.status(status)
  )

/** Seconds after which a caller may try again when the database is away or the process drains. */
export const retryAfterUnavailable = 1

export const badRequestStatus = 400

export const BadRequestError = Schema.Struct({ ...body("Bad Request"), error: Schema.optionalKey(Schema.String) }).pipe(
  Schema.decodeTo(
    Schema.toType(Request.BadRequest),
    SchemaTransformation.transform({
      decode: ({ error }) => new Request.BadRequest(error === undefined ? {} : { error }),
      encode: ({ error }) => ({ ...told("Bad Request"), ...(error === undefined ? {} : { error }) })
    })
  ),
  HttpApiSchema.status(badRequestStatus)
)

export const UnauthorizedError = Caller.Unauthorized.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(body("Unauthorized")).pipe(HttpApiSchema.status(401)),
      headers: { "www-authenticate": Schema.Literal("Bearer") }
    },
    {
      decode: () => new Caller.Unauthorized({}),
      encode: () => ({
        body: told("Unauthorized"),
        headers: { "www-authenticate": "Bearer" as const }
      })
    }
  )
)

export const TooManyRequestsError = Caller.TooManyRequests.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(body("Too Many Requests")).pipe(HttpApiSchema.status(429)),
      headers: { "retry-after": Schema.FiniteFromString }
    },
    {
      decode: ({ headers }) => new Caller.TooManyRequests({ retryAfter: headers["retry-after"] }),
      encode: ({ retryAfter }) => ({
        body: told("Too Many Requests"),
        headers: { "retry-after": retryAfter }
      })
    }
  )
)

export const ServiceUnavailableError = Request.ServiceUnavailable.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(body("Service Unavailable")).pipe(HttpApiSchema.status(503)),
      headers: { "retry-after": Schema.FiniteFromString }
    },
    {
      decode: () => new Request.ServiceUnavailable({}),
      encode: () => ({
        body: told("Service Unavailable"),
        headers: { "retry-after": retryAfterUnavailable }
      })
    }
  )
)

export const MethodNotAllowedError = Request.MethodNotAllowed.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(body("Method Not Allowed")).pipe(HttpApiSchema.status(405)),
      headers: { allow: Schema.String }
    },
    {
      decode: ({ headers }) => new Request.MethodNotAllowed({ allow: headers.allow.match(/[A-Z]+/g) ?? [] }),
      encode: ({ allow }) => ({
        body: told("Method Not Allowed"),
        headers: { allow: allow.join(", ") }
      })
    }
  )
)

export const ForbiddenError = failure(Caller.Forbidden, 403, "Forbidden")

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

export const IdempotencyKeyBusyError = Idempotency.IdempotencyKeyBusy.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(body(stillRunning)).pipe(HttpApiSchema.status(409)),
      headers: { "retry-after": Schema.FiniteFromString }
    },
    {
      decode: () => new Idempotency.IdempotencyKeyBusy({}),
      encode: () => ({
        body: told(stillRunning),
        headers: { "retry-after": retryAfterBusy }
      })
    }
  )
)

export const IdempotencyKeyReusedError = failure(
  Idempotency.IdempotencyKeyReused,
  422,
  "Idempotency key reused with a different request"
)

export const RotationRunningError = failure(MasterKey.RotationRunning, 409, "Rotation of the master key is running")

export const PreconditionFailedError = failure(Version.PreconditionFailed, 412, "Precondition Failed")

export const PayloadTooLargeError = failure(Request.PayloadTooLarge, 413, "Payload Too Large")
export const UnsupportedMediaTypeError = failure(Request.UnsupportedMediaType, 415, "Unsupported Media Type")

export const InternalServerErrorError = failure(Request.InternalServerError, 500, "Internal Server Error")

/** Of what Node refuses before there is a request, by the code of its error; anything else is as `BadRequestError`. */
export const unreadableStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408
}

/** Of an `Expect` that nobody can meet; it is told as `BadRequestError`, too. */
export const expectationFailedStatus = 417

/** Any request may end so. */
export const any = [InternalServerErrorError, ServiceUnavailableError] as const

/** A request with a body may also end so. */
export const withBody = [PayloadTooLargeError, UnsupportedMediaTypeError, ...any] as const
