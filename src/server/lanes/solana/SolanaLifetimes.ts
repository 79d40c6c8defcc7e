// The life of the blockhash of the next bytes: a new one that two providers agree about, or that of a prebuilt request.
import { Effect, Result } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { boundOf, boundOfOwn } from "../../../domain/transaction/solana/Bound.ts"
import type { OwnAnswer } from "../../../domain/transaction/solana/Bound.ts"
import type { Lifetime } from "../../../domain/transaction/solana/Preparation.ts"
import { agreeing, deadAfter, maxAskedProviders, sharedFor } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { shared } from "./SolanaContext.ts"
import type { SolanaContext, SolanaRelayer } from "./SolanaContext.ts"

const both = { concurrency: 2 } as const

/** The newest blockhash of a node, with the height that its life counts from. */
export const reportedBy = Effect.fnUntraced(function* (node: RpcNode) {
  const { context, value } = yield* node.call(Calls.latestBlockhash)
  const height = yield* node.call(Calls.blockHeight("confirmed", context.slot))
  return { blockhash: value.blockhash, lastValid: value.lastValidBlockHeight, height, slot: context.slot }
})
type Reported = Effect.Success<ReturnType<typeof reportedBy>>

/** What another node says about a blockhash. */
const secondBy = Effect.fnUntraced(function* (
  node: RpcNode,
  { blockhash, slot }: Pick<Reported, "blockhash" | "slot">
) {
  const [validity, height, own] = yield* Effect.all(
    [
      node.call(Calls.isBlockhashValid(blockhash, "confirmed", slot)),
      node.call(Calls.blockHeight("processed")),
      reportedBy(node)
    ],
    { concurrency: "unbounded" }
  )
  return { isValid: validity.value, height, life: own.lastValid - own.height }
})

const newest = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const asked = yield* Effect.result(
    providers.first((node) => Effect.map(reportedBy(node), (reported) => ({ node, reported })))
  )
  if (Result.isFailure(asked)) return "unavailable" as const
  const { node, reported } = asked.success
  const other = yield* providers.second(node, (second) => secondBy(second, reported))
  // A provider that no other one can check: its own newest height counts.
  const seconds =
    other === "not_configured" || other === undefined
      ? yield* Effect.result(secondBy(node, reported))
      : Result.succeed(other)
  if (Result.isFailure(seconds)) return "unavailable" as const
  const bound = boundOf(reported, [seconds.success])
  const { blockhash, slot } = reported
  return bound === undefined ? ("unavailable" as const) : { blockhash, bound, signedSlot: slot }
})

/** For bytes that the service builds. The transactions of a lane share it for two seconds. */
export const fresh = Effect.fnUntraced(function* (
  { memory }: SolanaContext,
  { urlsKey }: SolanaRelayer,
  providers: SolanaProviders,
  now: Moment
) {
  const found: Lifetime = yield* shared(memory.blockhashes, urlsKey, sharedFor.blockhash, now, newest(providers))
  if (found === "unavailable") memory.blockhashes.delete(urlsKey)
  return found
})

/** What a node says about the blockhash that a request brings. */
export const ownAnswerBy = Effect.fnUntraced(function* (node: RpcNode, blockhash: string) {
  const [validity, height, own] = yield* Effect.all(
    [
      node.call(Calls.isBlockhashValid(blockhash, "confirmed")),
      node.call(Calls.blockHeight("processed")),
      reportedBy(node)
    ],
    both
  )
  return {
    isValid: validity.value,
    slot: validity.context.slot,
    height,
    life: own.lastValid - own.height
  } satisfies OwnAnswer
})

/**
 * For the blockhash that a request brings. A node that lags does not know it yet, so it only counts as dead if it stays so for
 * some seconds.
 */
export const ofRequest = Effect.fnUntraced(function* (
  { memory }: SolanaContext,
  providers: SolanaProviders,
  number: number,
  blockhash: string,
  now: Moment
) {
  const opinions = yield* providers.opinions(maxAskedProviders, (node) => ownAnswerBy(node, blockhash))
  const answers = opinions.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : []))
  const need = Math.min(agreeing, providers.configured)
  const lifetime = boundOfOwn(blockhash, answers, need)
  if (lifetime !== "dead") {
    memory.deadSince.delete(number)
    return lifetime
  }
  const since = memory.deadSince.get(number) ?? now
  memory.deadSince.set(number, since)
  return now >= since + deadAfter ? lifetime : ("unavailable" as const)
})
