// The error table maps errors to responses and back.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ClaimFinal, ClaimHeld, ClaimLapsed, ClaimNotFound } from "../../src/domain/claim/Claim.ts"
import { RotationRunning } from "../../src/domain/masterKey/MasterKey.ts"
import {
  NotificationIdTaken,
  NotificationInUse,
  NotificationNotFound
} from "../../src/domain/notification/Notification.ts"
import { TransactionConflict } from "../../src/networks/core/Rules.ts"
import { RelayerPaused, TransactionLimitExceeded } from "../../src/networks/core/TransactionLimits.ts"
import { TransactionNotFound } from "../../src/networks/core/TransactionValues.ts"
import * as Errors from "../../src/api/Errors.ts"
import { ApiKeyIdTaken, ApiKeyNotFound, TooManyApiKeys } from "../../src/domain/access/ApiKey.ts"
import { Forbidden, TooManyRequests, Unauthorized } from "../../src/domain/access/Caller.ts"
import { AuditCheckpointNotFound } from "../../src/domain/audit/Audit.ts"
import { ApplyRunning, ConfigurationNotFound, PlanOutdated, PlanRefused } from "../../src/domain/configuration/Plan.ts"
import { NetworkIdTaken, NetworkInUse, NetworkNotFound } from "../../src/domain/network/Network.ts"
import { DeliveryNotFound } from "../../src/domain/notification/Delivery.ts"
import {
  RehearsalTooLarge,
  RelayerIdTaken,
  RelayerInUse,
  RelayerIsChannel,
  RelayerNotFound
} from "../../src/domain/relayer/Relayer.ts"
import * as Request from "../../src/domain/request/Request.ts"
import { IdempotencyKeyBusy, IdempotencyKeyReused, PreconditionFailed } from "../../src/domain/request/Request.ts"
import { SignerIdTaken, SignerInUse, SignerKeyTaken, SignerNotFound } from "../../src/domain/signer/Signer.ts"
import * as Failures from "../../src/server/responses/Failures.ts"

const table: ReadonlyArray<readonly [schema: Schema.Codec<unknown>, error: unknown]> = [
  [Errors.BadRequestError, new Request.BadRequest({ error: "name: is required" })],
  [Errors.BadRequestError, new Request.BadRequest({})],
  [Errors.UnauthorizedError, new Unauthorized({})],
  [Errors.UnauthorizedError, new Unauthorized({ reason: "invalid_token" })],
  [Errors.ForbiddenError, new Forbidden({})],
  [Errors.TooManyRequestsError, new TooManyRequests({ retryAfter: 7 })],
  [Errors.PlanRefusedError, new PlanRefused({ error: "version: expected 1" })],
  [Errors.PlanOutdatedError, new PlanOutdated({ error: "relayers.a: has changed since the plan" })],
  [Errors.ApplyRunningError, new ApplyRunning({ error: "another apply of payments is running" })],
  [Errors.ConfigurationNotFoundError, new ConfigurationNotFound({})],
  [Errors.TooManyApiKeysError, new TooManyApiKeys({ error: "revoke one first" })],
  [Errors.NotFoundError, new Request.NotFound({})],
  [Errors.DeliveryNotFoundError, new DeliveryNotFound({})],
  [Errors.NetworkNotFoundError, new NetworkNotFound({})],
  [Errors.NotificationNotFoundError, new NotificationNotFound({})],
  [Errors.RelayerNotFoundError, new RelayerNotFound({})],
  [Errors.SignerNotFoundError, new SignerNotFound({})],
  [Errors.MethodNotAllowedError, new Request.MethodNotAllowed({ allow: ["GET", "POST"] })],
  [Errors.TransactionNotFoundError, new TransactionNotFound({})],
  [Errors.RelayerPausedError, new RelayerPaused({})],
  [Errors.TransactionLimitExceededError, new TransactionLimitExceeded({ error: "value: must be at most 1" })],
  [Errors.TransactionConflictError, new TransactionConflict({ error: "is confirmed" })],
  [
    Errors.NotImplementedError,
    new Request.NotImplemented({ error: "relayers of solana do not send transactions yet" })
  ],
  [Errors.ApiKeyIdTakenError, new ApiKeyIdTaken({})],
  [Errors.NotificationIdTakenError, new NotificationIdTaken({})],
  [Errors.RelayerIdTakenError, new RelayerIdTaken({})],
  [Errors.RelayerIsChannelError, new RelayerIsChannel({})],
  [Errors.SignerIdTakenError, new SignerIdTaken({})],
  [Errors.SignerKeyTakenError, new SignerKeyTaken({})],
  [Errors.NetworkIdTakenError, new NetworkIdTaken({})],
  [Errors.NotificationInUseError, new NotificationInUse({ error: "used by relayers: a" })],
  [Errors.RelayerInUseError, new RelayerInUse({ error: "has open transactions: 2" })],
  [Errors.RehearsalTooLargeError, new RehearsalTooLarge({ error: "the last 30 days have too many" })],
  [Errors.SignerInUseError, new SignerInUse({ error: "used by relayers: a" })],
  [Errors.NetworkInUseError, new NetworkInUse({ error: "used by relayers: a" })],
  [Errors.ApiKeyNotFoundError, new ApiKeyNotFound({})],
  [Errors.AuditCheckpointNotFoundError, new AuditCheckpointNotFound({})],
  [Errors.IdempotencyKeyBusyError, new IdempotencyKeyBusy({})],
  [Errors.IdempotencyKeyReusedError, new IdempotencyKeyReused({})],
  [Errors.RotationRunningError, new RotationRunning({})],
  [Errors.ClaimNotFoundError, new ClaimNotFound({})],
  [Errors.ClaimHeldError, new ClaimHeld({ error: "another holder has the name" })],
  [Errors.ClaimFinalError, new ClaimFinal({ error: "the claim is final" })],
  [Errors.ClaimLapsedError, new ClaimLapsed({})],
  [Errors.PreconditionFailedError, new PreconditionFailed({})],
  [Errors.PayloadTooLargeError, new Request.PayloadTooLarge({})],
  [
    Errors.UnsupportedMediaTypeError,
    new Request.UnsupportedMediaType({ accept: ["application/json"], error: "content-type: Expected application/json" })
  ],
  [Errors.RequestTimeoutError, new Request.RequestTimeout({})],
  [Errors.ExpectationFailedError, new Request.ExpectationFailed({})],
  [Errors.RequestHeaderFieldsTooLargeError, new Request.RequestHeaderFieldsTooLarge({})],
  [Errors.InternalServerErrorError, new Request.InternalServerError({})],
  [Errors.BadGatewayError, new Request.BadGateway({ error: "https://rpc.example.com/***: eth_chainId: HTTP 503" })],
  [Errors.ServiceUnavailableError, new Request.ServiceUnavailable({})]
] as ReadonlyArray<readonly [Schema.Codec<unknown>, unknown]>

describe("the error table", () => {
  it("has a row here for each of its entries", () => {
    const entries = Object.entries(Errors).filter(([name]) => name.endsWith("Error"))
    const tested = new Set<unknown>(table.map(([schema]) => schema))
    assert.deepStrictEqual(
      entries.filter(([, schema]) => !tested.has(schema)).map(([name]) => name),
      []
    )
  })

  it("no two errors of one status have the same message, because clients distinguish errors by their messages", () => {
    const seen = table.map(([schema, error]) => JSON.stringify(Schema.encodeSync(schema)(error)))
    assert.strictEqual(new Set(seen).size, seen.length)
  })

  for (const [schema, error] of table) {
    const name = (error as { _tag: string })._tag
    it(`${name} decodes to the class that was encoded`, () => {
      const wire = Schema.encodeSync(schema)(error)
      assert.deepStrictEqual(Schema.decodeSync(schema)(JSON.parse(JSON.stringify(wire))), error)
    })
  }

  it("the refusal of a paused relayer says in `error` what to do, as a batch with the relayer does", () => {
    assert.deepStrictEqual(Schema.encodeSync(Errors.RelayerPausedError)(new RelayerPaused({})), {
      data: null,
      error: "the relayer is paused; resume it first",
      message: "Relayer paused",
      success: false
    })
  })

  it("responses outside of the endpoints have the statuses of the table", () => {
    assert.deepStrictEqual(
      [
        Failures.badRequest(new Request.BadRequest({})),
        Failures.unauthorized(new Unauthorized({})),
        Failures.forbidden(new Forbidden({})),
        Failures.notFound(new Request.NotFound({})),
        Failures.methodNotAllowed(new Request.MethodNotAllowed({ allow: ["GET"] })),
        Failures.payloadTooLarge(new Request.PayloadTooLarge({})),
        Failures.requestTimeout(new Request.RequestTimeout({})),
        Failures.expectationFailed(new Request.ExpectationFailed({})),
        Failures.requestHeaderFieldsTooLarge(new Request.RequestHeaderFieldsTooLarge({})),
        Failures.internalServerError(new Request.InternalServerError({})),
        Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
      ].map(({ status }) => status),
      [400, 401, 403, 404, 405, 413, 408, 417, 431, 500, 503]
    )
  })
})
