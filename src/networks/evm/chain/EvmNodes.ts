// Providers of evm chains: how nodes speak JSON-RPC and prove their chain, the newest block of each, and what an inspection asks.
import { Clock, Context, Effect, Option, Result } from "effect"
import { isStalled, observedHead, withoutSecrets } from "../../../domain/chain/Rpc.ts"
import type { HeadWatch, RpcConfig } from "../../../domain/chain/Rpc.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import {
  balanceFailures,
  compareBalances,
  failuresOf,
  probeProviders,
  runInspection,
  wrongType
} from "../../../server/chains/Chains.ts"
import type { ChainKind, ProviderQuestions } from "../../../server/chains/Chains.ts"
import { makeProviders } from "../../../server/chains/Providers.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcAnswer, Unanswered } from "../../../server/chains/RpcBatch.ts"
import { answeredFailure, otherChainFailure, rpcCheckCodes, rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../../../server/chains/RpcNode.ts"
import { RpcNodes } from "../../../server/chains/RpcNodes.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { Finality } from "../rules/EvmNumbers.ts"
import { classify } from "../rules/Refusal.ts"
import type { NodeAnswer } from "../rules/Refusal.ts"
import { balanceAt, balanceOf, blockAt, chainId, feeHistory, Uint64 } from "./EvmCalls.ts"
import type { Block } from "./EvmCalls.ts"
import { watchDelegation } from "./EvmDelegates.ts"
import * as EvmMarkets from "./EvmMarkets.ts"

// The newest block of each provider, and the blocks below it. Lanes that poll at about the same time share one reading,
// because all accounts of a chain wait for the same head.

/**
 * Milliseconds for which a head is shared: the block time of the fastest chains. The other answers of a poll can be newer than
 * its head by this much. That also happens behind a load balancer.
 */
const sharedFor = 250

type HeadAnswer<A> = Effect.Effect<A, RpcFailure>

/** One reading of the newest block of a provider. */
export interface ChainHead {
  readonly head: Block
  /** Height of the newest block that counts as final; -1 if none does yet. */
  readonly finalHeight: number
  readonly askedAt: Moment
  /** Hashes of the blocks at these heights. A height that the node does not have is left out. */
  hashesAt(heights: Iterable<number>): HeadAnswer<ReadonlyMap<number, string>>
}

/** What a head is read with: `finality` decides which block is final, `blockTime` when a provider is stalled. */
interface HeadOptions {
  readonly finality: Finality
  /** Milliseconds. */
  readonly blockTime: number
}

export interface EvmHeads {
  /** `after`: when the lane's previous poll asked for its head. The result is newer. */
  at(node: RpcNode, options: HeadOptions, after: Moment): HeadAnswer<ChainHead>
  /** Present if the provider is stalled: its newest block, if it has shown one, and since when. */
  stalled(url: string): HeadWatch | undefined
  /** Stalled providers in the order of their heads, the highest first, after the others. */
  stalledLast(nodes: ReadonlyArray<RpcNode>): ReadonlyArray<RpcNode>
}

/** Runs `ask` once and shares its result with all callers. A failure is not kept. */
const once = <A>(ask: HeadAnswer<A>, forget: () => void) =>
  Effect.cached(Effect.tapError(ask, () => Effect.sync(forget)))

const finalBlock = (node: RpcNode, tag: "safe" | "finalized") =>
  Effect.map(node.call(blockAt(tag)), (block) => block?.number ?? -1)

/** The head names the hashes of itself and of its parent. */
const hashesBelow = (node: RpcNode, { number, hash, parentHash }: Block): ChainHead["hashesAt"] => {
  const kept = new Map<number, HeadAnswer<string | undefined>>([[number, Effect.succeed(hash)]])
  if (parentHash !== undefined) kept.set(number - 1, Effect.succeed(parentHash))
  const hashAt = Effect.fnUntraced(function* (height: number) {
    const found =
      kept.get(height) ??
      (yield* once(
        Effect.map(node.call(blockAt(height)), (block) => block?.hash),
        () => kept.delete(height)
      ))
    kept.set(height, found)
    return yield* found
  })
  return Effect.fnUntraced(function* (heights) {
    const wanted = [...new Set(heights)].filter((height) => height <= number)
    const hashes = yield* Effect.forEach(wanted, hashAt, { concurrency: "unbounded" })
    return new Map(wanted.flatMap((height, index) => (hashes[index] === undefined ? [] : [[height, hashes[index]]])))
  })
}

/** A reading that is not shared. */
export const readHead = Effect.fnUntraced(function* (node: RpcNode, finality: Finality) {
  const askedAt = yield* Clock.currentTimeMillis
  const [head, final] = yield* Effect.all(
    [
      node.call(blockAt("latest")),
      typeof finality === "number" ? Effect.succeedNone : Effect.asSome(finalBlock(node, finality))
    ],
    { concurrency: 2 }
  )
  if (head === null) return yield* rpcFailure("invalid_answer")
  const finalHeight = final._tag === "Some" ? final.value : head.number - Number(finality)
  const found: ChainHead = {
    head,
    finalHeight: Math.max(finalHeight, -1),
    askedAt,
    hashesAt: hashesBelow(node, head)
  }
  return found
})

/** URLs whose heads are remembered. The one that was asked least recently is forgotten first. */
const maxWatched = 10_000

export const makeHeads = (): EvmHeads => {
  const kept = new Map<string, { readonly askedAt: Moment; readonly head: HeadAnswer<ChainHead> }>()
  const watches = new Map<string, HeadWatch & { readonly isStalled: boolean }>()

  const note = (url: string, blockTime: number, head: Block | undefined) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const watch = observedHead(watches.get(url), head, now, blockTime)
      watches.delete(url)
      watches.set(url, { ...watch, isStalled: isStalled(watch, blockTime) })
      const [oldest] = watches.keys()
      if (watches.size > maxWatched && oldest !== undefined) watches.delete(oldest)
    })

  const watched = (node: RpcNode, { finality, blockTime }: HeadOptions) =>
    readHead(node, finality).pipe(
      Effect.tap(({ head }) => note(node.url, blockTime, head)),
      Effect.tapError(() => note(node.url, blockTime, undefined))
    )

  const at: EvmHeads["at"] = Effect.fnUntraced(function* (node, options, after) {
    const now = yield* Clock.currentTimeMillis
    for (const [key, { askedAt }] of kept) if (askedAt + sharedFor <= now) kept.delete(key)
    const key = `${options.finality} ${node.url}`
    const found = kept.get(key)
    if (found !== undefined && found.askedAt > after) return yield* found.head
    const head = yield* once(watched(node, options), () => kept.delete(key))
    kept.set(key, { askedAt: now, head })
    return yield* head
  })

  const stalled: EvmHeads["stalled"] = (url) => {
    const watch = watches.get(url)
    return watch?.isStalled === true ? watch : undefined
  }

  const heightOf = ({ url }: RpcNode): number => stalled(url)?.height ?? -1

  const stalledLast: EvmHeads["stalledLast"] = (nodes) => {
    const later = nodes.filter(({ url }) => stalled(url) !== undefined)
    if (later.length === 0) return nodes
    const sorted = later.toSorted((one, other) => heightOf(other) - heightOf(one))
    return [...nodes.filter(({ url }) => stalled(url) === undefined), ...sorted]
  }

  return { at, stalled, stalledLast }
}

/** What a text says about a transaction is an answer, whatever the status is. */
export const evmDialect: RpcDialect = {
  networkType: "evm",
  codes: rpcCheckCodes,
  isAnswer: (message) => !["unknown", "provider"].includes(classify({ _tag: "RpcError", message }))
}

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => (answer._tag === "Result" ? { _tag: "Hash" } : answer)

/** What a node says is shown, if the service does not know the words. */
const masked =
  ({ url }: RpcNode) =>
  (answer: NodeAnswer): NodeAnswer =>
    "message" in answer && answer.message !== undefined
      ? { ...answer, message: withoutSecrets(url, answer.message) }
      : answer

const ofUnanswered = ({ http }: Unanswered): NodeAnswer =>
  http === undefined ? { _tag: "NoAnswer" } : { _tag: "HttpError", ...http }

/** `raw`: a signed transaction, as hex digits after `0x`. */
export const sendBytes =
  (raw: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> =>
    node.send({ method: "eth_sendRawTransaction", params: [raw] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", (error) => Effect.succeed(ofUnanswered(error))),
      Effect.map(masked(node))
    )

export interface ChainIdentity {
  readonly chainId: number
  /** Hash of block 0. Absent: the first provider that is asked decides. */
  readonly genesis?: string
}

export interface EvmProviders extends Providers {
  /** Hash of block 0, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

/** Providers prove the chain id and the hash of block 0. */
export const makeEvmProviders = Effect.fnUntraced(function* (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  identity: ChainIdentity,
  arrange: (nodes: ReadonlyArray<RpcNode>) => ReadonlyArray<RpcNode> = (nodes) => nodes
) {
  let genesis = identity.genesis

  const prove = Effect.fnUntraced(function* (node: RpcNode) {
    const [id, block] = yield* Effect.all([node.call(chainId), node.call(blockAt(0))], { concurrency: 2 })
    const expected = BigInt(identity.chainId)
    if (id !== expected) return yield* otherChainFailure(id, expected).of(chainId.method)
    genesis ??= block?.hash
    if (block !== null && block.hash !== genesis) {
      return yield* answeredFailure("mismatch").of("eth_getBlockByNumber")
    }
  })

  const found: EvmProviders = {
    ...(yield* makeProviders({ nodeOf, prove, arrange }, urls)),
    genesis: Effect.sync(() => genesis)
  }
  return found
})

/**
 * A private provider on another chain is not used. Many answer nothing but `eth_sendRawTransaction`: one that does not say its chain is used,
 * because the signature names the chain.
 */
const provePrivately = (id: bigint) => (node: RpcNode) =>
  Effect.flatMap(Effect.option(node.call(chainId)), (found) =>
    Option.isNone(found) || found.value === id
      ? Effect.void
      : Effect.fail(otherChainFailure(found.value, id).of(chainId.method))
  )

export const makePrivateProviders = (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  id: number
): Effect.Effect<Providers> => makeProviders({ nodeOf, prove: provePrivately(BigInt(id)) }, urls)

export class EvmNodes extends Context.Service<
  EvmNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, identity: ChainIdentity): Effect.Effect<EvmProviders>
    /** Those that get bytes and estimates alone. */
    privateProviders(urls: ReadonlyArray<RpcConfig>, chainId: number): Effect.Effect<Providers>
    readonly heads: EvmHeads
    readonly markets: EvmMarkets.EvmMarkets
  }
>()("effect-relayer/networks/evm/chain/EvmNodes") {}

export const makeEvmNodes = Effect.map(RpcNodes, (nodes) => {
  const heads = makeHeads()
  return EvmNodes.of({
    providers: (urls, identity) =>
      makeEvmProviders((url) => nodes.of(evmDialect, url), urls, identity, heads.stalledLast),
    privateProviders: (urls, id) => makePrivateProviders((url) => nodes.of(evmDialect, url), urls, id),
    heads,
    markets: EvmMarkets.make()
  })
})

// Inspects an account of an EVM chain, and the providers of its network.

const nonceCall = (address: string) => ({
  method: "eth_getTransactionCount",
  params: [address, "latest"],
  result: Uint64
})

const proveChain = (id: bigint) => (node: RpcNode) =>
  Effect.flatMap(node.call(chainId), (found) =>
    found === id ? Effect.void : Effect.fail(otherChainFailure(found, id).of(chainId.method))
  )

/** The time limit of a call of the look at a delegation over all tries and providers, in milliseconds. */
const watchBudgetMs = 5000

const nobody = `0x${"0".repeat(40)}`

/** What `probe` asks besides. */
export const evmQuestions: ProviderQuestions = {
  cheap: chainId,
  version: { method: "web3_clientVersion", params: [] },
  versionIn: (result) => (typeof result === "string" ? result : undefined),
  finalized: blockAt("finalized"),
  feeHistory: feeHistory("latest"),
  archive: { method: "eth_getBalance", params: [nobody, "0x1"] }
}

const probe: ChainKind["probe"] = Effect.fn("EvmNodes.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "evm") return yield* wrongType
  return yield* probeProviders(
    { nodes, dialect: evmDialect, urls, prove: proveChain(BigInt(network.chain_id)), budgetMs },
    evmQuestions
  )
})

const inspect: ChainKind["inspect"] = Effect.fn("EvmNodes.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "evm" || network.network_type !== "evm") return yield* wrongType
  const { address, policies } = relayer
  const { network_type } = network
  const chain = { nodes, dialect: evmDialect, urls, prove: proveChain(BigInt(network.chain_id)), budgetMs }

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const { balance, nonce } = yield* Effect.all(
      {
        nonce: first((node) => node.call(nonceCall(address))),
        balance: first((node) => node.call(balanceOf(address)))
      },
      { mode: "result", concurrency: 2 }
    )
    return {
      ...(Result.isSuccess(nonce) ? { nonce: nonce.success } : {}),
      ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
      failures: [
        ...failuresOf("NonceSyncFailed", nonce),
        ...balanceFailures(balance, minBalanceOf(network_type, policies))
      ]
    }
  })

  return { network_type, ...(yield* runInspection(chain, read)) }
})

const balances: NonNullable<ChainKind["balances"]> = Effect.fn("EvmNodes.balances")(function* (
  nodes,
  { relayer, network, urls }
) {
  if (network.network_type !== "evm") return yield* wrongType
  const prove = proveChain(BigInt(network.chain_id))
  return yield* compareBalances({ nodes, dialect: evmDialect, urls, prove, budgetMs: undefined }, (node) =>
    Effect.gen(function* () {
      const head = yield* node.call(blockAt("latest"))
      if (head === null) return yield* rpcFailure("invalid_answer").of("eth_getBlockByNumber")
      return { height: head.number, balance: yield* node.call(balanceAt(relayer.address, head.number)) }
    })
  )
})

const watch: NonNullable<ChainKind["watch"]> = Effect.fn("EvmNodes.watch")(function* (nodes, target, lane) {
  const { network, urls, budgetMs = watchBudgetMs } = target
  if (network.network_type !== "evm") return yield* wrongType
  const nodeOf = (url: string) => nodes.of(evmDialect, url)
  const providers = yield* makeProviders({ nodeOf, prove: proveChain(BigInt(network.chain_id)), budgetMs }, urls)
  return yield* watchDelegation(providers, lane)
})

export const evmInspection: ChainKind = { inspect, probe, balances, watch }
