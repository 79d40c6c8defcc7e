// Finds the transaction that used a nonce of an account: by the method that some nodes have, else by the block in which the
// account's count passed the nonce. If a node can do neither, two providers must have none of the attempts.
import { Effect, Option, Schema } from "effect"
import type { Finality } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { SilentBatch, TakerEvidence } from "../../../domain/transaction/evm/View.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import * as EvmBytes from "./EvmBytes.ts"
import { blockAt, countAt, receiptOf, RpcTransaction, transactionBy, transactionOf } from "./EvmCalls.ts"
import * as EvmHeads from "./EvmHeads.ts"
import type { RpcNode } from "../RpcNode.ts"
import { opinionsOf } from "./EvmOpinion.ts"
import type { Providers } from "../Providers.ts"
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

/** The first block in which the account's count is above the nonce. Fails if the node has no state that old. */
const blockOf = Effect.fnUntraced(function* (node: RpcNode, { address, nonce }: TakerQuery, head: number) {
  let [low, high] = [0, head]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const count = yield* node.call(countAt(address, middle))
    if (count > nonce) high = middle
    else low = middle + 1
  }
  return low
})

const isBy = Effect.fnUntraced(function* (value: unknown, { address, nonce }: TakerQuery) {
  const found = Option.getOrUndefined(decode(value))
  const signed = SignedTransaction.parse(value)
  if (found?.nonce !== nonce || signed === undefined) return false
  return (yield* EvmBytes.senderOf(signed)) === address
})

/** The transactions of the block in which the account's count passed the nonce. */
const transactionsThere = Effect.fnUntraced(function* (node: RpcNode, wanted: TakerQuery, head: number) {
  const block = yield* node.call(blockAt(yield* blockOf(node, wanted, head)))
  const hashes = (block?.transactions ?? []).filter((hash) => typeof hash === "string")
  const transactions = yield* Effect.forEach(hashes, (hash) => node.call(transactionOf(hash)), all)
  return { block, transactions }
})

/**
 * The block in which an authorization of the account (EIP-7702) used the nonce, in a transaction of anybody: no transaction of
 * the account has it. Undefined: there is none.
 */
export const authorizedIn = Effect.fn("EvmTaker.authorizedIn")(function* (
  node: RpcNode,
  wanted: TakerQuery,
  head: number
) {
  const { block, transactions } = yield* transactionsThere(node, wanted, head)
  for (const transaction of transactions) {
    const signed = SignedTransaction.parse(transaction)
    const authorities = signed === undefined ? [] : yield* EvmBytes.authoritiesOf(signed, wanted.nonce)
    if (authorities.includes(wanted.address)) return block?.number
  }
  return undefined
})

const bisect = Effect.fnUntraced(function* (node: RpcNode, wanted: TakerQuery, head: number) {
  const { transactions } = yield* transactionsThere(node, wanted, head)
  for (const transaction of transactions) {
    const found = Option.getOrUndefined(decode(transaction))
    if (found?.nonce === wanted.nonce && (yield* isBy(transaction, wanted))) return transaction
  }
  return undefined
})

/** Undefined: the node can neither find it nor search for it. */
const search = Effect.fnUntraced(function* (node: RpcNode, wanted: TakerQuery, head: number) {
  const direct = yield* node.ask(transactionBy(wanted.address, wanted.nonce))
  if (direct._tag === "Result" && direct.value !== null) return direct.value
  return yield* Effect.orElseSucceed(bisect(node, wanted, head), () => undefined)
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
  const headOf = (other: RpcNode) => EvmHeads.read(other, wanted.finality)
  const claim = { height: blockNumber, blockHash }
  const second = (yield* opinionsOf(providers, node, headOf, [claim])).get(claim)?.second
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
    ...(second === undefined ? {} : { second })
  }
})

const silence = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, hashes, finality }: TakerQuery
): Effect.fn.Return<SilentBatch, RpcFailure> {
  const { finalHeight } = yield* EvmHeads.read(node, finality)
  const { count, receipts, transactions } = yield* Effect.all(
    {
      block: node.call(blockAt(Math.max(finalHeight, 0))),
      count: node.call(countAt(address, Math.max(finalHeight, 0))),
      receipts: Effect.forEach(hashes, (hash) => node.call(receiptOf(hash)), all),
      transactions: Effect.forEach(hashes, (hash) => node.call(transactionOf(hash)), all)
    },
    all
  )
  return {
    count,
    absent: new Set(hashes.filter((_, index) => receipts[index] === null && transactions[index] === null))
  }
})

/** `head`: height of the newest block of `node`. */
export const find = Effect.fn("EvmTaker.find")(function* (
  providers: Providers,
  node: RpcNode,
  wanted: TakerQuery,
  head: number
): Effect.fn.Return<TakerEvidence, RpcFailure> {
  const value = yield* search(node, wanted, head)
  if (value !== undefined) return yield* fetched(providers, node, wanted, value)
  const first = yield* Effect.orElseSucceed(silence(node, wanted), () => undefined)
  if (first === undefined) return { _tag: "NotFound" }
  const second = yield* providers.second(node, (other) => silence(other, wanted))
  return second === undefined || second === "not_configured"
    ? { _tag: "Silent", first }
    : { _tag: "Silent", first, second }
})
