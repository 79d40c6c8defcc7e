// A node of a cluster in memory. A test makes it lag, follow a fork, stay away, lose its history or lie.
import { Predicate, Result } from "effect"
import { createHash } from "node:crypto"
import { rawInteger } from "../../src/domain/request/ExactJson.ts"
import type { Message, WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import { isTokenProgram, memoProgram } from "../../src/networks/solana/rules/Programs.ts"
import { base64Of, bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { decodeTransaction, encodeBase58, transactionBytes } from "../../src/networks/solana/rules/Wire.ts"
import type { Accounts } from "./Accounts.ts"
import * as Bank from "./Bank.ts"
import { chargeOf, chargesOf } from "./Charge.ts"
import * as Cluster from "./Cluster.ts"
import type { Block, Blocks } from "./Cluster.ts"
import * as Tokens from "./Tokens.ts"
import * as Verdicts from "./Verdicts.ts"

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

/** Epoch of accounts that pay no rent, which a JSON number does not carry exactly. */
const noEpoch = 2n ** 64n - 1n

/** The answer to a parameter that the node does not take, or to a message that it does not execute. */
const invalid = (message: string): Answer => error(-32_602, message)

const isProcessed = (params: Params): boolean => optionOf(params, "commitment") === "processed"
const belowConfirmed = "Method does not support commitment below `confirmed`"

const textsOf = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(textOf) : [])

/** What a node answers to a question for a transaction whose version the question does not allow. */
const versionError = (version: number): Answer =>
  error(
    -32_015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`
  )

/** The memos of a message, as a list of transactions shows them. Null: it has none. */
const memosOf = ({ instructions, keys }: Message): string | null => {
  const memos = instructions
    .filter(({ program }) => keys[program] === memoProgram)
    .map(({ data }) => `[${data.length}] ${Buffer.from(data).toString()}`)
  return memos.length === 0 ? null : memos.join("; ")
}

/** A signature that stands for the votes in a block. */
const voteOf = ({ blockhash }: Block): string => encodeBase58(createHash("sha512").update(`vote ${blockhash}`).digest())

export const make = (cluster: Cluster.Cluster, url: string) => {
  const blocks = (): Blocks => {
    const all = node.fork ?? cluster.blocks
    return all.slice(0, Math.max(1, all.length - node.lag))
  }

  /** Blocks at a commitment. The newest one is mostly confirmed when a node shows it. */
  const at = (commitment: unknown): Blocks => {
    const all = blocks()
    const depth = commitment === "processed" || commitment === "confirmed" ? 0 : cluster.finality
    return all.slice(0, Math.max(1, all.length - depth))
  }

  const headOf = (all: Blocks): Block =>
    all.at(-1) ?? { slot: 0, height: 0, blockhash: "", transactions: [], accounts: new Map() }

  const context = (all: Blocks) => ({ apiVersion: node.version, slot: headOf(all).slot })

  /** Before Agave 4.0, nodes named no fees and no unknown entries. */
  const isOld = (): boolean => Number(node.version.split(".")[0]) < 4

  /** The first slot whose block the node has. Entries, statuses and transactions of older ones are gone. */
  const keptFrom = (): number =>
    node.keeps === undefined ? 0 : Math.max(0, headOf(at("finalized")).slot - node.keeps + 1)

  const firstAvailable = (): number => Math.max(node.firstAvailable, keptFrom())

  const landed = (all: Blocks, signature: string) => {
    const found = cluster.landed(all, signature)
    return found === undefined || found.block.slot < keptFrom() ? undefined : found
  }

  const statusOf = (err: unknown) => (err === null ? { Ok: null } : { Err: err })

  const withContext = (all: Blocks, value: unknown) => result({ context: context(all), value })

  const levelOf = ({ height }: Block): string => {
    if (height < at("finalized").length) return "finalized"
    return height < at("confirmed").length ? "confirmed" : "processed"
  }

  const statusIn = (all: Blocks) => (signature: string) => {
    const found = landed(all, signature)
    return found === undefined
      ? null
      : {
          slot: found.block.slot,
          confirmations: null,
          err: found.error,
          status: statusOf(found.error),
          confirmationStatus: levelOf(found.block)
        }
  }

  /** The blocks whose transactions its index has. An index that does not lag has those that are not final as well. */
  const indexed = (): Blocks => {
    const finalized = at("finalized")
    return node.indexLag === 0 ? blocks() : finalized.slice(0, Math.max(0, finalized.length - node.indexLag))
  }

  const statuses = (params: Params): Answer => {
    if (textsOf(params[0]).length > 256) return invalid("Too many inputs provided; max 256")
    if (!node.hasHistory) return error(-32_011, "Transaction history is not available from this node")
    const all = indexed()
    const statusOf = statusIn(all)
    return withContext(
      blocks(),
      textsOf(params[0]).map((signature) => statusOf(signature) ?? voteIn(all, signature))
    )
  }

  /** The block of a vote that a node of the cluster has shown. */
  const blockOfVote = (all: Blocks, signature: string): Block | undefined => {
    const block = all[cluster.votes.get(signature) ?? -1]
    return block === undefined || block.slot < keptFrom() || voteOf(block) !== signature ? undefined : block
  }

  const voteIn = (all: Blocks, signature: string) => {
    const block = blockOfVote(all, signature)
    return block === undefined
      ? null
      : { slot: block.slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: levelOf(block) }
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

  /** Signatures alone are shown whatever versions the question allows. */
  const blockIn = (params: Params): Answer => {
    const [slot] = params
    const bad = badVersion(params)
    if (bad !== undefined) return bad
    if (!node.hasHistory) return error(-32_011, "Transaction history is not available from this node")
    if (Number(slot) > headOf(at("finalized")).slot) return error(-32_004, `Block not available for slot ${slot}`)
    const block = at("finalized")[heightAt(Number(slot))]
    if (Number(slot) < firstAvailable()) {
      const first = `First available block: ${firstAvailable()}`
      return error(-32_001, `Block ${slot} cleaned up, does not exist on node. ${first}`)
    }
    if (block === undefined || block.slot !== slot) {
      return error(-32_007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`)
    }
    const before = at("finalized")[block.height - 1]
    const own = block.transactions.map(({ signature }) => signature)
    const vote = voteOf(block)
    if (node.hasVotes) cluster.votes.set(vote, block.height)
    return result({
      blockHeight: block.height,
      blockhash: block.blockhash,
      blockTime: block.time ?? null,
      parentSlot: before?.slot ?? 0,
      previousBlockhash: before?.blockhash ?? block.blockhash,
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
      rentEpoch: rawInteger(noEpoch),
      space: account.data.length
    }
  }

  const accountsAt = (params: Params, addresses: ReadonlyArray<string>) => {
    const all = at(optionOf(params, "commitment"))
    const { accounts } = headOf(all)
    return { all, shown: addresses.map((address) => shownOf(accounts, address, optionOf(params, "dataSlice"))) }
  }

  /** The transactions that name the address, or load it from a table, newest first. */
  const namesOf = function* (indexed: Blocks, address: string) {
    for (let height = indexed.length - 1; height >= 0; height--) {
      const { accounts, slot, time, transactions } = indexed[height] ?? headOf([])
      if (slot < keptFrom()) return
      for (const [index, { error, signature, wire }] of [...transactions.entries()].toReversed()) {
        const { keys, tables } = wire.message
        const isLoaded = () => Bank.loadedIn(accounts, wire.message)?.includes(address) === true
        if (!keys.includes(address) && (tables.length === 0 || !isLoaded())) continue
        const memo = memosOf(wire.message)
        const place = { transactionIndex: index, blockTime: time ?? null, confirmationStatus: "finalized", memo }
        yield { signature, slot, err: error, ...place }
      }
    }
  }

  const listed = (params: Params): Answer => {
    const limit = Number(optionOf(params, "limit") ?? 1000)
    if (limit < 1 || limit > 1000) return invalid("Invalid limit; max 1000")
    if (isProcessed(params)) return invalid(belowConfirmed)
    const before = optionOf(params, "before")
    const finalized = at("finalized")
    const all = finalized.slice(0, Math.max(0, finalized.length - node.indexLag))
    const own = before === undefined ? undefined : landed(all, textOf(before))
    const last = own?.block ?? (before === undefined ? undefined : blockOfVote(all, textOf(before)))
    if (before !== undefined && last === undefined) {
      return isOld() ? result([]) : error(-32_020, `Transaction ${textOf(before)} not found`)
    }
    const names = own?.wire.message.keys.includes(textOf(params[0])) === true
    return result(listOf(params, limit, last === undefined ? all : all.slice(0, last.height + 1), names))
  }

  /** `isWithin`: the entry below which the list begins is one of the list. */
  const listOf = (params: Params, limit: number, all: Blocks, isWithin: boolean) => {
    const before = optionOf(params, "before")
    const list: Array<unknown> = []
    let isBelow = !isWithin
    for (const entry of namesOf(all, textOf(params[0]))) {
      if (list.length === limit) break
      if (isBelow) list.push(entry)
      isBelow ||= entry.signature === before
    }
    return list
  }

  const sanitized = (raw: string, accounts: Accounts) => Verdicts.sanitized(raw, { accounts, maxBytes: node.maxBytes })

  /** Lamports of the accounts of a message. */
  const balances = (accounts: Accounts, addresses: ReadonlyArray<string>) =>
    addresses.map((address) => rawInteger(Bank.lamportsOf(accounts, address)))

  /** Agave 4.1 refuses the signatures of version 1 when it verifies them before a simulation, although leaders take them. */
  const refusesSignatures = (wire: WireTransaction): boolean =>
    !Cluster.isSigned(wire) || (wire.message.version === 1 && node.version.startsWith("4.1."))

  const simulate = (params: Params): Answer => {
    const isVerified = optionOf(params, "sigVerify") === true
    const isRenewed = optionOf(params, "replaceRecentBlockhash") === true
    if (isVerified && isRenewed) return invalid("sigVerify may not be used with replaceRecentBlockhash")
    const all = at(optionOf(params, "commitment"))
    const { accounts: before, blockhash, height } = headOf(all)
    const sound = sanitized(textOf(params[0]), before)
    if (Result.isFailure(sound)) return invalid(sound.failure)
    const { message } = sound.success
    const accounts = optionOf(params, "accounts")
    const addresses = Predicate.hasProperty(accounts, "addresses") ? textsOf(accounts.addresses) : undefined
    const named = [...message.keys, ...(Bank.loadedIn(before, message) ?? [])]
    if (addresses !== undefined && addresses.length > named.length) {
      return invalid(`Too many accounts provided; max ${named.length}`)
    }
    const isRefused = isVerified && refusesSignatures(sound.success)
    const { execution, isAsked } = Verdicts.simulated(cluster, all, sound.success, { isRenewed, isRefused })
    const { accounts: after, error: err, isIncluded, units, logs } = execution
    return withContext(all, {
      err,
      unitsConsumed: units,
      logs,
      accounts: addresses?.map((address) => (err === null ? shownOf(after, address) : null)) ?? null,
      returnData: null,
      innerInstructions: null,
      ...(isOld()
        ? {}
        : {
            fee: isIncluded ? rawInteger(chargeOf(message)) : null,
            loadedAccountsDataSize: isIncluded
              ? named.reduce((sum, one) => sum + (before.get(one)?.data.length ?? 0), 0)
              : 0,
            loadedAddresses: loadedOf(before, message),
            preBalances: isAsked ? balances(before, named) : null,
            postBalances: isAsked ? balances(after, named) : null,
            preTokenBalances: isAsked ? [] : null,
            postTokenBalances: isAsked ? [] : null,
            replacementBlockhash: isRenewed ? { blockhash, lastValidBlockHeight: height + Cluster.life } : null
          })
    })
  }

  const loadedOf = (accounts: Accounts, message: Message) => {
    const loaded = Bank.loadedIn(accounts, message) ?? []
    const writable = message.tables.reduce((sum, table) => sum + table.writable.length, 0)
    return { writable: loaded.slice(0, writable), readonly: loaded.slice(writable) }
  }

  /**
   * The bytes of a message, with places for its signatures. Agave 4.1.2 leaves out what version 1 pays to be executed earlier, and answers
   * for blockhashes that are too old for a transaction.
   */
  const feeFor = (params: Params): Answer => {
    const bytes = bytesOf(textOf(params[0]))
    const [first = 0, second = 0] = bytes
    const signers = first < 128 ? first : second
    const places = new Uint8Array(64 * signers)
    const decoded = decodeTransaction(
      Uint8Array.from(first === Verdicts.version1Byte ? [...bytes, ...places] : [signers, ...places, ...bytes])
    )
    if (Result.isFailure(decoded)) return invalid(decoded.failure.message)
    const { message } = decoded.success
    const all = at(optionOf(params, "commitment"))
    const named = message.version === 1 ? chargesOf(message).signatures : chargeOf(message)
    return withContext(all, cluster.isValid(all, message.blockhash, Verdicts.knownLife) ? rawInteger(named) : null)
  }

  /** Agave: a plain upper bound in eight bits, whatever versions the node knows. */
  const badVersion = (params: Params): Answer | undefined => {
    const asked = optionOf(params, "maxSupportedTransactionVersion")
    return asked === undefined || (Number.isInteger(asked) && Number(asked) >= 0 && Number(asked) <= node.highestAsked)
      ? undefined
      : invalid(`Invalid params: invalid value: integer \`${String(asked)}\`, expected u8.`)
  }

  const transactionAt = (params: Params): Answer => {
    const bad = badVersion(params)
    if (bad !== undefined) return bad
    if (isProcessed(params)) return invalid(belowConfirmed)
    const found = landed(at("finalized").slice(0, indexed().length), textOf(params[0]))
    if (found === undefined) return result(null)
    const { message, messageBytes, signatures } = found.wire
    const version = found.laterVersion ?? message.version
    const supported = optionOf(params, "maxSupportedTransactionVersion")
    if (version !== "legacy" && (typeof supported !== "number" || supported < version)) return versionError(version)
    const named = [...message.keys, ...(Bank.loadedIn(found.block.accounts, message) ?? [])]
    const before = at("finalized")[found.block.height - 1]
    // What could not be loaded pays its fee, and has no logs.
    const isExecuted = typeof found.error !== "string"
    const bytes = transactionBytes(signatures, messageBytes)
    const raw = found.laterVersion === undefined ? bytes : bytes.with(0, 0x80 | found.laterVersion)
    return result({
      slot: found.block.slot,
      blockTime: found.block.time ?? null,
      transactionIndex: found.block.transactions.findIndex(({ signature }) => signature === found.signature),
      ...(supported === undefined ? {} : { version }),
      transaction:
        optionOf(params, "encoding") === "json"
          ? {
              signatures: signatures.map((one) => encodeBase58(one ?? new Uint8Array(64))),
              message: { accountKeys: message.keys }
            }
          : [base64Of(raw), "base64"],
      meta: {
        err: found.error,
        status: statusOf(found.error),
        fee: rawInteger(chargeOf(message)),
        loadedAddresses: loadedOf(found.block.accounts, message),
        preBalances: balances(before?.accounts ?? new Map(), named),
        postBalances: balances(found.block.accounts, named),
        preTokenBalances: [],
        postTokenBalances: [],
        innerInstructions: isExecuted ? [] : null,
        logMessages: isExecuted ? [] : null,
        rewards: [],
        computeUnitsConsumed: 0,
        costUnits: 0
      }
    })
  }

  /** One entry for each of the newest slots that had a transaction, upwards. */
  const recentFees = (params: Params): Answer => {
    if (textsOf(params[0]).length > 128) return invalid("Too many inputs provided; max 128")
    const newest = headOf(at("confirmed")).slot - node.pricesAge
    const { prices } = node
    return result(
      prices.map((prioritizationFee, index) => ({
        slot: Math.max(0, newest - (prices.length - 1 - index)),
        prioritizationFee
      }))
    )
  }

  const tokenBalance = (params: Params): Answer => {
    const all = at(optionOf(params, "commitment"))
    const { accounts } = headOf(all)
    const account = accounts.get(textOf(params[0]))
    if (account === undefined) return invalid("Invalid param: could not find account")
    if (!isTokenProgram(account.owner)) return invalid("Invalid param: not a Token account")
    const decimals = Tokens.decimalsOf(accounts.get(Tokens.mintOf(account)))
    return withContext(all, { amount: String(Tokens.amountOf(account)), decimals })
  }

  /** A node simulates what it is sent unless it is asked not to. Some nodes do it nevertheless. */
  const preflight = (params: Params, all: Blocks, wire: WireTransaction): Answer | undefined => {
    if (!node.preflights && optionOf(params, "skipPreflight") === true) return undefined
    const isRefused = refusesSignatures(wire)
    const { execution } = Verdicts.simulated(cluster, all, wire, { isRenewed: false, isRefused })
    const { error: err, isIncluded, logs, units } = execution
    if (err === null) return undefined
    return error(-32_002, `Transaction simulation failed: ${Verdicts.wordsOf(err)}`, {
      err,
      logs,
      accounts: null,
      unitsConsumed: units,
      returnData: null,
      innerInstructions: null,
      fee: isIncluded ? rawInteger(chargeOf(wire.message)) : null,
      loadedAccountsDataSize: 0,
      loadedAddresses: null,
      preBalances: null,
      postBalances: null,
      preTokenBalances: null,
      postTokenBalances: null,
      replacementBlockhash: null
    })
  }

  const send = (params: Params): Answer => {
    const isUnchecked = optionOf(params, "skipPreflight") === true
    const all = at(isUnchecked ? "processed" : optionOf(params, "preflightCommitment"))
    const sound = sanitized(textOf(params[0]), headOf(all).accounts)
    if (Result.isFailure(sound)) return invalid(sound.failure)
    const refusal = preflight(params, all, sound.success)
    if (refusal !== undefined) return refusal
    const taken = cluster.take(bytesOf(textOf(params[0])))
    return Result.isSuccess(taken) ? result(taken.success) : error(-32_602, taken.failure)
  }

  const methods: Readonly<Record<string, (params: Params) => Answer>> = {
    getGenesisHash: () => result(cluster.genesis),
    getHealth: () => result("ok"),
    getVersion: () => result({ "solana-core": node.version, "feature-set": 1 }),
    getEpochInfo: (params) => {
      const all = at(optionOf(params, "commitment"))
      const { slot, height } = headOf(all)
      const transactionCount = all.reduce((count, { transactions }) => count + transactions.length, 0)
      const slots = { slotIndex: slot, slotsInEpoch: 432_000 }
      return result({ absoluteSlot: slot, blockHeight: height, epoch: 0, ...slots, transactionCount })
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
    getSignaturesForAddress: listed,
    getTransaction: transactionAt,
    getFeeForMessage: feeFor,
    getBlock: blockIn,
    getBlocks: ([from, to]) =>
      result(slotsFrom(Number(from), 1_000_000).filter((slot) => typeof to !== "number" || slot <= to)),
    getBlocksWithLimit: ([from, limit]) => result(slotsFrom(Number(from), Number(limit))),
    getFirstAvailableBlock: () => result(firstAvailable()),
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
      result(rawInteger((128n + BigInt(Number(params[0] ?? 0))) * node.rentPerByte)),
    // No node of a real cluster does this. The owner is an address, or its bytes as base64.
    grantTokens: ([mint, owner, units]) => {
      const text = textOf(owner)
      const address = text.endsWith("=") ? encodeBase58(bytesOf(text)) : text
      return result(cluster.grant(textOf(mint), address, BigInt(textOf(units))))
    },
    requestAirdrop: (params) => result(cluster.airdrop(textOf(params[0]), BigInt(Number(params[1] ?? 0)))),
    getMultipleAccounts: (params) => {
      if (textsOf(params[0]).length > 100) return invalid("Too many inputs provided; max 100")
      const { all, shown } = accountsAt(params, textsOf(params[0]))
      return withContext(all, shown)
    },
    getRecentPrioritizationFees: recentFees,
    simulateTransaction: simulate,
    sendTransaction: send
  }

  const node = {
    url,
    /** Nodes before 4.0 do not name fees, and give an empty page below an entry that they do not know. */
    version: "4.1.2",
    /** Slots of its newest finalized blocks that it keeps, with their entries. Absent: all. */
    keeps: undefined as number | undefined,
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
    /** The highest number that it takes as `maxSupportedTransactionVersion`. */
    highestAsked: 255,
    /** Bytes of a transaction of version 1 that it takes: 1232 before Agave 4.2. Of the others, it never takes more than 1232. */
    maxBytes: 4096,
    firstAvailable: 0,
    /** Lamports of rent for each byte of an account, which has 128 bytes more than its data. */
    rentPerByte: 6960n,
    /** Micro-lamports that recent blocks took. */
    prices: [0] as ReadonlyArray<number>,
    /** Slots since the newest of those blocks. */
    pricesAge: 0,
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
        return error(-32_016, "Minimum context slot has not been reached", { contextSlot: head.slot })
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
