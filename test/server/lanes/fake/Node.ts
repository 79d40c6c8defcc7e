// A node of a chain in memory, with the pool rules of geth. A test makes it lag, follow a fork, stay away or lie.
import { Effect, Schema } from "effect"
import { Unanswered } from "../../../../src/server/chains/RpcBatch.ts"
import type { RpcAnswer, RpcCall } from "../../../../src/server/chains/RpcBatch.ts"
import { answeredFailure, rpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import { behind, countOf, minedIn } from "../../../../src/testkit/chain/Blocks.ts"
import type { Block, Blocks } from "../../../../src/testkit/chain/Blocks.ts"
import * as Pool from "../../../../src/testkit/chain/Pool.ts"
import { gwei, parse } from "./Chain.ts"
import type { Bytes, Chain } from "./Chain.ts"
import { hex } from "./Hex.ts"
import type { Hex } from "./Hex.ts"

const result = (value: unknown): RpcAnswer => ({ _tag: "Result", value })
const error = (message: string, code = -32000): RpcAnswer => ({ _tag: "RpcError", code, message })

const placeOf = (block: Block<Bytes> | undefined) => ({
  blockNumber: block === undefined ? null : hex(block.number),
  blockHash: block?.hash ?? null
})

/** The transaction of somebody else in a block of a busy chain. No two blocks have the same. */
const otherIn = ({ hash }: Block<Bytes>): Hex => `0x0e${hash.slice(4)}`

/** `isFull`: with the fields of its transactions instead of their hashes. */
const shownBlock = (
  blocks: Blocks<Bytes>,
  block: Block<Bytes> | undefined,
  { gasLimit, isBusy, timeOf }: Chain,
  isFull: boolean
) =>
  block === undefined
    ? null
    : {
        number: hex(block.number),
        hash: block.hash,
        parentHash: blocks.find(({ number }) => number === block.number - 1)?.hash ?? `0x${"00".repeat(32)}`,
        gasLimit: hex(gasLimit),
        ...(timeOf === undefined ? {} : { timestamp: hex(timeOf(block.number)) }),
        transactions: [
          ...block.transactions.map(({ bytes }) => (isFull ? { ...bytes.fields, ...placeOf(block) } : bytes.hash)),
          ...(isBusy ? [isFull ? { hash: otherIn(block) } : otherIn(block)] : [])
        ]
      }

/** Wei per gas that a transaction pays at this base fee. */
const paidPrice = ({ maxFee, tip }: Bytes, baseFee: bigint) => (maxFee < baseFee + tip ? maxFee : baseFee + tip)

const shownReceipt = (found: ReturnType<typeof minedIn<Bytes>>[number] | undefined, baseFee: bigint) =>
  found === undefined
    ? null
    : {
        blockNumber: hex(found.block.number),
        blockHash: found.block.hash,
        status: found.isSuccess ? "0x1" : "0x0",
        // Less than the limit of a transfer: a call that reverts by itself leaves gas.
        gasUsed: hex(found.isSuccess ? 21_000 : 20_000),
        effectiveGasPrice: hex(paidPrice(found.bytes, baseFee))
      }

const offer = (chain: Chain, bytes: Bytes): RpcAnswer => {
  chain.sent.set(bytes.hash, bytes)
  const { pool, blocks, balance } = chain
  const offered = Pool.offer({ pool, count: countOf(blocks), balance }, bytes)
  if (typeof offered === "string") return error(offered)
  chain.pool = offered
  return result(bytes.hash)
}

/** The parameters of Ethereum's methods are a list. */
export const paramsOf = ({ params }: RpcCall): ReadonlyArray<unknown> => (Array.isArray(params) ? params : [])

type Answer = (params: ReadonlyArray<unknown>) => RpcAnswer | undefined

export const make = (chain: Chain, url: string) => {
  const blocks = (): Blocks<Bytes> => behind(fake.fork ?? chain.blocks, fake.lag)
  const at = (tag: unknown) =>
    typeof tag === "string" && tag.startsWith("0x") ? blocks().slice(0, Number(tag) + 1) : blocks()
  /** The blocks whose transactions its index has. */
  const indexed = () => behind(blocks(), fake.indexLag)
  const find = (hash: unknown) => minedIn(indexed()).find(({ bytes }) => bytes.hash === hash)
  const pooled = (hash: unknown) => [...chain.pool.values()].find((bytes) => bytes.hash === hash)

  /** The receipt of a transaction that another program sent. */
  const otherReceipt = (hash: unknown) => {
    const block = chain.isBusy ? indexed().find((one) => otherIn(one) === hash) : undefined
    return block && { ...placeOf(block), status: "0x1", gasUsed: hex(21_000) }
  }

  const shown = (hash: unknown) => {
    const found = find(hash)
    const bytes = found?.bytes ?? pooled(hash)
    return bytes === undefined ? null : { ...bytes.fields, ...placeOf(found?.block) }
  }

  /** Undefined: it is the own account. */
  const otherOf = (address: unknown, tag: unknown) =>
    typeof address === "string" && chain.others.has(address) ? chain.otherAt(address, at(tag)) : undefined

  const pendingCount = () => {
    let next = countOf(blocks())
    while (chain.pool.has(next)) next++
    return next
  }

  const methods: Readonly<Record<string, Answer>> = {
    eth_chainId: () => result(hex(31_337)),
    eth_getBlockByNumber: ([tag, isFull]) => {
      const all = blocks()
      const block = tag === "latest" ? all.at(-1) : all.find(({ number }) => hex(number) === tag)
      const isHidden = fake.hidesBlocks && isFull === true && (block?.number ?? 0) >= indexed().length
      return result(isHidden ? null : shownBlock(all, block, chain, isFull === true))
    },
    eth_getTransactionCount: ([address, tag]) => {
      const other = otherOf(address, tag)
      if (other !== undefined) return result(hex(other.count + (tag === "pending" ? other.pending : 0)))
      return result(hex(tag === "pending" ? pendingCount() : countOf(at(tag))))
    },
    eth_getBalance: () => result(hex(chain.balance)),
    eth_getCode: ([address, tag]) => result(otherOf(address, tag)?.code ?? chain.code),
    eth_getTransactionReceipt: ([hash]) => result(otherReceipt(hash) ?? shownReceipt(find(hash), chain.baseFee)),
    eth_getTransactionByHash: ([hash]) => result(shown(hash)),
    eth_getTransactionBySenderAndNonce: ([, nonce]) =>
      result(shown(minedIn(indexed()).find(({ bytes }) => hex(bytes.nonce) === nonce)?.bytes.hash)),
    eth_feeHistory: () =>
      result({ baseFeePerGas: Array(11).fill(hex(chain.baseFee)), reward: Array(10).fill(Array(8).fill(hex(gwei))) }),
    eth_estimateGas: ([call, , overrides]) => {
      if (overrides !== undefined && !fake.takesOverrides) return error("trailing characters", -32602)
      const { authorizationList: list = [], to = "" } = Object(call)
      if (Object(overrides)[to]?.code === "0xfe") return error("invalid opcode: INVALID")
      return result(hex(30_000 + (fake.ignoresLists ? 0 : 25_000 * list.length)))
    },
    eth_sendRawTransaction: ([raw]) => offer(chain, parse(raw as Hex))
  }

  const fake = {
    url,
    /** Blocks of the chain that it does not have yet. */
    lag: 0,
    /** Newest blocks whose transactions its index does not have yet: the head and the counts are those of the whole chain. */
    indexLag: 0,
    /** Whether it has no block with the transactions of it either, until its index has them. */
    hidesBlocks: false,
    /** The chain that it has instead of the one that lasts. */
    fork: undefined as Blocks<Bytes> | undefined,
    isAway: false,
    /** Whether it estimates calls as if they had no authorizations. */
    ignoresLists: false,
    /** Whether it estimates calls with other code in place of that of accounts. */
    takesOverrides: false,
    /** Answers of a test, which come before its own. Undefined: its own. */
    lies: new Map<string, Answer>(),
    seen: new Array<RpcCall>(),
    /** Height of its newest block. */
    head: () => blocks().length - 1,
    count: (method: string) => fake.seen.filter((call) => call.method === method).length
  }

  const answer = (call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure> => {
    fake.seen.push(call)
    if (fake.isAway) return Effect.fail(rpcFailure("unreachable"))
    const params = paramsOf(call)
    const own = () => methods[call.method]?.(params)
    return Effect.succeed(fake.lies.get(call.method)?.(params) ?? own() ?? error("no such method", -32601))
  }

  const node: RpcNode = {
    url,
    ask: answer,
    call: (call) =>
      Effect.flatMap(answer(call), (given) =>
        given._tag === "Result"
          ? Effect.mapError(Schema.decodeUnknownEffect(call.result)(given.value), () => rpcFailure("invalid_answer"))
          : Effect.fail(answeredFailure("refused"))
      ),
    send: (call) => Effect.mapError(answer(call), (failure) => new Unanswered({ failure })),
    breaker: Effect.succeed("closed"),
    batchSize: Effect.succeed(1)
  }
  return Object.assign(fake, { node })
}
export type Node = ReturnType<typeof make>
