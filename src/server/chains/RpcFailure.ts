// The failure of a call to a provider, as a code without any text of the provider, and whether to try again.
import { Clock, Duration, Effect, Predicate, Result, Schema } from "effect"
import { Headers } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import { CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { refusal } from "../../outbound/Outbound.ts"

const details: Readonly<Record<CheckCode, string>> = {
  unreachable: "no answer",
  rate_limited: "left alone after a rate limit",
  refused: "refused",
  invalid_answer: "the answer does not follow the protocol",
  mismatch: "serves another chain",
  too_low: "balance too low",
  no_account: "no account"
}

export class RpcFailure extends Schema.TaggedError<RpcFailure>()("RpcFailure", {
  code: CheckCode,
  /** Whether the provider itself works, because it answered the call with an error. */
  answered: Schema.Boolean,
  /** The time that the provider asked for with `Retry-After`. */
  retryAfter: Schema.optionalKey(Schema.Duration),
  /** What happened in our words, such as `HTTP 503`. Absent: what the code says. */
  detail: Schema.optionalKey(Schema.String),
  /** The JSON-RPC method of the call. */
  method: Schema.optionalKey(Schema.String),
  /** The provider, masked. */
  host: Schema.optionalKey(Schema.String),
  /** The code of the JSON-RPC error. Absent: the provider did not answer with one. */
  rpcCode: Schema.optionalKey(Schema.Int)
}) {
  /** Whether the same call may succeed later, also at the same provider. */
  get isRetriable() {
    return this.code === "unreachable" || this.code === "rate_limited"
  }

  /** Such as `eth_chainId: HTTP 503`. */
  get text(): string {
    const detail = this.detail ?? details[this.code]
    return this.method === undefined ? detail : `${this.method}: ${detail}`
  }

  of(method: string): RpcFailure {
    return new RpcFailure({ ...this, method })
  }

  /** `url`: not masked. */
  at(url: string): RpcFailure {
    return new RpcFailure({ ...this, host: maskUrl(url) })
  }
}

const make = (code: CheckCode, answered: boolean, detail: string | undefined) =>
  new RpcFailure({ code, answered, ...(detail === undefined ? {} : { detail }) })

export const rpcFailure = (code: CheckCode, detail?: string) => make(code, false, detail)

export const answeredFailure = (code: CheckCode, detail?: string) => make(code, true, detail)

/** The node serves another chain. Both ids are numbers, so that no text of a provider is shown. */
export const otherChainFailure = (found: bigint, expected: bigint) =>
  answeredFailure("mismatch", `serves another chain: it has the chain id ${found}, and the network has ${expected}`)

export const requestFailure = (error: HttpClientError.HttpClientError) =>
  refusal(error) === undefined
    ? rpcFailure("unreachable", "cannot be reached")
    : rpcFailure("refused", "the URL is not allowed")

/** The failure of a body that could not be read. An error with `maxBytes` means that the body was too large. */
export const bodyFailure = ({ reason: { cause } }: HttpClientError.HttpClientError) =>
  rpcFailure(cause instanceof Error && "maxBytes" in cause ? "invalid_answer" : "unreachable")

const codeOfStatus = (status: number): CheckCode => {
  if (status === 429) return "rate_limited"
  if (status === 408 || status === 425) return "unreachable"
  if (status >= 500) return status === 501 || status === 505 ? "refused" : "unreachable"
  return status >= 400 ? "refused" : "invalid_answer"
}

/** The time that the header `Retry-After` of an answer asks for. */
export const retryAfterOf = ({ headers }: Pick<HttpClientResponse.HttpClientResponse, "headers">) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const parsed = Result.getOrUndefined(Headers.parseRetryAfter(headers["retry-after"] ?? ""))
    const wait = parsed === undefined ? Duration.zero : Headers.retryAfterDelay(parsed, now)
    return Duration.isZero(wait) ? undefined : wait
  })

const after = (failed: RpcFailure, retryAfter: Duration.Duration | undefined) =>
  retryAfter === undefined ? failed : new RpcFailure({ ...failed, retryAfter })

/** The failure of an answer whose status is not 200. */
export const statusFailure = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(retryAfterOf(response), (wait) =>
    after(rpcFailure(codeOfStatus(response.status), `HTTP ${response.status}`), wait)
  )

/** The provider puts a call off. `retryAfter`: for how long, if it says so. */
export const limitedFailure = (detail: string | undefined, retryAfter: Duration.Duration | undefined) =>
  after(rpcFailure("rate_limited", detail), retryAfter)

/** The failure whose provider asks for the longest pause, if one of them asks for any. */
export const longestPause = (failures: ReadonlyArray<RpcFailure>): RpcFailure | undefined =>
  failures
    .filter(({ retryAfter }) => retryAfter !== undefined)
    .toSorted((one, other) => Duration.Order(other.retryAfter ?? Duration.zero, one.retryAfter ?? Duration.zero))
    .at(0)

/** Names of members of `data` in which providers give seconds. Infura: `data.rate.backoff_seconds` (MetaMask/eth-json-rpc-infura#33). */
const secondsIn: ReadonlySet<string> = new Set(["backoff_seconds", "retry_after", "retryAfter", "retry_after_seconds"])

/** Milliseconds in what a provider writes after a number. */
const units: ReadonlyArray<readonly [pattern: RegExp, millis: number]> = [
  [/^(ms|millis)/i, 1],
  [/^m/i, 60_000],
  [/^s/i, 1000]
]

const inWords = /(?:retry|try again|wait)[a-z ]{0,20}?\b(\d{1,7}(?:\.\d{1,9})?) ?(ms|millis\w*|m|min\w*|s|sec\w*)\b/i

/** The pause that the error of a rate limit asks for, in its data or in words such as "retry in 10s". */
export const pauseOf = ({ data, message }: { readonly data?: unknown; readonly message: string }) => {
  const members = Predicate.isObject(data) ? data : {}
  const rate = "rate" in members && Predicate.isObject(members.rate) ? members.rate : {}
  const seconds = [...Object.entries(members), ...Object.entries(rate)].flatMap(([name, value]) =>
    secondsIn.has(name) && typeof value === "number" && value > 0 && Number.isFinite(value) ? [value] : []
  )
  if (seconds.length > 0) return Duration.seconds(Math.max(...seconds))
  const [, amount = "", unit = ""] = inWords.exec(message) ?? []
  const millis = Number(amount) * (units.find(([pattern]) => pattern.test(unit))?.[1] ?? 0)
  return millis > 0 ? Duration.millis(millis) : undefined
}

/** Codes that say nothing but that the provider has too much to do. Alchemy: 429. drpc: -32016. Chainstack: -32029. */
const limits: Readonly<Record<number, CheckCode>> = { 429: "rate_limited", [-32_029]: "rate_limited" }

/** What JSON-RPC errors mean that say nothing about the call: by EIP-1474, a limit, and resources that are unavailable now. */
export const rpcCheckCodes: Readonly<Record<number, CheckCode>> = {
  ...limits,
  [-32_016]: "rate_limited",
  [-32_005]: "rate_limited",
  [-32_002]: "unreachable",
  [-32_603]: "unreachable"
}

/** By EIP-1474, a request exceeds a limit: also one that asks for too many logs, which is an answer to the call. */
const limitExceeded = -32_005

/** What providers say if a caller asks too much in too short a time. */
const limitWords = /compute units|rate.?limit|request limit|too many requests|capacity/i

/** What a contract, a pool or a simulation says, which repeats words of others. */
const otherWords = /revert|simulat|execut|program|pool/i

interface Dialect {
  readonly codes: Readonly<Record<number, CheckCode>>
  readonly isAnswer: (message: string) => boolean
}

export const isRateLimitText = ({ isAnswer }: Pick<Dialect, "isAnswer">, message: string): boolean =>
  limitWords.test(message) && !otherWords.test(message) && !isAnswer(message)

/** Whether the error says that the provider is asked too much now, and nothing about the call. */
export const isRateLimit = (
  dialect: Dialect,
  { code, message }: { readonly code: number; readonly message: string }
): boolean => (code !== limitExceeded && dialect.codes[code] === "rate_limited") || isRateLimitText(dialect, message)

/** The failures that are likely to end soonest come first. */
const order: ReadonlyArray<CheckCode> = ["rate_limited", "unreachable", "invalid_answer", "refused", "mismatch"]

/** The failure to report if several providers failed. It does not depend on the order of the calls. */
export const failureToReport = (failures: ReadonlyArray<RpcFailure>) =>
  order.flatMap((code) => failures.find((failure) => failure.code === code) ?? []).at(0) ?? rpcFailure("unreachable")
