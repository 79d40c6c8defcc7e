// Asks one URL several calls in as many HTTP requests as its provider needs. What it refuses, cuts off or answers by half is asked again
// in smaller batches, down to single calls. A URL that is dead gets one more request than a batch: a single call decides which it is.
import { Clock, Effect, Result } from "effect"
import type { CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import type { BatchSize } from "./BatchSize.ts"
import { Unanswered } from "./RpcBatch.ts"
import type { RpcAnswer, RpcCall, RpcEndpoint } from "./RpcBatch.ts"
import * as RpcFailure from "./RpcFailure.ts"

/** HTTP requests to one URL at the same time, for the calls of one moment. */
const maxAtOnce = 4

/** Single calls that the provider drops before the rest of them counts as unanswered. */
const maxDropped = 3

/** Rounds for calls that the provider has put off because of a rate limit. */
const maxRounds = 8

export interface AskedCall extends RpcCall {
  /**
   * `typed`: an error may be one of the codes of the dialect, which say nothing about the call. `raw`: the caller judges errors, except
   * those of a rate limit. `sent`: the call changes something, and each error to it alone is an answer.
   */
  readonly kind: "typed" | "raw" | "sent"
}

export type Outcome = Result.Result<RpcAnswer, Unanswered>

interface ExchangeOptions<A extends AskedCall> {
  readonly dialect: Pick<RpcEndpoint, "codes" | "isAnswer">
  readonly size: BatchSize
  /** One HTTP request. Undefined: it does not answer this call. */
  readonly post: (calls: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<RpcAnswer | undefined>, Unanswered>
  /** Milliseconds before the next try. Undefined: it is not worth waiting for. */
  readonly delay: (failure: RpcFailure.RpcFailure, round: number) => Effect.Effect<number | undefined>
  /** A call was not answered, although the HTTP request was. */
  readonly onUnheard: (call: A, code: CheckCode) => Effect.Effect<void>
}

type RpcError = Extract<RpcAnswer, { readonly _tag: "RpcError" }>

/** What nodes say about a batch in the error of one of its calls: geth, Besu, Erigon, reth, drpc. */
const batchWords = /\bbatch|response too large/i

/** The calls of the service are valid, so that a node which finds one invalid means the batch. */
const invalidRequest = -32_600

/** `answer`: it is one. `failed`: an answer that says nothing about the call. `smaller`: the batch was too large. `later`: a rate limit. */
type Judgement = "answer" | "failed" | "smaller" | "later"

const judgeOne = ({ dialect }: { readonly dialect: ExchangeOptions<AskedCall>["dialect"] }) => {
  return ({ kind }: AskedCall, answer: RpcError, isAlone: boolean): Judgement => {
    const code = dialect.codes[answer.code]
    if (isAlone && kind === "sent") return "answer"
    if (!isAlone && (answer.code === invalidRequest || batchWords.test(answer.message))) return "smaller"
    if (RpcFailure.isRateLimit(dialect, answer)) return "later"
    if (isAlone) return kind === "typed" && code !== undefined ? "failed" : "answer"
    if (code === "rate_limited") return "later"
    return kind === "typed" && code !== undefined ? "smaller" : "answer"
  }
}

/** Why an error is no answer to the call. */
export const failureOf = ({ codes }: Pick<RpcEndpoint, "codes">, { code }: RpcError): RpcFailure.RpcFailure => {
  const known = codes[code]
  const detail = `JSON-RPC error ${code}`
  const failure = known === undefined ? RpcFailure.answered("refused", detail) : RpcFailure.failure(known, detail)
  return new RpcFailure.RpcFailure({ ...failure, rpcCode: code })
}

/** The outbound guard has refused the URL, so that nothing was sent. */
const isForbidden = ({ failure, http }: Unanswered) => failure.code === "refused" && http === undefined

/**
 * One outcome per call, in their order. Fails if no call got an answer, and the provider does not work.
 *
 * Calls that send signed bytes are asked again like all others, although the provider may have taken them from the batch that it refused:
 * the same bytes have the same nonce, sequence or blockhash, so that a chain includes them once, however often and by whomever they are
 * sent. A node that has them already says so, or says that their nonce is used, which is never a reason to fail.
 */
export const make = <A extends AskedCall>(options: ExchangeOptions<A>) => {
  const { delay, dialect, onUnheard, post, size } = options
  const judge = judgeOne(options)
  const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

  return Effect.fnUntraced(function* (calls: ReadonlyArray<A>) {
    const outcomes = new Map<A, Outcome>()
    let later: Array<A> = []
    let isAlive = false
    let isProbed = false
    let dropped = 0
    /** Why nothing more is asked in this round. */
    let limit: Unanswered | undefined
    /** Why nothing more is asked at all. */
    let ended: Unanswered | undefined

    /** Puts calls off. Of several reasons, the one with the longest pause counts. */
    const putOff = (given: ReadonlyArray<A>, error: Unanswered) => {
      const longest = RpcFailure.longestPause([error.failure, ...(limit === undefined ? [] : [limit.failure])])
      if (limit === undefined || longest === error.failure) limit = error
      later.push(...given)
    }

    const fail = (given: ReadonlyArray<A>, error: Unanswered) => {
      for (const call of given) outcomes.set(call, Result.fail(error))
    }

    const failAlone = (call: A, error: Unanswered) => {
      fail([call], error)
      if (error.failure.answered) isAlive = true
      else if (!isAlive || error.isTimeout === true) ended = error
      else if (error.http === undefined && error.failure.code === "unreachable" && ++dropped >= maxDropped)
        ended = error
    }

    const heard = Effect.fnUntraced(function* (given: ReadonlyArray<A>, answers: ReadonlyArray<RpcAnswer | undefined>) {
      const isAlone = given.length === 1
      const again: Array<A> = []
      let pausing = 0
      for (const [index, call] of given.entries()) {
        const answer = answers[index]
        const judgement =
          answer === undefined ? "smaller" : answer._tag === "Result" ? "answer" : judge(call, answer, isAlone)
        if (answer !== undefined && judgement === "answer") {
          outcomes.set(call, Result.succeed(answer))
          isAlive = true
          continue
        }
        const failure = answer?._tag === "RpcError" ? failureOf(dialect, answer) : RpcFailure.failure("invalid_answer")
        yield* onUnheard(call, judgement === "later" ? "rate_limited" : failure.code)
        if (judgement === "failed") failAlone(call, new Unanswered({ failure }))
        else if (judgement === "smaller") again.push(call)
        else {
          const pause = answer?._tag === "RpcError" ? (answer.retryAfter ?? RpcFailure.pauseOf(answer)) : undefined
          putOff([call], new Unanswered({ failure: RpcFailure.limited(failure.detail, pause) }))
          pausing += 1
        }
      }
      const lacking = again.length + pausing
      const at = yield* now
      if (lacking === 0) size.took(given, at)
      else size.refused(given, at, given.length - lacking)
      return again
    })

    /** Asks calls that the provider did not answer together. A single call decides whether it was the batch, or the URL. */
    const askSmaller = Effect.fnUntraced(function* (
      given: ReadonlyArray<A>,
      of: number,
      error: Unanswered
    ): Effect.fn.Return<void> {
      let rest = given
      if (!isAlive) {
        const pause = error.failure.isRetriable ? yield* delay(error.failure, 0) : 0
        if (pause === undefined) {
          ended = error
          return fail(given, error)
        }
        if (pause > 0) yield* Effect.sleep(pause)
        isProbed = true
        const probe = rest.find(({ method }) => size.knows(method)) ?? rest[0]
        rest = rest.filter((call) => call !== probe)
        if (probe !== undefined) yield* settle([probe])
      }
      const most = Math.max(1, Math.min(size.calls(), Math.floor(of / 2)))
      for (const part of size.pack(rest, yield* now, most)) yield* settle(part)
    })

    const settle = Effect.fnUntraced(function* (given: ReadonlyArray<A>): Effect.fn.Return<void> {
      if (ended !== undefined) return fail(given, ended)
      if (limit !== undefined) return void later.push(...given)
      const [first] = given
      const result = yield* Effect.result(post(given))
      if (Result.isSuccess(result)) {
        const again = yield* heard(given, result.success)
        const error = new Unanswered({ failure: RpcFailure.failure("invalid_answer") })
        return again.length === 0 ? undefined : yield* askSmaller(again, given.length, error)
      }
      const error = result.failure
      // A provider that works, and asks for a pause: a smaller batch in that time would be refused, too.
      const isPause = error.failure.code === "rate_limited" || (isAlive && error.failure.retryAfter !== undefined)
      if (isPause) {
        size.refused(given, yield* now)
        return putOff(given, error)
      }
      if (given.length === 1 && first !== undefined) return failAlone(first, error)
      const isLate = error.isTimeout === true
      // After a batch that was not answered in time, single calls are asked next. The time that a second try would take now is better
      // used for the next provider.
      if (!isForbidden(error)) size.refused(given, yield* now, isLate ? 1 : 0)
      if (isForbidden(error) || isLate) ended = error
      return ended === undefined ? yield* askSmaller(given, given.length, error) : fail(given, ended)
    })

    /** A single call that is asked first decides about the URL: it is one that the URL has answered before. */
    const ledByKnown = (given: ReadonlyArray<A>) => {
      const lead = size.calls() === 1 ? given.find(({ method }) => size.knows(method)) : undefined
      return lead === undefined ? given : [lead, ...given.filter((call) => call !== lead)]
    }

    const limitNow = (): Unanswered | undefined => limit

    let todo = calls
    for (let round = 0; todo.length > 0; round++) {
      const known = outcomes.size
      const [first = [], ...others] = size.pack(ledByKnown(todo), yield* now)
      yield* settle(first)
      yield* Effect.forEach(others, settle, { concurrency: maxAtOnce, discard: true })
      const error = limitNow()
      if (error === undefined) break
      const pause = outcomes.size > known && round < maxRounds ? yield* delay(error.failure, round) : undefined
      if (pause === undefined) {
        fail(later, error)
        break
      }
      if (pause > 0) yield* Effect.sleep(pause)
      const left = new Set(later)
      todo = calls.filter((call) => left.has(call))
      later = []
      limit = undefined
    }

    const all = calls.map(
      (call): Outcome =>
        outcomes.get(call) ?? Result.fail(new Unanswered({ failure: RpcFailure.failure("invalid_answer") }))
    )
    const failures = all.flatMap((outcome) => (Result.isFailure(outcome) ? [outcome.failure] : []))
    const [failure] = failures
    return failure === undefined || failures.length < all.length || failures.some((one) => one.failure.answered)
      ? all
      : yield* new Unanswered({ ...failure, isRepeated: isProbed })
  })
}
