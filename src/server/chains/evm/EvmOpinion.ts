// What other providers say about blocks and receipts.
import { Clock, DateTime, Effect, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { HeadWatch } from "../../../domain/chain/Rpc.ts"
import { isAgreed, verdictOn } from "../../../domain/transaction/evm/View.ts"
import type { EvmReceipt, SecondOpinion } from "../../../domain/transaction/evm/View.ts"
import { blockAt, receiptIn, receiptOf } from "./EvmCalls.ts"
import type { ChainHead } from "./EvmHeads.ts"
import type { Opinion } from "../../../domain/transaction/Rows.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Providers } from "../Providers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"

/** What the first provider says, about which the others are asked. */
export interface Claim {
  readonly height: number
  readonly blockHash: string
  /** The receipt of this transaction. Absent: only the block is asked about. */
  readonly mined?: { readonly hash: string; readonly receipt: EvmReceipt }
}

/** What the others say about one claim: the best opinion, and what each of those without an opinion lacks. */
export interface Heard {
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

const agrees = ({ height, blockHash, mined }: Claim, opinion: SecondOpinion | undefined): boolean =>
  mined === undefined ? isAgreed(opinion, height, blockHash) : verdictOn(mined.receipt, opinion) === "agrees"

const disagrees = ({ mined }: Claim, opinion: SecondOpinion | undefined): boolean =>
  mined !== undefined && verdictOn(mined.receipt, opinion) === "disagrees"

/** Of opinions that contradict. The same text means the same answer. */
const answerOf = (opinion: SecondOpinion): string => {
  if (opinion === "not_configured") return opinion
  const { hash, receipt } = opinion
  return JSON.stringify([hash, receipt?.blockHash, receipt?.isSuccess])
}

/** Whether the block of that hash names the transaction. Undefined: the provider does not say. */
const isListed = Effect.fnUntraced(function* (node: RpcNode, { height, blockHash }: Claim, hash: string) {
  const block = yield* Effect.orElseSucceed(node.call(blockAt(height)), () => null)
  return block?.hash === blockHash ? block.transactions?.some((one) => one === hash) : undefined
})

/** What a provider says about the receipt of a claim. `failure`: it was asked, and did not answer. */
interface Receipt extends Pick<Exclude<SecondOpinion, "not_configured">, "receipt" | "isListed"> {
  readonly failure?: RpcFailure
}

/**
 * Without receipt: the provider does not say. Null: it has none. If its block does not name the transaction either, that is an
 * opinion: a receipt that was invented for a true block is never final.
 */
const receiptAt = Effect.fnUntraced(function* (node: RpcNode, claim: Claim): Effect.fn.Return<Receipt> {
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
const ask = Effect.fnUntraced(function* (node: RpcNode, headOf: HeadOf, open: ReadonlyArray<Claim>) {
  const { head, finalHeight, hashesAt } = yield* headOf(node)
  const hashes = yield* hashesAt(open.map(({ height }) => height))
  const receipts = yield* Effect.forEach(open, (claim) => receiptAt(node, claim), { concurrency: "unbounded" })
  const opinions = new Map<Claim, Exclude<SecondOpinion, "not_configured">>()
  const failures = new Map<Claim, RpcFailure>()
  for (const [index, claim] of open.entries()) {
    const { failure, ...said } = receipts[index] ?? {}
    const hash = hashes.get(claim.height)
    if (hash !== undefined) opinions.set(claim, { hash, finalHeight, host: maskUrl(node.url), ...said })
    if (failure !== undefined) failures.set(claim, failure)
  }
  return { head, finalHeight, opinions, failures }
})
type ProviderOpinions = Effect.Success<ReturnType<typeof ask>>

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
  claim: Claim,
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
  claims: ReadonlyArray<Claim>,
  silences?: Silences
) {
  const found = new Map<Claim, SecondOpinion>()
  const heard = new Map<Claim, Heard>()
  /** The answers that contradict each claim. */
  const against = new Map(claims.map((claim) => [claim, new Array<string>()]))
  if (claims.length === 0) {
    silences?.since.clear()
    return heard
  }
  const isOpen = (claim: Claim) => !agrees(claim, found.get(claim))
  const asked = yield* providers.others(
    first,
    Effect.fnUntraced(function* (node) {
      const answer = yield* ask(node, headOf, claims.filter(isOpen))
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
