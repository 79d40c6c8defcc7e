// Finds what used a nonce of an account: by the method that some nodes have, else in the block in which the account's count passed
// the nonce. The index of a node may lag behind its blocks, so that it does not find a transaction proves nothing.
import { Effect, Option, Schema } from "effect"
import type { Finality } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { SecondOpinion, TakerEvidence } from "../../../domain/transaction/evm/View.ts"
import * as EvmBytes from "./EvmBytes.ts"
import { blockAt, countAt, receiptOf, RpcTransaction, transactionBy, transactionOf, wholeBlockAt } from "./EvmCalls.ts"
import type { Block } from "./EvmCalls.ts"
import * as EvmHeads from "./EvmHeads.ts"
import { opinionsOf } from "./EvmOpinion.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Providers } from "../Providers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as SignedTransaction from "./SignedTransaction.ts"

export interface TakerQuery {
  /** Lower-case hex. */
  readonly address: string
  readonly nonce: number
  /** Hashes of the attempts that could have used it. */
  readonly hashes: ReadonlyArray<string>
  readonly finality: Finality
}

const decode = Schema.decodeUnknownOption(RpcTransaction)

const all = { concurrency: "unbounded" } as const

/**
 * The first block in which the account's count is above the nonce, which it is at the head. The search goes down from the head
 * in steps that double, because most nodes only have the states of the newest blocks. Fails if the node has no state that old.
 */
const blockOf = Effect.fnUntraced(function* (node: RpcNode, { address, nonce }: TakerQuery, head: number) {
  const isAbove = (height: number) => Effect.map(node.call(countAt(address, height)), (count) => count > nonce)
  let [low, high] = [head, head]
  for (let step = 1; low > 0; step *= 2) {
    low = Math.max(head - step, 0)
    if (!(yield* isAbove(low))) break
    high = low
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (yield* isAbove(middle)) high = middle
    else low = middle + 1
  }
  return high
})

/** The block with all of its transactions. Undefined: the node does not show it, or one of them, yet. */
const wholeBlock = Effect.fnUntraced(function* (node: RpcNode, height: number) {
  const asked = node.call(wholeBlockAt(height))
  // The node does not know that parameter, or its answer is too large.
  const block = yield* Effect.catchIf(
    asked,
    ({ isRetriable }) => !isRetriable,
    () => node.call(blockAt(height))
  )
  if (block === null) return undefined
  const transactions = yield* Effect.forEach(
    block.transactions ?? [],
    (one) => (typeof one === "string" ? node.call(transactionOf(one)) : Effect.succeed(one)),
    all
  )
  return transactions.includes(null) ? undefined : { block, transactions }
})

/** What used the nonce, as a block shows it. */
type Found =
  | { readonly _tag: "Transaction"; readonly value: unknown }
  /** An authorization of the account (EIP-7702) in a transaction of any account: no transaction of the account itself has the nonce. */
  | { readonly _tag: "Authorization"; readonly block: Block }

const usedIn = Effect.fnUntraced(function* (
  { address, nonce }: TakerQuery,
  { block, transactions }: { readonly block: Block; readonly transactions: ReadonlyArray<unknown> }
): Effect.fn.Return<Found | undefined> {
  for (const value of transactions) {
    const signed = SignedTransaction.parse(value)
    if (signed === undefined) continue
    const isCandidate = Option.getOrUndefined(decode(value))?.nonce === nonce
    if (isCandidate && (yield* EvmBytes.senderOf(signed)) === address) return { _tag: "Transaction", value }
    if ((yield* EvmBytes.authoritiesOf(signed, nonce)).includes(address)) return { _tag: "Authorization", block }
  }
  return undefined
})

/** Blocks below the head that are read to find one with a transaction. */
const newestBlocks = 32

const hashesIn = ({ transactions = [] }: Block): ReadonlyArray<string> =>
  transactions.flatMap((hash) => (typeof hash === "string" ? [hash] : []))

/** The last transaction of the newest block that has any. Undefined: the node does not show a block. */
const newestTransaction = Effect.fnUntraced(function* (node: RpcNode, head: number) {
  const lowest = Math.max(head - newestBlocks + 1, 0)
  const read = (height: number) => node.call(blockAt(height))
  const newest = yield* read(head)
  if (newest === null) return undefined
  const [hash] = hashesIn(newest).slice(-1)
  if (hash !== undefined) return Option.some(hash)
  const older = yield* Effect.forEach(
    Array.from({ length: head - lowest }, (_, index) => head - 1 - index),
    read,
    all
  )
  if (older.includes(null)) return undefined
  const hashes = older.flatMap((block) => (block === null ? [] : hashesIn(block).slice(-1)))
  return Option.fromUndefinedOr(hashes[0])
})

/**
 * Whether the index of a node has the transactions of its newest blocks, and no receipt of any of the hashes. An index is filled
 * block by block, so a receipt of the newest block shows that nothing older is missing. Both are asked in one batch, because
 * each batch may meet another back end.
 */
const lacks = Effect.fn("EvmTaker.lacks")(function* (node: RpcNode, hashes: ReadonlyArray<string>, head: number) {
  const newest = yield* newestTransaction(node, head)
  if (newest === undefined) return false
  const [shown, ...own] = yield* Effect.forEach(
    [...Option.toArray(newest), ...hashes],
    (hash) => node.call(receiptOf(hash)),
    all
  )
  if (Option.isNone(newest)) return [shown, ...own].every((receipt) => (receipt ?? null) === null)
  return shown !== null && own.every((receipt) => receipt === null)
})

const isMined = (value: unknown): boolean => (Option.getOrUndefined(decode(value))?.blockNumber ?? null) !== null

/** A failure that is an answer means that the node cannot do it. */
const answerOf = <A>(self: Effect.Effect<A, RpcFailure>) =>
  Effect.catchIf(
    Effect.asSome(self),
    ({ answered }) => answered,
    () => Effect.succeedNone
  )

/** `behind`: the node does not show the block, or not all of it, yet. `unable`: it can neither find it nor search for it. */
const search = Effect.fnUntraced(function* (node: RpcNode, wanted: TakerQuery, head: number) {
  const direct = yield* node.ask(transactionBy(wanted.address, wanted.nonce))
  if (direct._tag === "Result" && isMined(direct.value)) {
    return { _tag: "Transaction", value: direct.value } satisfies Found
  }
  const height = yield* answerOf(blockOf(node, wanted, head))
  if (Option.isNone(height)) return "unable" as const
  const whole = yield* wholeBlock(node, height.value)
  return whole === undefined ? ("behind" as const) : ((yield* usedIn(wanted, whole)) ?? ("unable" as const))
})

const secondOf = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  { finality }: TakerQuery,
  claim: { readonly height: number; readonly blockHash: string }
) {
  const headOf = (other: RpcNode) => EvmHeads.read(other, finality)
  const second: SecondOpinion | undefined = (yield* opinionsOf(providers, node, headOf, [claim])).get(claim)?.second
  return present("second", second)
})

const fetched = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  wanted: TakerQuery,
  value: unknown
): Effect.fn.Return<TakerEvidence> {
  const found = Option.getOrUndefined(decode(value))
  if (found === undefined || found.blockNumber === null || found.blockHash === null) return { _tag: "NotFound" }
  const signed = SignedTransaction.parse(value)
  const sender = signed && (yield* EvmBytes.senderOf(signed))
  if (sender === undefined) return { _tag: "NotFound" }
  const { hash, nonce, to, value: wei, input, blockNumber, blockHash } = found
  return {
    _tag: "Fetched",
    hash,
    sender,
    nonce,
    call: {
      ...(to === null ? {} : { to }),
      value: wei,
      data: input,
      nonce,
      isNoop: to === sender && wei === 0n && input === "0x"
    },
    block: blockNumber,
    blockHash,
    ...(yield* secondOf(providers, node, wanted, { height: blockNumber, blockHash }))
  }
})

/** `head`: height of the newest block of `node`. */
export const find = Effect.fn("EvmTaker.find")(function* (
  providers: Providers,
  node: RpcNode,
  wanted: TakerQuery,
  head: number
): Effect.fn.Return<TakerEvidence, RpcFailure> {
  const found = yield* search(node, wanted, head)
  if (found === "behind") return { _tag: "Behind" }
  if (found === "unable") {
    const isWhole = Option.getOrElse(yield* answerOf(lacks(node, wanted.hashes, head)), () => false)
    return { _tag: isWhole ? "NotFound" : "Behind" }
  }
  if (found._tag === "Transaction") return yield* fetched(providers, node, wanted, found.value)
  const { number, hash } = found.block
  const second = yield* secondOf(providers, node, wanted, { height: number, blockHash: hash })
  return { _tag: "Authorized", block: number, blockHash: hash, ...second }
})
