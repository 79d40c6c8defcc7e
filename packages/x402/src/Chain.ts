// What a facilitator reads from a chain, through the nodes of a relayer: contracts, receipts, and a payment that somebody else has landed.
import { decodeFunctionResult, encodeFunctionData, isHash, keccak256, numberToHex, padHex, stringToHex } from "viem"
import type { Abi } from "viem"
import { chainIdOf } from "./Payment.ts"
import type { OfferedNetwork, Payment } from "./Payment.ts"
import { RelayersError } from "./Relayers.ts"
import type { Hex, Relayer, Relayers } from "./Relayers.ts"
import type { ReadArguments, Receipt, ReceiptLog } from "./X402.ts"

/** Milliseconds for which the list of relayers is remembered. */
const listAge = 30_000

/** Seconds of blocks in which a payment that somebody else has landed is looked for. */
export const lookBack = 3600

const authorizationUsed = keccak256(stringToHex("AuthorizationUsed(address,bytes32)"))
const transfer = keccak256(stringToHex("Transfer(address,address,uint256)"))

const balanceOf = [
  {
    type: "function",
    name: "balanceOf",
    stateMutability: "view",
    inputs: [{ name: "account", type: "address" }],
    outputs: [{ name: "", type: "uint256" }]
  }
] as const

type Fields = Readonly<Record<string, unknown>>

const unreadable = (method: string) => new RelayersError("unanswered", `a node answered ${method} in an unknown form`)

const hexOf = (value: unknown, method: string): Hex => {
  if (typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value)) return value as Hex
  throw unreadable(method)
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null

const logOf = (value: unknown): ReceiptLog => {
  const method = "eth_getTransactionReceipt"
  if (!isFields(value) || !Array.isArray(value.topics)) throw unreadable(method)
  const [first, ...others] = value.topics.map((topic) => hexOf(topic, method))
  return {
    address: hexOf(value.address, method),
    blockHash: hexOf(value.blockHash, method),
    blockNumber: BigInt(hexOf(value.blockNumber, method)),
    data: hexOf(value.data, method),
    logIndex: Number(hexOf(value.logIndex, method)),
    transactionHash: hexOf(value.transactionHash, method),
    transactionIndex: Number(hexOf(value.transactionIndex, method)),
    topics: first === undefined ? [] : [first, ...others],
    removed: value.removed === true
  }
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** Whether the token moved the payment where it used the nonce: its next log there is the transfer. */
const hasMoved = ({ asset, payer, payTo, value, nonce }: Payment, { status, logs }: Receipt): boolean => {
  const ofToken = logs.filter(({ address }) => same(address, asset))
  const used = ofToken.findIndex(
    ({ topics: [event, from, key] }) => event === authorizationUsed && from === padHex(payer) && key === nonce
  )
  if (status !== "success" || used === -1) return false
  const next = ofToken[used + 1]
  return (
    next !== undefined &&
    next.topics[0] === transfer &&
    next.topics[1] === padHex(payer) &&
    next.topics[2] === padHex(payTo) &&
    BigInt(next.data) === value
  )
}

/** What the chain says about the nonce of a payment. `moved`: with this transaction. `other`: it was used, and not for the payment. */
export type Landed = { readonly is: "moved"; readonly hash: Hex } | { readonly is: "unused" | "other" }

export const makeChain = ({ network, blockTime }: OfferedNetwork, relayers: Relayers, now: () => number) => {
  const chainId = chainIdOf(network)
  let listed: { readonly at: number; readonly list: ReadonlyArray<Relayer> } | undefined

  /** The relayers of the chain. A former list stands in for one that cannot be read. */
  const list = async (): Promise<ReadonlyArray<Relayer>> => {
    if (listed !== undefined && now() - listed.at < listAge) return listed.list
    try {
      listed = { at: now(), list: await relayers.relayersOf(chainId) }
    } catch (error) {
      if (listed === undefined) throw error
    }
    return listed.list
  }

  /** Asks the nodes of the first relayer, and those of the next one if they do not answer. */
  const call = async (method: string, ...params: ReadonlyArray<unknown>): Promise<unknown> => {
    let unanswered = new RelayersError("refused", `no relayer serves ${network}`)
    for (const { id } of await list()) {
      try {
        return await relayers.call(id, method, params)
      } catch (error) {
        if (!(error instanceof RelayersError) || error.kind === "refused") throw error
        unanswered = error
      }
    }
    throw unanswered
  }

  const readContract = async ({ address, abi, functionName, args = [] }: ReadArguments): Promise<unknown> => {
    const named = { abi: abi as Abi, functionName, args }
    const data = hexOf(await call("eth_call", { to: address, data: encodeFunctionData(named) }, "latest"), "eth_call")
    return decodeFunctionResult({ ...named, data })
  }

  const receiptOf = async (hash: Hex): Promise<Receipt | undefined> => {
    const method = "eth_getTransactionReceipt"
    const found = await call(method, hash)
    if (found === null || found === undefined) return undefined
    if (!isFields(found) || !Array.isArray(found.logs)) throw unreadable(method)
    return { status: found.status === "0x1" ? "success" : "reverted", logs: found.logs.map(logOf) }
  }

  /** Looks for a transaction of anybody that used the nonce of an authorization of the token. Permit2 logs no nonce. */
  const landed = async (payment: Payment): Promise<Landed> => {
    if (payment.method === "permit2") return { is: "unused" }
    const newest = Number(hexOf(await call("eth_blockNumber"), "eth_blockNumber"))
    const logs = await call("eth_getLogs", {
      address: payment.asset,
      fromBlock: numberToHex(Math.max(0, newest - Math.ceil(lookBack / blockTime))),
      toBlock: "latest",
      topics: [authorizationUsed, padHex(payment.payer), payment.nonce]
    })
    if (!Array.isArray(logs)) throw unreadable("eth_getLogs")
    for (const log of logs) {
      const hash: unknown = isFields(log) ? log.transactionHash : undefined
      if (typeof hash !== "string" || !isHash(hash)) throw unreadable("eth_getLogs")
      const receipt = await receiptOf(hash)
      // The block with it has gone since.
      if (receipt === undefined) throw unreadable("eth_getTransactionReceipt")
      if (hasMoved(payment, receipt)) return { is: "moved", hash }
    }
    return { is: logs.length === 0 ? "unused" : "other" }
  }

  return {
    list,
    readContract,
    receiptOf,
    landed,
    getCode: async (address: Hex) => hexOf(await call("eth_getCode", address, "latest"), "eth_getCode"),
    balanceOf: async ({ asset, payer }: Payment): Promise<bigint> => {
      const balance = await readContract({ address: asset, abi: balanceOf, functionName: "balanceOf", args: [payer] })
      if (typeof balance !== "bigint") throw unreadable("eth_call")
      return balance
    }
  }
}

export type Chain = ReturnType<typeof makeChain>
