// What providers show as evidence: the opinions of others about blocks and receipts, and the transaction that used a nonce.
import { Clock, DateTime, Effect, Option, Result, Schema } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { HeadWatch } from "../../../domain/chain/Rpc.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { present } from "../../core/Presentation.ts"
import type { Opinion } from "../../core/Rows.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { isAgreed, verdictOn } from "../rules/Evm.ts"
import type { EvmReceipt, SecondOpinion, TakerEvidence } from "../rules/Evm.ts"
import type { Finality } from "../rules/EvmNumbers.ts"
import * as EvmBytes from "./EvmBytes.ts"
import { parseSignedTransaction } from "./EvmBytes.ts"
import {
  blockAt,
  countAt,
  receiptIn,
  receiptOf,
  RpcTransaction,
  transactionBy,
  transactionOf,
  wholeBlockAt
} from "./EvmCalls.ts"
import type { Block } from "./EvmCalls.ts"
import { readHead } from "./EvmNodes.ts"
import type { ChainHead } from "./EvmNodes.ts"

/** What the first provider says, about which the others are asked. */
export interface BlockClaim {
  readonly height: number
  readonly blockHash: string
  /** The receipt of this transaction. Absent: only the block is asked about. */
  readonly mined?: { readonly hash: string; readonly receipt: EvmReceipt }
}

/** What the others say about one claim: the best opinion, and what each of those without an opinion lacks. */
export interface ClaimOpinions {
  readonly second?: SecondOpinion
  readonly others: ReadonlyArray<Opinion>
  /** Two others contradict the first provider with the same answer, and none agrees with it. */
  readonly isOutvoted: boolean
}

type HeadOf = (node: RpcNode) => Effect.Effect<ChainHead, RpcFailure>

/** Remembers which providers have no opinion, and since when. */
export interface Silences {
  /** The head of the first provider. */
  readonly at: ChainHead
  readonly stalled: (url: string) => HeadWatch | undefined
  /** Since when a provider has had no opinion about a claim. Those that have one are removed. */
  readonly since: Map<string, Moment>
}

const agrees = ({ height, blockHash, mined }: BlockClaim, opinion: SecondOpinion | undefined): boolean =>
  mined === undefined ? isAgreed(opinion, height, blockHash) : verdictOn(mined.receipt, opinion) === "agrees"

const disagrees = ({ mined }: BlockClaim, opinion: SecondOpinion | undefined): boolean =>
  mined !== undefined && verdictOn(mined.receipt, opinion) === "disagrees"

/** Of opinions that contradict. The same text means the same answer. */
const answerOf = (opinion: SecondOpinion): string => {
  if (opinion === "not_configured") return opinion
  const { hash, receipt } = opinion
  return JSON.stringify([hash, receipt?.blockHash, receipt?.isSuccess])
}

/** Whether the block of that hash names the transaction. Undefined: the provider does not say. */
const isListed = Effect.fnUntraced(function* (node: RpcNode, { height, blockHash }: BlockClaim, hash: string) {
  const block = yield* Effect.orElseSucceed(node.call(blockAt(height)), () => null)
  return block?.hash === blockHash ? block.transactions?.some((one) => one === hash) : undefined
})

/** What a provider says about the receipt of a claim. `failure`: it was asked, and did not answer. */
interface ReceiptOpinion extends Pick<Exclude<SecondOpinion, "not_configured">, "receipt" | "isListed"> {
  readonly failure?: RpcFailure
}

/**
 * Without receipt: the provider does not say. Null: it has none. If its block does not name the transaction either, that is an
 * opinion: a receipt that was invented for a true block is never final.
 */
const receiptAt = Effect.fnUntraced(function* (node: RpcNode, claim: BlockClaim): Effect.fn.Return<ReceiptOpinion> {
  const { mined } = claim
  if (mined === undefined) return {}
  const asked = Effect.map(node.call(receiptOf(mined.hash)), receiptIn)
  const found = yield* Effect.result(asked)
  if (Result.isFailure(found)) return { failure: found.failure }
  const { blockHash, isSuccess = false } = found.success ?? {}
  if (blockHash !== undefined) return { receipt: { blockHash, isSuccess } }
  const listed = yield* isListed(node, claim, mined.hash)
  return { receipt: null, ...(listed === undefined ? {} : { isListed: listed }) }
})

/** By claim. Absent: the provider does not have that height. */
const askOpinions = Effect.fnUntraced(function* (node: RpcNode, headOf: HeadOf, open: ReadonlyArray<BlockClaim>) {
  const { head, finalHeight, hashesAt } = yield* headOf(node)
  const hashes = yield* hashesAt(open.map(({ height }) => height))
  const receipts = yield* Effect.forEach(open, (claim) => receiptAt(node, claim), { concurrency: "unbounded" })
  const opinions = new Map<BlockClaim, Exclude<SecondOpinion, "not_configured">>()
  const failures = new Map<BlockClaim, RpcFailure>()
  for (const [index, claim] of open.entries()) {
    const { failure, ...said } = receipts[index] ?? {}
    const hash = hashes.get(claim.height)
    if (hash !== undefined) opinions.set(claim, { hash, finalHeight, host: maskUrl(node.url), ...said })
    if (failure !== undefined) failures.set(claim, failure)
  }
  return { head, finalHeight, opinions, failures }
})
type ProviderOpinions = Effect.Success<ReturnType<typeof askOpinions>>

const stalledText = ({ height, since }: HeadWatch): string =>
  `its newest block is ${height ?? "unknown"} since ${DateTime.formatIso(DateTime.makeUnsafe(since))}`

/** What the newest block of a stalled provider says: on a chain without it, nothing is decided by one provider. */
const isOnOtherChain = ({ at }: Silences, { height, hash }: HeadWatch) =>
  height === undefined || hash === undefined || height > at.head.number
    ? Effect.succeed(false)
    : Effect.map(
        Effect.orElseSucceed(at.hashesAt([height]), () => new Map<number, string>()),
        (hashes) => hashes.has(height) && hashes.get(height) !== hash
      )

/** What a provider that neither agrees nor contradicts lacks. */
const lackOf = Effect.fnUntraced(function* (
  claim: BlockClaim,
  url: string,
  result: Result.Result<ProviderOpinions, RpcFailure>,
  silences: Silences,
  now: Moment
) {
  const host = maskUrl(url)
  const watch = silences.stalled(url)
  if (watch !== undefined && (yield* isOnOtherChain(silences, watch))) return { _tag: "Contradicts", host } as const
  const key = `${url} ${claim.height} ${claim.mined?.hash ?? claim.blockHash}`
  const silent = (error: string, since: Moment) => {
    silences.since.set(key, since)
    return { _tag: "Silent", host, since, error } as const
  }
  const known = silences.since.get(key) ?? now
  if (watch !== undefined) return silent(stalledText(watch), Math.min(watch.since, known))
  if (Result.isFailure(result)) return silent(result.failure.text, known)
  const { failures, finalHeight, opinions } = result.success
  const failure = failures.get(claim)
  if (failure !== undefined && finalHeight >= claim.height) return silent(failure.text, known)
  if (finalHeight >= claim.height) {
    return silent(opinions.has(claim) ? "it has no receipt of it" : "it does not show the block", known)
  }
  silences.since.delete(key)
  return { _tag: "Behind", host } as const
})

/**
 * Asks the providers other than `first` in turn, until one agrees with each claim. An opinion that contradicts stays if no later
 * one agrees. Without `silences`, nothing is said of those that have no opinion.
 */
export const opinionsOf = Effect.fnUntraced(function* (
  providers: Providers,
  first: RpcNode,
  headOf: HeadOf,
  claims: ReadonlyArray<BlockClaim>,
  silences?: Silences
) {
  const found = new Map<BlockClaim, SecondOpinion>()
  const heard = new Map<BlockClaim, ClaimOpinions>()
  /** The answers that contradict each claim. */
  const against = new Map(claims.map((claim) => [claim, new Array<string>()]))
  if (claims.length === 0) {
    silences?.since.clear()
    return heard
  }
  const isOpen = (claim: BlockClaim) => !agrees(claim, found.get(claim))
  const asked = yield* providers.others(
    first,
    Effect.fnUntraced(function* (node) {
      const answer = yield* askOpinions(node, headOf, claims.filter(isOpen))
      for (const [claim, opinion] of answer.opinions) {
        if (agrees(claim, opinion) || !disagrees(claim, found.get(claim))) found.set(claim, opinion)
        if (disagrees(claim, opinion)) against.get(claim)?.push(answerOf(opinion))
      }
      return answer
    }),
    () => !claims.some(isOpen)
  )
  const now = yield* Clock.currentTimeMillis
  for (const claim of claims) {
    const second = asked.length === 0 ? "not_configured" : found.get(claim)
    const isDecided = agrees(claim, second) || disagrees(claim, second)
    const others =
      isDecided || silences === undefined
        ? []
        : yield* Effect.forEach(asked, ({ url, result }) => lackOf(claim, url, result, silences, now))
    const answers = against.get(claim) ?? []
    const isOutvoted = !agrees(claim, second) && new Set(answers).size < answers.length
    heard.set(claim, { ...(second === undefined ? {} : { second }), others, isOutvoted })
  }
  return heard
})

// Finds what used a nonce of an account: by the method that some nodes have, else in the block in which the account's count passed
// the nonce. The index of a node may lag behind its blocks, so that it does not find a transaction proves nothing.

export interface TakerQuery {
  /** Lower-case hex. */
  readonly address: string
  readonly nonce: number
  /** Hashes of the attempts that could have used it. */
  readonly hashes: ReadonlyArray<string>
  readonly finality: Finality
}

const decodeTransaction = Schema.decodeUnknownOption(RpcTransaction)

const atOnce = { concurrency: "unbounded" } as const

/**
 * The first block in which the account's count is above the nonce, which it is at the head. The search goes down from the head
 * in steps that double, because most nodes only have the states of the newest blocks. Fails if the node has no state that old.
 */
const blockOf = Effect.fnUntraced(function* (node: RpcNode, { address, nonce }: TakerQuery, head: number) {
  const isAbove = (height: number) => Effect.map(node.call(countAt(address, height)), (count) => count > nonce)
  let [low, high] = [head, head]
  for (let step = 1; low > 0; step *= 2) {
    low = Math.max(head - step, 0)
    if (!(yield* isAbove(low))) break
    high = low
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (yield* isAbove(middle)) high = middle
    else low = middle + 1
  }
  return high
})

/** The block with all of its transactions. Undefined: the node does not show it, or one of them, yet. */
const wholeBlock = Effect.fnUntraced(function* (node: RpcNode, height: number) {
  const asked = node.call(wholeBlockAt(height))
  // The node does not know that parameter, or its answer is too large.
  const block = yield* Effect.catchIf(
    asked,
    ({ isRetriable }) => !isRetriable,
    () => node.call(blockAt(height))
  )
  if (block === null) return undefined
  const transactions = yield* Effect.forEach(
    block.transactions ?? [],
    (one) => (typeof one === "string" ? node.call(transactionOf(one)) : Effect.succeed(one)),
    atOnce
  )
  return transactions.includes(null) ? undefined : { block, transactions }
})

/** What used the nonce, as a block shows it. */
type Found =
  | { readonly _tag: "Transaction"; readonly value: unknown }
  /** An authorization of the account (EIP-7702) in a transaction of any account: no transaction of the account itself has the nonce. */
  | { readonly _tag: "Authorization"; readonly block: Block }

const usedIn = Effect.fnUntraced(function* (
  { address, nonce }: TakerQuery,
  { block, transactions }: { readonly block: Block; readonly transactions: ReadonlyArray<unknown> }
): Effect.fn.Return<Found | undefined> {
  for (const value of transactions) {
    const signed = parseSignedTransaction(value)
    if (signed === undefined) continue
    const isCandidate = Option.getOrUndefined(decodeTransaction(value))?.nonce === nonce
    if (isCandidate && (yield* EvmBytes.senderOf(signed)) === address) return { _tag: "Transaction", value }
    if ((yield* EvmBytes.authoritiesOf(signed, nonce)).includes(address)) return { _tag: "Authorization", block }
  }
  return undefined
})

/** Blocks below the head that are read to find one with a transaction. */
const newestBlocks = 32

const hashesIn = ({ transactions = [] }: Block): ReadonlyArray<string> =>
  transactions.flatMap((hash) => (typeof hash === "string" ? [hash] : []))

/** The last transaction of the newest block that has any. Undefined: the node does not show a block. */
const newestTransaction = Effect.fnUntraced(function* (node: RpcNode, head: number) {
  const lowest = Math.max(head - newestBlocks + 1, 0)
  const read = (height: number) => node.call(blockAt(height))
  const newest = yield* read(head)
  if (newest === null) return undefined
  const [hash] = hashesIn(newest).slice(-1)
  if (hash !== undefined) return Option.some(hash)
  const older = yield* Effect.forEach(
    Array.from({ length: head - lowest }, (_, index) => head - 1 - index),
    read,
    atOnce
  )
  if (older.includes(null)) return undefined
  const hashes = older.flatMap((block) => (block === null ? [] : hashesIn(block).slice(-1)))
  return Option.fromUndefinedOr(hashes[0])
})

/**
 * Whether the index of a node has the transactions of its newest blocks, and no receipt of any of the hashes. An index is filled
 * block by block, so a receipt of the newest block shows that nothing older is missing. Both are asked in one batch, because
 * each batch may meet another back end.
 */
const lacks = Effect.fn("EvmTaker.lacks")(function* (node: RpcNode, hashes: ReadonlyArray<string>, head: number) {
  const newest = yield* newestTransaction(node, head)
  if (newest === undefined) return false
  const [shown, ...own] = yield* Effect.forEach(
    [...Option.toArray(newest), ...hashes],
    (hash) => node.call(receiptOf(hash)),
    atOnce
  )
  if (Option.isNone(newest)) return [shown, ...own].every((receipt) => (receipt ?? null) === null)
  return shown !== null && own.every((receipt) => receipt === null)
})

const isMined = (value: unknown): boolean =>
  (Option.getOrUndefined(decodeTransaction(value))?.blockNumber ?? null) !== null

/** A failure that is an answer means that the node cannot do it. */
const answeredOnly = <A>(self: Effect.Effect<A, RpcFailure>) =>
  Effect.catchIf(
    Effect.asSome(self),
    ({ answered }) => answered,
    () => Effect.succeedNone
  )

/** `behind`: the node does not show the block, or not all of it, yet. `unable`: it can neither find it nor search for it. */
const search = Effect.fnUntraced(function* (node: RpcNode, wanted: TakerQuery, head: number) {
  const direct = yield* node.ask(transactionBy(wanted.address, wanted.nonce))
  if (direct._tag === "Result" && isMined(direct.value)) {
    return { _tag: "Transaction", value: direct.value } satisfies Found
  }
  const height = yield* answeredOnly(blockOf(node, wanted, head))
  if (Option.isNone(height)) return "unable" as const
  const whole = yield* wholeBlock(node, height.value)
  return whole === undefined ? ("behind" as const) : ((yield* usedIn(wanted, whole)) ?? ("unable" as const))
})

/**
 * The hash of the transaction that used a nonce, from the block with it: a provider that is asked so learns no hash. Undefined: the provider
 * shows none. `behind`: it does not show the block yet.
 */
export const hashAt = Effect.fn("EvmEvidence.hashAt")(function* (
  node: RpcNode,
  wanted: Omit<TakerQuery, "hashes">,
  head: number
): Effect.fn.Return<string | undefined, RpcFailure> {
  const found = yield* search(node, { ...wanted, hashes: [] }, head)
  if (typeof found === "string") return found === "behind" ? found : undefined
  return found._tag === "Transaction" ? Option.getOrUndefined(decodeTransaction(found.value))?.hash : undefined
})

const secondOf = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  { finality }: TakerQuery,
  claim: { readonly height: number; readonly blockHash: string }
) {
  const headOf = (other: RpcNode) => readHead(other, finality)
  const second: SecondOpinion | undefined = (yield* opinionsOf(providers, node, headOf, [claim])).get(claim)?.second
  return present("second", second)
})

const fetched = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  wanted: TakerQuery,
  value: unknown
): Effect.fn.Return<TakerEvidence> {
  const found = Option.getOrUndefined(decodeTransaction(value))
  if (found === undefined || found.blockNumber === null || found.blockHash === null) return { _tag: "NotFound" }
  const signed = parseSignedTransaction(value)
  const sender = signed && (yield* EvmBytes.senderOf(signed))
  if (sender === undefined) return { _tag: "NotFound" }
  const { hash, nonce, to, value: wei, input, blockNumber, blockHash } = found
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
    ...(yield* secondOf(providers, node, wanted, { height: blockNumber, blockHash }))
  }
})

/** `head`: height of the newest block of `node`. */
export const findTaker = Effect.fn("EvmTaker.find")(function* (
  providers: Providers,
  node: RpcNode,
  wanted: TakerQuery,
  head: number
): Effect.fn.Return<TakerEvidence, RpcFailure> {
  const found = yield* search(node, wanted, head)
  if (found === "behind") return { _tag: "Behind" }
  if (found === "unable") {
    const isWhole = Option.getOrElse(yield* answeredOnly(lacks(node, wanted.hashes, head)), () => false)
    return { _tag: isWhole ? "NotFound" : "Behind" }
  }
  if (found._tag === "Transaction") return yield* fetched(providers, node, wanted, found.value)
  const { number, hash } = found.block
  const second = yield* secondOf(providers, node, wanted, { height: number, blockHash: hash })
  return { _tag: "Authorized", block: number, blockHash: hash, ...second }
})
