// A node of a chain in memory, with the pool rules of geth. A test makes it lag, follow a fork, stay away or lie.
import { Effect, Schema } from "effect"
import type { RpcAnswer, RpcCall } from "../../../../src/server/chains/evm/RpcBatch.ts"
import type { EvmNode } from "../../../../src/server/chains/evm/EvmNode.ts"
import * as RpcFailure from "../../../../src/server/chains/RpcFailure.ts"
import { countOf, gwei, parse } from "./Chain.ts"
import type { Block, Blocks, Bytes, Chain } from "./Chain.ts"
import { hex } from "./Hex.ts"
import type { Hex } from "./Hex.ts"

const result = (value: unknown): RpcAnswer => ({ _tag: "Result", value })
const error = (message: string, code = -32000): RpcAnswer => ({ _tag: "RpcError", code, message })

const minedIn = (blocks: Blocks) =>
  blocks.flatMap((block) => block.transactions.map((transaction) => ({ ...transaction, block })))

const shownBlock = (blocks: Blocks, block: Block | undefined) =>
  block === undefined
    ? null
    : {
        number: hex(block.number),
        hash: block.hash,
        parentHash: blocks.find(({ number }) => number === block.number - 1)?.hash ?? `0x${"00".repeat(32)}`,
        gasLimit: hex(30_000_000),
        transactions: block.transactions.map(({ bytes }) => bytes.hash)
      }

const shownReceipt = (found: ReturnType<typeof minedIn>[number] | undefined) =>
  found === undefined
    ? null
    : {
        blockNumber: hex(found.block.number),
        blockHash: found.block.hash,
        status: found.isSuccess ? "0x1" : "0x0",
        gasUsed: hex(20_000),
        effectiveGasPrice: hex(gwei)
      }

/** geth's rule for two transactions with one nonce. */
const replaces = (bytes: Bytes, former: Bytes): boolean =>
  bytes.maxFee * 10n >= former.maxFee * 11n && bytes.tip * 10n >= former.tip * 11n

const offer = (chain: Chain, bytes: Bytes): RpcAnswer => {
  chain.sent.set(bytes.hash, bytes)
  const former = chain.pool.get(bytes.nonce)
  if (former?.hash === bytes.hash) return error("already known")
  if (bytes.nonce < countOf(chain.blocks)) return error("nonce too low")
  if (former !== undefined && !replaces(bytes, former)) return error("replacement transaction underpriced")
  if (bytes.cost > chain.balance) return error("insufficient funds for gas * price + value")
  chain.pool.set(bytes.nonce, bytes)
  return result(bytes.hash)
}

type Answer = (params: ReadonlyArray<unknown>) => RpcAnswer | undefined

export const make = (chain: Chain, url: string) => {
  const blocks = (): Blocks => {
    const all = fake.fork ?? chain.blocks
    return all.slice(0, all.length - fake.lag)
  }
  const at = (tag: unknown) =>
    typeof tag === "string" && tag.startsWith("0x") ? blocks().slice(0, Number(tag) + 1) : blocks()
  const find = (hash: unknown) => minedIn(blocks()).find(({ bytes }) => bytes.hash === hash)
  const pooled = (hash: unknown) => [...chain.pool.values()].find((bytes) => bytes.hash === hash)

  const shown = (hash: unknown) => {
    const found = find(hash)
    const place = { blockNumber: found ? hex(found.block.number) : null, blockHash: found?.block.hash ?? null }
    const bytes = found?.bytes ?? pooled(hash)
    return bytes === undefined ? null : { ...bytes.fields, ...place }
  }

  const methods: Readonly<Record<string, Answer>> = {
    eth_chainId: () => result(hex(31_337)),
    eth_getBlockByNumber: ([tag]) => {
      const all = blocks()
      return result(shownBlock(all, tag === "latest" ? all.at(-1) : all.find(({ number }) => hex(number) === tag)))
    },
    eth_getTransactionCount: ([, tag]) => result(hex(countOf(at(tag)))),
    eth_getBalance: () => result(hex(chain.balance)),
    eth_getCode: () => result(chain.code),
    eth_getTransactionReceipt: ([hash]) => result(shownReceipt(find(hash))),
    eth_getTransactionByHash: ([hash]) => result(shown(hash)),
    eth_getTransactionBySenderAndNonce: ([, nonce]) =>
      result(shown(minedIn(blocks()).find(({ bytes }) => hex(bytes.nonce) === nonce)?.bytes.hash)),
    eth_feeHistory: () =>
      result({ baseFeePerGas: Array(11).fill(hex(chain.baseFee)), reward: [Array(4).fill(hex(gwei))] }),
    eth_estimateGas: () => result(hex(30_000)),
    eth_sendRawTransaction: ([raw]) => offer(chain, parse(raw as Hex))
  }

  const fake = {
    url,
    /** Blocks of the chain that it does not have yet. */
    lag: 0,
    /** The chain that it has instead of the one that lasts. */
    fork: undefined as Blocks | undefined,
    isAway: false,
    /** Answers of a test, which come before its own. Undefined: its own. */
    lies: new Map<string, Answer>(),
    seen: new Array<RpcCall>(),
    count: (method: string) => fake.seen.filter((call) => call.method === method).length
  }

  const answer = (call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure.RpcFailure> => {
    fake.seen.push(call)
    if (fake.isAway) return Effect.fail(RpcFailure.failure("unreachable"))
    const own = () => methods[call.method]?.(call.params)
    return Effect.succeed(fake.lies.get(call.method)?.(call.params) ?? own() ?? error("no such method", -32601))
  }

  const node: EvmNode = {
    url,
    ask: answer,
    call: (call) =>
      Effect.flatMap(answer(call), (given) =>
        given._tag === "Result"
          ? Effect.mapError(Schema.decodeUnknownEffect(call.result)(given.value), () =>
              RpcFailure.failure("invalid_answer")
            )
          : Effect.fail(RpcFailure.answered("refused"))
      ),
    send: (raw) =>
      answer({ method: "eth_sendRawTransaction", params: [raw] }).pipe(
        Effect.map((given) => (given._tag === "Result" ? ({ _tag: "Hash" } as const) : given)),
        Effect.map((given) => (given._tag === "Missing" ? ({ _tag: "NoAnswer" } as const) : given)),
        Effect.orElseSucceed(() => ({ _tag: "NoAnswer" }) as const)
      )
  }
  return Object.assign(fake, { node })
}
export type Node = ReturnType<typeof make>
