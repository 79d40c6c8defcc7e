// Reads of nodes that the ledger completes: transactions and receipts under any hash of an attempt, and the next nonce.
import { Effect, Predicate } from "effect"
import { countAt } from "../../../chains/evm/EvmCalls.ts"
import { Ledger } from "../../../ledger/Ledger.ts"
import { isFinal, isNoop } from "../../../../domain/transaction/Transaction.ts"
import type { RpcAnswer, RpcCall } from "../../../chains/RpcBatch.ts"
import type { RpcFailure } from "../../../chains/RpcFailure.ts"
import type { RpcNode } from "../../../chains/RpcNode.ts"
import type { StoredTransaction } from "../../../ledger/LedgerEntries.ts"
import type { EvmSender } from "../EvmSenders.ts"
import * as PendingTransaction from "./PendingTransaction.ts"

/** The parameters of Ethereum's methods are a list. */
interface ListedCall extends RpcCall {
  readonly params: ReadonlyArray<unknown>
}

type Read = (node: RpcNode, sender: EvmSender, call: ListedCall) => Effect.Effect<RpcAnswer, RpcFailure>

const hash = /^0x[0-9a-f]{64}$/

const result = (value: unknown): RpcAnswer => ({ _tag: "Result", value })

const isFound = (answer: RpcAnswer): boolean => answer._tag === "Result" && answer.value !== null

const isMined = (answer: RpcAnswer): boolean =>
  answer._tag === "Result" && Predicate.hasProperty(answer.value, "blockHash") && answer.value.blockHash !== null

/** The asked hash, then the others that execute the same transaction, newest first. A no-op stands for itself. */
const hashesOf = ({ transaction: { attempts } }: StoredTransaction, asked: string): ReadonlyArray<string> => {
  const isOfNoop = attempts.some((attempt) => attempt.hash === asked && isNoop(attempt))
  const others = attempts.filter((attempt) => attempt.hash !== asked && !isNoop(attempt)).toReversed()
  return isOfNoop ? [asked] : [asked, ...others.map((attempt) => attempt.hash)]
}

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger

  const storedAs = Effect.fnUntraced(function* ({ account }: EvmSender, hash: string) {
    const filter = { relayerNumbers: [account.relayerNumber], hash }
    return (yield* ledger.select({ filter, limit: 1 })).transactions[0]
  })

  /** What the node answers about each hash, the asked one first. */
  const askAll = (node: RpcNode, method: string, hashes: ReadonlyArray<string>) =>
    Effect.forEach(hashes, (hash) => node.ask({ method, params: [hash] }), { concurrency: "unbounded" })

  /** `read` gets the transaction of the ledger that has an attempt with the hash. */
  const byHash =
    (
      read: (
        node: RpcNode,
        call: ListedCall,
        stored: StoredTransaction,
        asked: string
      ) => Effect.Effect<RpcAnswer, RpcFailure>
    ): Read =>
    (node, sender, call) =>
      Effect.gen(function* () {
        const [given] = call.params
        const asked = Predicate.isString(given) ? given.toLowerCase() : ""
        const stored = hash.test(asked) ? yield* storedAs(sender, asked) : undefined
        return stored === undefined ? yield* node.ask(call) : yield* read(node, call, stored, asked)
      })

  const receipt = byHash(
    Effect.fnUntraced(function* (node, { method }, stored, asked) {
      const answers = yield* askAll(node, method, hashesOf(stored, asked))
      return answers.find(isFound) ?? answers[0] ?? result(null)
    })
  )

  /** As the signed bytes say. Nodes know nothing of bytes that are not sent yet, and forget those that were replaced. */
  const pending = Effect.fnUntraced(function* ({ id, from, transaction }: StoredTransaction, asked: string) {
    const attempt = transaction.attempts.find((attempt) => attempt.hash === asked)
    if (attempt === undefined || isFinal(transaction)) return null
    const [bytes] = yield* ledger.bytes([{ id, ordinal: attempt.ordinal }])
    return bytes === undefined ? null : yield* PendingTransaction.of(asked, from, bytes.raw)
  })

  const transaction = byHash(
    Effect.fnUntraced(function* (node, { method }, stored, asked) {
      const answers = yield* askAll(node, method, hashesOf(stored, asked))
      const found = answers.find(isMined) ?? answers.slice(0, 1).find(isFound)
      return found ?? result(yield* pending(stored, asked))
    })
  )

  /** Others may have sent with the same key, so the next nonce is at least the count of the chain. */
  const count: Read = Effect.fnUntraced(function* (node, { account }, call) {
    const [address, block] = call.params
    const isOwn = Predicate.isString(address) && address.toLowerCase() === account.address
    if (!isOwn || block !== "pending") return yield* node.ask(call)
    const onChain = yield* node.call(countAt(account.address, "latest"))
    const lane = yield* ledger.laneOf(account)
    const next = lane._tag === "Some" ? Number(lane.value.lane.accounts[0].nextSequence) : 0
    return result(`0x${Math.max(next, onChain).toString(16)}`)
  })

  return new Map<string, Read>([
    ["eth_getTransactionReceipt", receipt],
    ["eth_getTransactionByHash", transaction],
    ["eth_getTransactionCount", count]
  ])
})
