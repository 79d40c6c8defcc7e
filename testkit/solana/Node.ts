// A node of a cluster in memory. A test makes it lag, follow a fork, stay away, lose its history or lie.
import { Predicate, Result } from "effect"
import { createHash } from "node:crypto"
import { rawInteger } from "../../src/domain/request/ExactJson.ts"
import * as Base58 from "../../src/domain/transaction/solana/Base58.ts"
import { feeOf } from "../../src/domain/transaction/solana/Fee.ts"
import { base64Of, bytesOf } from "../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import { isTokenProgram } from "../../src/domain/transaction/solana/Programs.ts"
import { rentMinimum } from "../../src/domain/transaction/solana/SolanaNumbers.ts"
import { decode } from "../../src/domain/transaction/solana/WireDecoding.ts"
import { transactionBytes } from "../../src/domain/transaction/solana/WireEncoding.ts"
import type { Accounts } from "./Accounts.ts"
import * as Bank from "./Bank.ts"
import * as Cluster from "./Cluster.ts"
import type { Block, Blocks } from "./Cluster.ts"
import * as Tokens from "./Tokens.ts"

type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

type Params = ReadonlyArray<unknown>

const result = (value: unknown): Answer => ({ result: value })
const error = (code: number, message: string, data?: unknown): Answer => ({
  error: { code, message, ...(data === undefined ? {} : { data }) }
})

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const optionOf = (params: Params, name: string): unknown => {
  const options = params.find((param) => typeof param === "object" && param !== null && !Array.isArray(param))
  return Predicate.hasProperty(options, name) ? options[name] : undefined
}

const numberOf = (value: unknown, name: string): number | undefined => {
  const found = Predicate.hasProperty(value, name) ? value[name] : undefined
  return typeof found === "number" ? found : undefined
}

/** Lamports that a byte of data adds to the rent minimum. */
const rentPerByte = 6960n

const textsOf = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(textOf) : [])

/** What a node answers to a question for a transaction whose version the question does not allow. */
const versionError = (version: number): Answer =>
  error(
    -32_015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`
  )

/** A signature that stands for the votes in a block. */
const voteOf = ({ blockhash }: Block): string =>
  Base58.encode(createHash("sha512").update(`vote ${blockhash}`).digest())

export const make = (cluster: Cluster.Cluster, url: string) => {
  const blocks = (): Blocks => {
    const all = node.fork ?? cluster.blocks
    return all.slice(0, Math.max(1, all.length - node.lag))
  }

  /** Blocks at a commitment. Confirmed is one block behind processed. */
  const at = (commitment: unknown): Blocks => {
    const all = blocks()
    const depth = commitment === "processed" ? 0 : commitment === "confirmed" ? 1 : Cluster.finality
    return all.slice(0, Math.max(1, all.length - depth))
  }

  const headOf = (all: Blocks): Block =>
    all.at(-1) ?? { slot: 0, height: 0, blockhash: "", transactions: [], accounts: new Map() }

  const context = (all: Blocks) => ({ apiVersion: "2.3.0", slot: headOf(all).slot })

  const withContext = (all: Blocks, value: unknown) => result({ context: context(all), value })

  const levelOf = ({ height }: Block): string => {
    if (height < at("finalized").length) return "finalized"
    return height < at("confirmed").length ? "confirmed" : "processed"
  }

  const statusIn = (all: Blocks) => (signature: string) => {
    const found = cluster.landed(all, signature)
    return found === undefined
      ? null
      : {
          slot: found.block.slot,
          confirmations: null,
          err: found.error,
          confirmationStatus: levelOf(found.block)
        }
  }

  /** The blocks whose transactions its index has. An index that does not lag has those that are not final as well. */
  const indexed = (): Blocks => {
    const finalized = at("finalized")
    return node.indexLag === 0 ? blocks() : finalized.slice(0, Math.max(0, finalized.length - node.indexLag))
  }

  const statuses = (params: Params): Answer => {
    if (!node.hasHistory) return error(-32_011, "Transaction history is not available from this node")
    const all = indexed()
    const statusOf = statusIn(all)
    return withContext(
      blocks(),
      textsOf(params[0]).map((signature) => statusOf(signature) ?? voteIn(all, signature))
    )
  }

  /** The status of a vote that this node has shown in a block. */
  const voteIn = (all: Blocks, signature: string) => {
    const block = all[cluster.votes.get(signature) ?? -1]
    return block === undefined || voteOf(block) !== signature
      ? null
      : { slot: block.slot, confirmations: null, err: null, confirmationStatus: levelOf(block) }
  }

  const heightAt = (slot: number): number => at("finalized").findIndex((block) => block.slot >= slot)

  const slotsFrom = (from: number, limit: number): ReadonlyArray<number> => {
    const height = heightAt(from)
    return height === -1
      ? []
      : at("finalized")
          .slice(height, height + limit)
          .map(({ slot }) => slot)
  }

  const blockIn = ([slot]: Params): Answer => {
    if (!node.hasHistory) return error(-32_011, "Transaction history is not available from this node")
    const block = at("finalized")[heightAt(Number(slot))]
    if (block === undefined || block.slot !== slot) return error(-32_007, `Slot ${slot} was skipped`)
    if (block.slot < node.firstAvailable) return error(-32_001, `Block ${slot} cleaned up, does not exist on node`)
    const own = block.transactions.map(({ signature }) => signature)
    const vote = voteOf(block)
    if (node.hasVotes) cluster.votes.set(vote, block.height)
    return result({
      blockHeight: block.height,
      blockhash: block.blockhash,
      parentSlot: at("finalized")[block.height - 1]?.slot ?? 0,
      signatures: node.hasVotes ? [...own, vote] : own
    })
  }

  /** An account as calls show it, whose data may be a part. */
  const shownOf = (accounts: Accounts, address: string, slice?: unknown) => {
    const account = accounts.get(address)
    if (account === undefined) return null
    const [from, length] = [numberOf(slice, "offset") ?? 0, numberOf(slice, "length")]
    const data = account.data.slice(from, length === undefined ? undefined : from + length)
    return {
      ...Bank.shown({ ...account, data }),
      lamports: rawInteger(account.lamports),
      rentEpoch: 0,
      space: account.data.length
    }
  }

  const accountsAt = (params: Params, addresses: ReadonlyArray<string>) => {
    const all = at(optionOf(params, "commitment"))
    const { accounts } = headOf(all)
    return { all, shown: addresses.map((address) => shownOf(accounts, address, optionOf(params, "dataSlice"))) }
  }

  /** The transactions that name the address, newest first. */
  const namesOf = function* (indexed: Blocks, address: string) {
    for (let height = indexed.length - 1; height >= 0; height--) {
      const { slot, transactions } = indexed[height] ?? headOf([])
      for (const { error, signature, wire } of transactions.toReversed()) {
        if (wire.message.keys.includes(address)) yield { signature, slot, err: error }
      }
    }
  }

  const listOf = (params: Params) => {
    const before = optionOf(params, "before")
    const limit = Number(optionOf(params, "limit") ?? 1000)
    const finalized = at("finalized")
    const all = finalized.slice(0, Math.max(0, finalized.length - node.indexLag))
    const last = before === undefined ? undefined : cluster.landed(all, textOf(before))
    const list: Array<{ readonly signature: string; readonly slot: number; readonly err: unknown }> = []
    let isBelow = last === undefined
    for (const entry of namesOf(last === undefined ? all : all.slice(0, last.block.height + 1), textOf(params[0]))) {
      if (list.length === limit) break
      if (isBelow) list.push(entry)
      isBelow ||= entry.signature === before
    }
    return list
  }

  const sizeError = (raw: string): Answer | undefined => {
    const { length } = bytesOf(raw)
    return length <= node.maxBytes
      ? undefined
      : error(
          -32_602,
          `decoded solana_transaction::versioned::VersionedTransaction too large: ${length} bytes (max: ${node.maxBytes} bytes)`
        )
  }

  const simulate = (params: Params): Answer => {
    const tooLarge = sizeError(textOf(params[0]))
    if (tooLarge !== undefined) return tooLarge
    const decoded = decode(bytesOf(textOf(params[0])))
    if (Result.isFailure(decoded)) return error(-32_602, decoded.failure.message)
    const all = at(optionOf(params, "commitment"))
    const accounts = optionOf(params, "accounts")
    const addresses = Predicate.hasProperty(accounts, "addresses") ? textsOf(accounts.addresses) : []
    const { accounts: after, error: err, units, logs } = cluster.run(headOf(all).accounts, decoded.success)
    return withContext(all, {
      err,
      unitsConsumed: units,
      logs,
      accounts: addresses.map((address) => shownOf(after, address))
    })
  }

  const tokenBalance = (params: Params): Answer => {
    const all = at(optionOf(params, "commitment"))
    const { accounts } = headOf(all)
    const account = accounts.get(textOf(params[0]))
    if (account === undefined || !isTokenProgram(account.owner))
      return error(-32_602, "Invalid param: not a Token account")
    const decimals = Tokens.decimalsOf(accounts.get(Tokens.mintOf(account)))
    return withContext(all, { amount: String(Tokens.amountOf(account)), decimals })
  }

  /** Some nodes simulate what they are sent, although they are asked not to. */
  const preflight = (raw: string): Answer | undefined => {
    const decoded = decode(bytesOf(raw))
    if (!node.preflights || Result.isFailure(decoded)) return undefined
    const { error: err } = cluster.run(headOf(at("processed")).accounts, decoded.success)
    return err === null
      ? undefined
      : error(-32_002, "Transaction simulation failed", { err, logs: [], unitsConsumed: 0 })
  }

  const methods: Readonly<Record<string, (params: Params) => Answer>> = {
    getGenesisHash: () => result(cluster.genesis),
    getHealth: () => result("ok"),
    getVersion: () => result({ "solana-core": "2.3.0", "feature-set": 1 }),
    getEpochInfo: (params) => {
      const { slot, height } = headOf(at(optionOf(params, "commitment")))
      return result({ absoluteSlot: slot, blockHeight: height, epoch: 0, slotIndex: slot, slotsInEpoch: 432_000 })
    },
    getBlockHeight: (params) => result(headOf(at(optionOf(params, "commitment"))).height),
    getSlot: (params) => result(headOf(at(optionOf(params, "commitment"))).slot),
    getLatestBlockhash: (params) => {
      const all = at(optionOf(params, "commitment"))
      const { blockhash, height } = headOf(all)
      return withContext(all, { blockhash, lastValidBlockHeight: height + Cluster.life })
    },
    isBlockhashValid: (params) => {
      const all = at(optionOf(params, "commitment"))
      return withContext(all, cluster.isValid(all, textOf(params[0])))
    },
    getSignatureStatuses: statuses,
    getSignaturesForAddress: (params) => result(listOf(params)),
    getTransaction: (params) => {
      const found = cluster.landed(at("finalized").slice(0, indexed().length), textOf(params[0]))
      if (found === undefined) return result(null)
      const { message, signatures, messageBytes } = found.wire
      const version = found.laterVersion ?? message.version
      const most = optionOf(params, "maxSupportedTransactionVersion")
      if (version !== "legacy" && (typeof most !== "number" || most < version)) return versionError(version)
      const bytes = transactionBytes(signatures, messageBytes)
      const raw = found.laterVersion === undefined ? bytes : bytes.with(0, 0x80 | found.laterVersion)
      const { total } = feeOf(message)
      return result({
        slot: found.block.slot,
        ...(most === undefined ? {} : { version }),
        transaction:
          optionOf(params, "encoding") === "json"
            ? {
                signatures: signatures.map((one) => Base58.encode(one ?? new Uint8Array(64))),
                message: { accountKeys: message.keys }
              }
            : [base64Of(raw), "base64"],
        meta: { err: found.error, fee: rawInteger(total) }
      })
    },
    getBlock: blockIn,
    getBlocks: ([from, to]) =>
      result(slotsFrom(Number(from), 1_000_000).filter((slot) => typeof to !== "number" || slot <= to)),
    getBlocksWithLimit: ([from, limit]) => result(slotsFrom(Number(from), Number(limit))),
    getFirstAvailableBlock: () => result(node.firstAvailable),
    getBalance: (params) => {
      const all = at(optionOf(params, "commitment"))
      return withContext(all, rawInteger(Bank.lamportsOf(headOf(all).accounts, textOf(params[0]))))
    },
    getAccountInfo: (params) => {
      const { all, shown } = accountsAt(params, [textOf(params[0])])
      return withContext(all, shown[0])
    },
    getTokenAccountBalance: tokenBalance,
    getMinimumBalanceForRentExemption: (params) =>
      result(rawInteger(rentMinimum + rentPerByte * BigInt(Number(params[0] ?? 0)))),
    // No node of a real cluster does this. The owner is an address, or its bytes as base64.
    grantTokens: ([mint, owner, units]) => {
      const text = textOf(owner)
      const address = text.endsWith("=") ? Base58.encode(bytesOf(text)) : text
      return result(cluster.grant(textOf(mint), address, BigInt(textOf(units))))
    },
    requestAirdrop: (params) => result(cluster.fund(textOf(params[0]), BigInt(Number(params[1] ?? 0)))),
    getMultipleAccounts: (params) => {
      const { all, shown } = accountsAt(params, textsOf(params[0]))
      return withContext(all, shown)
    },
    getRecentPrioritizationFees: () =>
      result(node.prices.map((prioritizationFee, slot) => ({ slot, prioritizationFee }))),
    simulateTransaction: simulate,
    sendTransaction: (params) => {
      const refusal = sizeError(textOf(params[0])) ?? preflight(textOf(params[0]))
      if (refusal !== undefined) return refusal
      const taken = cluster.take(bytesOf(textOf(params[0])))
      return Result.isSuccess(taken) ? result(taken.success) : error(-32_602, taken.failure)
    }
  }

  const node = {
    url,
    /** Blocks of the cluster that it does not have yet. */
    lag: 0,
    /** The blocks that it has instead of those that last. */
    fork: undefined as Blocks | undefined,
    /** Newest finalized blocks whose transactions its index does not have: no status, no list and no transaction shows them. */
    indexLag: 0,
    /** Whether each block has a vote, as on a cluster of today. */
    hasVotes: true,
    isAway: false,
    /** Whether it calls itself behind, answers with status 429, or never. */
    trouble: undefined as "behind" | "limited" | "silent" | undefined,
    /** Whether it simulates what it is sent, although it is asked not to. */
    preflights: false,
    /** Whether it forwards what it is sent, and does not answer. */
    dropsAnswers: false,
    hasHistory: true,
    /** Bytes of a transaction that it takes: 1232 before Agave 4.2. */
    maxBytes: 4096,
    firstAvailable: 0,
    /** Micro-lamports that recent blocks took. */
    prices: [0] as ReadonlyArray<number>,
    /** Answers of a test, which come before its own. Undefined: its own. */
    lies: new Map<string, (params: Params) => Answer | undefined>(),
    seen: new Array<{ readonly method: string; readonly params: Params }>(),
    count: (method: string) => node.seen.filter((call) => call.method === method).length,
    /** Undefined: it is away. */
    answer: (method: string, params: Params): Answer | undefined => {
      node.seen.push({ method, params })
      if (node.isAway || node.trouble === "limited" || node.trouble === "silent") return undefined
      if (node.trouble === "behind") return error(-32_005, "Node is behind by 42 slots", { numSlotsBehind: 42 })
      const answered = (answer: Answer): Answer | undefined =>
        method === "sendTransaction" && node.dropsAnswers ? undefined : answer
      const lie = node.lies.get(method)?.(params)
      if (lie !== undefined) return answered(lie)
      const minimum = optionOf(params, "minContextSlot")
      const head = headOf(at(optionOf(params, "commitment") ?? "finalized"))
      if (typeof minimum === "number" && head.slot < minimum) {
        return error(-32_016, "Minimum context slot has not been reached")
      }
      return answered(methods[method]?.(params) ?? error(-32_601, "Method not found"))
    }
  }
  return node
}
export type Node = ReturnType<typeof make>

/** What answers at a URL: a node, or several behind it. */
export type Backend = Pick<Node, "answer" | "isAway" | "trouble">

/** One URL with several back ends. Each call meets the next one, or the one that `choose` names by its index. */
export const balanced = (nodes: ReadonlyArray<Node>, choose?: (method: string, call: number) => number) => {
  let calls = 0
  const backend = {
    isAway: false,
    trouble: undefined as Node["trouble"],
    answer: (method: string, params: Params): Answer | undefined => {
      const index = choose?.(method, calls) ?? calls
      calls += 1
      return nodes[index % nodes.length]?.answer(method, params)
    }
  }
  return backend
}
