// The life of the blockhash of the next bytes: a new one that two providers agree about, or that of a prebuilt request.
import { Effect, Result } from "effect"
import { boundOf, boundOfOwn } from "../../../domain/transaction/solana/Bound.ts"
import type { OwnAnswer } from "../../../domain/transaction/solana/Bound.ts"
import type { Lifetime } from "../../../domain/transaction/solana/Preparation.ts"
import { agreeing, deadAfter, maxAskedProviders, sharedFor } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { shared } from "./SolanaContext.ts"
import type { SolanaContext, SolanaRelayer } from "./SolanaContext.ts"

const both = { concurrency: 2 } as const

/** The newest blockhash of a node, with the height that its life counts from. */
export const reportedBy = Effect.fnUntraced(function* (node: RpcNode) {
  const { context, value } = yield* node.call(Calls.latestBlockhash)
  const height = yield* node.call(Calls.blockHeight(Calls.readCommitment, context.slot))
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
      node.call(Calls.isBlockhashValid(blockhash, Calls.readCommitment, slot)),
      node.call(Calls.blockHeight("processed")),
      reportedBy(node)
    ],
    { concurrency: "unbounded" }
  )
  return { isValid: validity.value, height, life: own.lastValid - own.height }
})

interface Pair {
  readonly reported: Reported
  readonly second: Effect.Success<ReturnType<typeof secondBy>>
}

/**
 * Another node checks a blockhash. If it does not know it, because it is behind, its own newest blockhash is one that the first node
 * can check.
 */
const checkedBy = Effect.fnUntraced(function* (other: RpcNode, node: RpcNode, reported: Reported) {
  const checked = yield* Effect.result(secondBy(other, reported))
  if (Result.isSuccess(checked) && checked.success.isValid) return { reported, second: checked.success } satisfies Pair
  const own = yield* reportedBy(other)
  return { reported: own, second: yield* secondBy(node, own) } satisfies Pair
})

const newest = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const asked = yield* Effect.result(
    providers.first((node) => Effect.map(reportedBy(node), (reported) => ({ node, reported })))
  )
  if (Result.isFailure(asked)) return "unavailable" as const
  const { node, reported } = asked.success
  const others = yield* providers.others(
    node,
    (other) => checkedBy(other, node, reported),
    () => true
  )
  const pair = others.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : [])).at(-1)
  // A node that answers, and confirms nothing, is not away: a provider cannot do without it by naming a slot that nobody has.
  const isAlone = others.every(({ result }) => Result.isFailure(result) && !result.failure.answered)
  if (pair === undefined && !isAlone) return "unavailable" as const
  // A provider that no other one can check: its own newest height counts.
  const alone = Effect.map(secondBy(node, reported), (second): Pair => ({ reported, second }))
  const found = yield* Effect.result(pair === undefined ? alone : Effect.succeed(pair))
  if (Result.isFailure(found)) return "unavailable" as const
  const { reported: counted, second } = found.success
  const bound = boundOf(counted, [second])
  const { blockhash, slot } = counted
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
      node.call(Calls.isBlockhashValid(blockhash, Calls.readCommitment)),
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
