// The providers of the chain in memory as JSON-RPC over HTTP, for the real service: the calls that it makes, and the faults of each provider.
import { percentiles } from "../../networks/evm/rules/Market.ts"
import type { NodeAnswer } from "../../networks/evm/rules/Refusal.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Block, Blocks } from "../chain/Blocks.ts"
import * as Door from "../chain/Door.ts"
import { failed, memberOf, result } from "../chain/Door.ts"
import type { Reply } from "../chain/Door.ts"
import { bytesOf } from "../Keys.ts"
import { countOf, findIn, usualTip } from "./Chain.ts"
import type { Chain, Found, Provider } from "./Chain.ts"
import type { Bytes } from "./Wire.ts"

/** Gas of a block. */
const blockGas = 30_000_000

const noHash = `0x${"00".repeat(32)}`

const hex = (value: number | bigint): string => `0x${value.toString(16)}`

export interface Served {
  readonly chain: Chain
  readonly chainId: number
  readonly finality: number
  /** Seconds since 1970 at which the block was made. */
  timeOf(height: number): number
}

const feesOf = ({ fees }: Bytes) =>
  fees.type === "legacy"
    ? { type: "0x0", gasPrice: hex(fees.gasPrice) }
    : { type: "0x2", maxFeePerGas: hex(fees.maxFee), maxPriorityFeePerGas: hex(fees.tip), accessList: [] }

const signatureOf = ({ fees, chainId, parity, r, s }: Bytes) =>
  fees.type === "legacy" ? { r, s, v: hex(35 + 2 * chainId + parity) } : { r, s, v: hex(parity), yParity: hex(parity) }

const shownTransaction = (bytes: Bytes, block: Block<Bytes> | undefined) => ({
  hash: bytes.hash,
  from: bytes.from,
  to: bytes.to ?? null,
  nonce: hex(bytes.nonce),
  value: hex(bytes.value),
  input: bytes.data,
  gas: hex(bytes.gasLimit),
  chainId: hex(bytes.chainId),
  ...feesOf(bytes),
  ...signatureOf(bytes),
  blockNumber: block === undefined ? null : hex(block.number),
  blockHash: block?.hash ?? null
})

const shownBlock = ({ timeOf, chain }: Served, blocks: Blocks<Bytes>, block: Block<Bytes>, isFull: boolean) => ({
  number: hex(block.number),
  hash: block.hash,
  parentHash: blocks[block.number - 1]?.hash ?? noHash,
  gasLimit: hex(blockGas),
  gasUsed: "0x0",
  baseFeePerGas: hex(chain.price),
  timestamp: hex(timeOf(block.number)),
  transactions: block.transactions.map(({ bytes }) => (isFull ? shownTransaction(bytes, block) : bytes.hash))
})

const shownReceipt = ({ chain }: Served, found: Found) => ({
  transactionHash: found.bytes.hash,
  from: found.bytes.from,
  to: found.bytes.to ?? null,
  blockNumber: hex(found.block.number),
  blockHash: found.block.hash,
  status: found.isSuccess ? "0x1" : "0x0",
  gasUsed: hex(chain.gasUsed(found)),
  effectiveGasPrice: hex(chain.pricePaid(found.bytes, found.block)),
  logs: []
})

const sent = (bytes: Bytes, answer: NodeAnswer): Reply => {
  if (answer._tag === "NoAnswer") return undefined
  return answer._tag === "Hash" ? result(bytes.hash) : failed("message" in answer ? (answer.message ?? "") : "refused")
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.toLowerCase() : "")

type Method = (served: Served, provider: Provider, params: ReadonlyArray<unknown>) => Reply

const heightOf = ({ finality }: Served, blocks: Blocks<Bytes>, tag: unknown): number => {
  const head = headOf(blocks).number
  if (tag === "finalized" || tag === "safe") return Math.max(head - finality, 0)
  return textOf(tag).startsWith("0x") ? Number(tag) : head
}

const blockAt: Method = (served, provider, [tag, isFull]) => {
  const blocks = served.chain.shownBy(provider)
  const block = blocks[heightOf(served, blocks, tag)]
  return result(block === undefined ? null : shownBlock(served, blocks, block, isFull === true))
}

const blockOf: Method = (served, provider, [hash, isFull]) => {
  const blocks = served.chain.shownBy(provider)
  const block = blocks.find((one) => one.hash === textOf(hash))
  return result(block === undefined ? null : shownBlock(served, blocks, block, isFull === true))
}

const receipt: Method = (served, provider, [hash]) => {
  const found = findIn(served.chain.shownBy(provider), (bytes) => bytes.hash === textOf(hash))
  return result(found === undefined ? null : shownReceipt(served, found))
}

const transaction: Method = ({ chain }, provider, [hash]) => {
  const found = findIn(chain.shownBy(provider), (bytes) => bytes.hash === textOf(hash))
  if (found !== undefined) return result(shownTransaction(found.bytes, found.block))
  const bytes = chain.left.get(textOf(hash))
  const isPooled = bytes !== undefined && chain.poolOf(bytes.from).get(bytes.nonce)?.hash === bytes.hash
  return result(isPooled ? shownTransaction(bytes, undefined) : null)
}

const byNonce: Method = ({ chain }, provider, [address, nonce]) => {
  const isWanted = (bytes: Bytes) => bytes.from === textOf(address) && hex(bytes.nonce) === textOf(nonce)
  const found = findIn(chain.shownBy(provider), isWanted)
  return result(found === undefined ? null : shownTransaction(found.bytes, found.block))
}

const estimate: Method = ({ chain }, _, [call]) => {
  if (chain.refusing.has(textOf(memberOf(call, "to")))) return failed("execution reverted", 3)
  const data = textOf(memberOf(call, "data") ?? memberOf(call, "input"))
  return result(hex(chain.gasOf({ value: 0n, data: data === "" ? "0x" : data })))
}

const feeHistory: Method = ({ chain }, _, [count]) => {
  const blocks = Number(count)
  return result({
    oldestBlock: hex(Math.max(chain.head().number - blocks + 1, 0)),
    baseFeePerGas: Array(blocks + 1).fill(hex(chain.price)),
    gasUsedRatio: Array(blocks).fill(0.5),
    reward: Array(blocks).fill(percentiles.map(() => hex(usualTip)))
  })
}

const raw: Method = ({ chain }, provider, [bytes]) => {
  const { answer, bytes: opened } = chain.sendRaw(provider, bytesOf(textOf(bytes)))
  return sent(opened, answer)
}

const methods: Readonly<Record<string, Method>> = {
  eth_chainId: ({ chainId }) => result(hex(chainId)),
  net_version: ({ chainId }) => result(String(chainId)),
  eth_blockNumber: ({ chain }, provider) => result(hex(headOf(chain.shownBy(provider)).number)),
  eth_getBlockByNumber: blockAt,
  eth_getBlockByHash: blockOf,
  eth_getTransactionCount: (served, provider, [address, tag]) => {
    const blocks = served.chain.shownBy(provider)
    return result(hex(countOf(blocks, textOf(address), heightOf(served, blocks, tag))))
  },
  eth_getBalance: ({ chain }, _, [address]) => result(hex(chain.balanceOf(textOf(address)))),
  eth_getCode: () => result("0x"),
  eth_call: () => result("0x"),
  eth_getTransactionReceipt: receipt,
  eth_getTransactionByHash: transaction,
  eth_getTransactionBySenderAndNonce: byNonce,
  eth_estimateGas: estimate,
  eth_feeHistory: feeHistory,
  eth_gasPrice: ({ chain }) => result(hex(chain.price + usualTip)),
  eth_maxPriorityFeePerGas: () => result(hex(usualTip)),
  eth_sendRawTransaction: raw
}

/** Answers each URL of the chain's providers. */
export const client = (served: Served) =>
  Door.client({
    providers: served.chain.providers,
    methods: Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (provider: Provider, params: unknown) => method(served, provider, Door.listOf(params))
      ])
    )
  })
