// The providers of the cluster in memory as JSON-RPC, for the real service: the calls that it makes, as Agave 4.1 answers them.
import { sha512 } from "@noble/hashes/sha2.js"
import { Result } from "effect"
import { encodeBase58 } from "../../networks/solana/rules/Wire.ts"
import { lamportsPerSignature, rentMinimum } from "../../networks/solana/rules/SolanaNumbers.ts"
import { base64Of, bytesOf } from "../../networks/solana/rules/SolanaExchanges.ts"
import { systemProgram } from "../../networks/solana/rules/Programs.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Block, Blocks } from "../chain/Blocks.ts"
import * as Door from "../chain/Door.ts"
import { failed, memberOf, result } from "../chain/Door.ts"
import type { Reply } from "../chain/Door.ts"
import { errorOf, opened } from "./Bytes.ts"
import type { Bytes } from "./Bytes.ts"
import { findIn, heightAt, life, occupiedIn, slotOf } from "./Chain.ts"
import type { Provider } from "./Chain.ts"
import { unitsOf } from "./Views.ts"
import type { Account } from "./Views.ts"

interface Served extends Omit<Account, "address"> {
  readonly others: Others
}

type Params = ReadonlyArray<unknown>
type Method = (served: Served, provider: Provider, params: Params) => Reply

const invalidParams = -32_602
const skippedSlot = -32_007

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const textsOf = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(textOf) : [])

/** A member of the options, which are the last parameter that is an object. */
const optionOf = (params: Params, name: string): unknown =>
  memberOf(
    params.findLast((param) => typeof param === "object" && param !== null && !Array.isArray(param)),
    name
  )

/** Blocks at a commitment. The newest one is confirmed when a node shows it. */
const blocksAt = ({ chain, finality }: Served, provider: Provider, commitment: unknown): Blocks<Bytes> => {
  const blocks = chain.shownBy(provider)
  const depth = commitment === "processed" || commitment === "confirmed" ? 0 : finality
  return blocks.slice(0, Math.max(blocks.length - depth, 1))
}

const finalOf = (served: Served, provider: Provider): number => headOf(blocksAt(served, provider, "finalized")).number

const withContext = (blocks: Blocks<Bytes>, value: unknown): Reply =>
  result({ context: { apiVersion: "4.1.2", slot: slotOf(headOf(blocks).number) }, value })

/** What is asked at the commitment of the options. */
const at =
  (answer: (served: Served, blocks: Blocks<Bytes>, params: Params) => unknown, isInContext = true): Method =>
  (served, provider, params) => {
    const blocks = blocksAt(served, provider, optionOf(params, "commitment"))
    const minimum = optionOf(params, "minContextSlot")
    const slot = slotOf(headOf(blocks).number)
    if (typeof minimum === "number" && slot < minimum) {
      return failed("Minimum context slot has not been reached", -32_016, { contextSlot: slot })
    }
    const value = answer(served, blocks, params)
    return isInContext ? withContext(blocks, value) : result(value)
  }

const shownAccount = (lamports: bigint) => ({
  lamports: Number(lamports),
  owner: systemProgram,
  executable: false,
  data: ["", "base64"],
  rentEpoch: 0,
  space: 0
})

/** Blocks of transactions of others that a provider has shown, by signature. */
type Others = Map<string, Block<Bytes>>

/** The signature of a transaction of others in a block. */
const otherIn = (others: Others, block: Block<Bytes>, name: string): string => {
  const signature = encodeBase58(sha512(new TextEncoder().encode(name)))
  others.set(signature, block)
  return signature
}

/** It stands for the votes in a block. Each block of a cluster has some. */
const voteOf = (others: Others, block: Block<Bytes>): string => otherIn(others, block, `vote ${block.hash}`)

const statuses: Method = (served, provider, [signatures]) => {
  const blocks = served.chain.shownBy(provider)
  const final = finalOf(served, provider)
  const shown = ({ number }: Block<Bytes>, err: unknown) => ({
    slot: slotOf(number),
    confirmations: null,
    err,
    confirmationStatus: number <= final ? "finalized" : "confirmed"
  })
  const statusOf = (signature: string) => {
    const other = served.others.get(signature)
    if (other !== undefined && blocks[other.number] === other) return shown(other, null)
    const found = findIn(blocks, ({ hash }) => hash === signature)
    return found === undefined ? null : shown(found.block, found.isSuccess ? null : errorOf(found.bytes))
  }
  return withContext(blocks, textsOf(signatures).map(statusOf))
}

/** Newest first. The oldest entry is the transfer that has funded the account, in the first block. */
const listed = at(({ others, timeOf }, blocks, params) => {
  const address = textOf(params[0])
  const [first = headOf(blocks)] = blocks
  const own = occupiedIn(blocks)
    .flatMap(({ number, transactions }) => transactions.map((mined) => ({ ...mined, number })))
    .filter(({ bytes }) => bytes.wire.message.keys.includes(address))
    .map(({ bytes, isSuccess, number }) => ({ signature: bytes.hash, number, err: isSuccess ? null : errorOf(bytes) }))
  const funding = { signature: otherIn(others, first, `funds of ${address}`), number: first.number, err: null }
  const all = [funding, ...own].toReversed()
  const before = optionOf(params, "before")
  const from = all.findIndex(({ signature }) => signature === before) + 1
  return all.slice(from, from + Number(optionOf(params, "limit") ?? 1000)).map(({ err, number, signature }) => ({
    signature,
    slot: slotOf(number),
    err,
    memo: null,
    blockTime: Math.floor(timeOf(number) / 1000),
    confirmationStatus: "finalized"
  }))
}, false)

const transaction = at(({ chain, timeOf }, blocks, params) => {
  const found = findIn(blocks, ({ hash }) => hash === params[0])
  if (found === undefined) return null
  const { block, bytes, isSuccess } = found
  const { message } = bytes.wire
  const isJson = optionOf(params, "encoding") === "json"
  return {
    slot: slotOf(block.number),
    blockTime: Math.floor(timeOf(block.number) / 1000),
    version: message.version,
    transaction: isJson
      ? { signatures: [bytes.hash], message: { accountKeys: message.keys } }
      : [base64Of(bytes.raw), "base64"],
    meta: {
      err: isSuccess ? null : errorOf(bytes),
      fee: Number(bytes.fee),
      loadedAddresses: { writable: [], readonly: [] },
      preBalances: [],
      postBalances: message.keys.map((key) => Number(chain.balanceOf(key)))
    }
  }
}, false)

const blockAt: Method = (served, provider, [slot]) => {
  const blocks = blocksAt(served, provider, "finalized")
  const block = blocks[heightAt(Number(slot))]
  if (block === undefined) return failed(`Block not available for slot ${String(slot)}`, -32_004)
  if (slotOf(block.number) !== slot) return failed(`Slot ${slot} was skipped`, skippedSlot)
  const nameOf = (one: Block<Bytes> | undefined) => (one === undefined ? "" : served.chain.blockhashOf(one))
  return result({
    blockHeight: block.number,
    blockhash: nameOf(block),
    previousBlockhash: nameOf(blocks[block.number - 1] ?? block),
    parentSlot: slotOf(Math.max(block.number - 1, 0)),
    blockTime: Math.floor(served.timeOf(block.number) / 1000),
    signatures: [...block.transactions.map(({ bytes }) => bytes.hash), voteOf(served.others, block)]
  })
}

/** Slots of the finalized blocks between two slots. */
const slotsIn = (blocks: Blocks<Bytes>, from: number, to: number): ReadonlyArray<number> =>
  blocks
    .slice(heightAt(from))
    .map(({ number }) => slotOf(number))
    .filter((slot) => slot <= to)

const simulate: Method = (served, provider, params) => {
  const { chain } = served
  const blocks = blocksAt(served, provider, optionOf(params, "commitment"))
  const read = opened(bytesOf(textOf(params[0])))
  if (Result.isFailure(read)) return failed(read.failure, invalidParams)
  const bytes = read.success
  const isFailed = chain.fails(bytes, chain.refusing)
  const after = (address: string) =>
    chain.balanceOf(address) - (address === bytes.from ? bytes.fee : 0n) - chain.spentBy(address, bytes)
  const addresses = textsOf(memberOf(optionOf(params, "accounts"), "addresses"))
  return withContext(blocks, {
    err: isFailed ? errorOf(bytes) : null,
    unitsConsumed: unitsOf(bytes),
    fee: Number(bytes.fee),
    logs: [],
    accounts: addresses.map((address) => (isFailed ? null : shownAccount(after(address)))),
    returnData: null
  })
}

const send: Method = ({ chain }, provider, [raw]) => {
  const read = opened(bytesOf(textOf(raw)))
  if (Result.isFailure(read)) return failed(read.failure, invalidParams)
  const answer = chain.broadcast(provider, read.success)
  if (answer === undefined) return undefined
  return answer.refusal === undefined ? result(read.success.hash) : failed(answer.refusal, -32_005)
}

const methods: Readonly<Record<string, Method>> = {
  getGenesisHash: ({ chain }) => {
    const [genesis] = chain.blocks()
    return result(genesis === undefined ? "" : chain.blockhashOf(genesis))
  },
  getHealth: () => result("ok"),
  getVersion: () => result({ "solana-core": "4.1.2", "feature-set": 1 }),
  getEpochInfo: at((_, blocks) => {
    const { number } = headOf(blocks)
    return {
      absoluteSlot: slotOf(number),
      blockHeight: number,
      epoch: 0,
      slotIndex: slotOf(number),
      slotsInEpoch: 432_000
    }
  }, false),
  getBlockHeight: at((_, blocks) => headOf(blocks).number, false),
  getSlot: at((_, blocks) => slotOf(headOf(blocks).number), false),
  getLatestBlockhash: at(({ chain }, blocks) => {
    const head = headOf(blocks)
    return { blockhash: chain.blockhashOf(head), lastValidBlockHeight: head.number + life }
  }),
  isBlockhashValid: at(({ chain }, blocks, [blockhash]) => chain.isAlive(blocks, textOf(blockhash))),
  getSignatureStatuses: statuses,
  getSignaturesForAddress: listed,
  getTransaction: transaction,
  getFeeForMessage: at(() => Number(lamportsPerSignature)),
  getBlock: blockAt,
  getBlocks: (served, provider, [from, to]) =>
    result(slotsIn(blocksAt(served, provider, "finalized"), Number(from), typeof to === "number" ? to : Infinity)),
  getBlocksWithLimit: (served, provider, [from, limit]) =>
    result(slotsIn(blocksAt(served, provider, "finalized"), Number(from), Infinity).slice(0, Number(limit))),
  getFirstAvailableBlock: () => result(0),
  getBalance: at(({ chain }, _, [address]) => Number(chain.balanceOf(textOf(address)))),
  getMultipleAccounts: at(({ chain }, _, [addresses]) =>
    textsOf(addresses).map((address) => shownAccount(chain.balanceOf(address)))
  ),
  getMinimumBalanceForRentExemption: () => result(Number(rentMinimum)),
  getRecentPrioritizationFees: ({ chain }, provider) =>
    result([{ slot: slotOf(headOf(chain.shownBy(provider)).number), prioritizationFee: Number(chain.price) }]),
  simulateTransaction: simulate,
  sendTransaction: send
}

/** Answers each URL of the cluster's providers. */
export const client = (account: Omit<Account, "address">) => {
  const served: Served = { ...account, others: new Map() }
  return Door.client({
    providers: served.chain.providers,
    methods: Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (provider: Provider, params: unknown) => method(served, provider, Door.listOf(params))
      ])
    )
  })
}
