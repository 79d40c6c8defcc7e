// The failure of a call to a provider, as a code without any text of the provider, and whether to try again.
import { Clock, Duration, Effect, Result, Schema } from "effect"
import { Headers } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { NetworkType } from "../../domain/network/Network.ts"
import { CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import { refusal } from "../../outbound/OutboundRefused.ts"

export class RpcFailure extends Schema.TaggedError<RpcFailure>()("RpcFailure", {
  code: CheckCode,
  /** Whether the provider itself works, because it answered the call with an error. */
  answered: Schema.Boolean,
  /** The time that the provider asked for with `Retry-After`. */
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  /** Whether the same call may succeed later, also at the same provider. */
  get isRetriable() {
    return this.code === "unreachable" || this.code === "rate_limited"
  }
}

export const failure = (code: CheckCode) => new RpcFailure({ code, answered: false })

export const answered = (code: CheckCode) => new RpcFailure({ code, answered: true })

export const ofRequest = (error: HttpClientError.HttpClientError) =>
  failure(refusal(error) === undefined ? "unreachable" : "refused")

/** The failure of a body that could not be read. An error with `maxBytes` means that the body was too large. */
export const ofBody = ({ reason: { cause } }: HttpClientError.HttpClientError) =>
  failure(cause instanceof Error && "maxBytes" in cause ? "invalid_answer" : "unreachable")

const codeOfStatus = (status: number): CheckCode => {
  if (status === 429) return "rate_limited"
  if (status === 408 || status === 425) return "unreachable"
  if (status >= 500) return status === 501 || status === 505 ? "refused" : "unreachable"
  return status >= 400 ? "refused" : "invalid_answer"
}

/** The failure of an answer whose status is not 200. */
export const ofStatus = ({ headers, status }: HttpClientResponse.HttpClientResponse) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const code = codeOfStatus(status)
    const parsed = Result.getOrUndefined(Headers.parseRetryAfter(headers["retry-after"] ?? ""))
    const wait = parsed === undefined ? Duration.zero : Headers.retryAfterDelay(parsed, now)
    return Duration.isZero(wait) ? failure(code) : new RpcFailure({ code, answered: false, retryAfter: wait })
  })

/**
 * EIP-1474: -32005 means a limit, -32002 a resource that is unavailable now. On Solana, -32005 means that the node lags behind.
 */
export const ofError = (networkType: NetworkType, code: number) => {
  if (code === -32005) return failure(networkType === "solana" ? "unreachable" : "rate_limited")
  return code === -32002 || code === -32603 ? failure("unreachable") : answered("refused")
}

/** The failures that are likely to end soonest come first. */
const order: ReadonlyArray<CheckCode> = ["rate_limited", "unreachable", "invalid_answer", "refused", "mismatch"]

/** The failure to report if several providers failed. It does not depend on the order of the calls. */
export const firstOver = (failures: ReadonlyArray<RpcFailure>) =>
  order.flatMap((code) => failures.find((failure) => failure.code === code) ?? []).at(0) ?? failure("unreachable")
