// The providers of the chain in memory as JSON-RPC over HTTP, for the real service: the calls that it makes, and the faults of each provider.
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpClientRequest } from "effect/http"
import { percentiles } from "../../networks/evm/rules/Market.ts"
import type { NodeAnswer } from "../../networks/evm/rules/Refusal.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Block, Blocks } from "../chain/Blocks.ts"
import { countOf, findIn } from "./Chain.ts"
import type { Chain, Found, Provider } from "./Chain.ts"
import { usualTip } from "./Views.ts"
import { bytesOf } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

const Call = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
type Call = typeof Call.Type
const Body = Schema.fromJsonString(Schema.Union([Call, Schema.Array(Call)]))

/** Gas of a block. */
const blockGas = 30_000_000

const noHash = `0x${"00".repeat(32)}`

const hex = (value: number | bigint): string => `0x${value.toString(16)}`

interface Replied {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

const result = (value: unknown): Replied => ({ result: value })
const failed = (message: string, code = -32000): Replied => ({ error: { code, message } })

/** Undefined: the answer does not arrive. */
type Answer = Replied | undefined

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
  baseFeePerGas: hex(chain.baseFee),
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

const sent = (bytes: Bytes, answer: NodeAnswer): Answer => {
  if (answer._tag === "NoAnswer") return undefined
  return answer._tag === "Hash" ? result(bytes.hash) : failed("message" in answer ? (answer.message ?? "") : "refused")
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.toLowerCase() : "")

/** Member of a call object of `eth_call` and `eth_estimateGas`. */
const memberOf = (call: unknown, name: string): string | undefined => {
  const value: unknown = typeof call === "object" && call !== null ? Reflect.get(call, name) : undefined
  return typeof value === "string" ? value : undefined
}

type Method = (served: Served, provider: Provider, params: ReadonlyArray<unknown>) => Answer

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
  const to = memberOf(call, "to")
  if (to !== undefined && chain.refusing.has(to.toLowerCase())) return failed("execution reverted", 3)
  return result(hex(chain.gasOf({ value: 0n, data: memberOf(call, "data") ?? memberOf(call, "input") })))
}

const feeHistory: Method = ({ chain }, _, [count]) => {
  const blocks = Number(count)
  return result({
    oldestBlock: hex(Math.max(chain.head().number - blocks + 1, 0)),
    baseFeePerGas: Array(blocks + 1).fill(hex(chain.baseFee)),
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
  eth_gasPrice: ({ chain }) => result(hex(chain.baseFee + usualTip)),
  eth_maxPriorityFeePerGas: () => result(hex(usualTip)),
  eth_sendRawTransaction: raw
}

const answerTo = (served: Served, provider: Provider, { method, params = [] }: Call): Answer => {
  const found = methods[method]
  return found === undefined
    ? failed(`the method ${method} does not exist on the chain of the test kit`, -32601)
    : found(served, provider, params)
}

const lost = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, description: "the provider does not answer" })
    })
  )

/** Answers each URL of the chain's providers. A provider that is away, or whose answer is lost, fails as a broken connection does. */
export const client = (served: Served): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const provider = served.chain.providers.find((one) => one.url === url.href)
      if (provider === undefined || provider.isAway) return yield* lost(request)
      const text = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const body = yield* Effect.orDie(Schema.decodeEffect(Body)(text))
      const calls = Array.isArray(body) ? body : [body]
      const answers = calls.map((call) => ({ id: call.id, answer: answerTo(served, provider, call) }))
      if (answers.some(({ answer }) => answer === undefined)) return yield* lost(request)
      const replies = answers.map(({ id, answer }) => ({ jsonrpc: "2.0", id, ...answer }))
      return HttpClientResponse.fromWeb(request, Response.json(Array.isArray(body) ? replies : replies[0]))
    })
  )
