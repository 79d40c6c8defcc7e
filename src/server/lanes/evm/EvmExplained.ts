// Which transactions used the nonces of a lane. Before anything is signed for the first time, each of them is an attempt of the
// ledger, or it was fetched and compared: a ledger that was put back from a copy has forgotten some of its own.
import { Effect } from "effect"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import { nonceOf, noncesOf } from "../../../domain/transaction/evm/Evm.ts"
import { indexPatience } from "../../../domain/transaction/evm/EvmNumbers.ts"
import type { TakerEvidence } from "../../../domain/transaction/evm/View.ts"
import { blockAt } from "../../chains/evm/EvmCalls.ts"
import * as EvmTaker from "../../chains/evm/EvmTaker.ts"
import type { EvmProviders } from "../../chains/evm/EvmNodes.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import { answeredFailure } from "../../chains/RpcFailure.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import type { PollOptions } from "../LaneNetwork.ts"
import { numbersOf } from "./EvmMemory.ts"
import type { Beliefs, EvmContext, EvmPoll, EvmRelayer } from "./EvmMemory.ts"

/** Polls in a row without an explanation, after which every open request counts as one that may have been executed. */
const maxPolls = 10

/** Milliseconds that the clocks of blocks and of the service may differ. */
const clocks = 60_000

const atOnce = { concurrency: 8 } as const

type Taker = Extract<TakerEvidence, { readonly _tag: "Fetched" }>

/** What used a nonce: a transaction of the account, or an authorization of it. */
type User = Pick<Taker, "nonce" | "block"> & Partial<Pick<Taker, "hash" | "call">>

/** `Behind`: no provider shows it, and the index of one of them lags behind the count, or none of them answers. */
type Use = User | "Behind" | undefined

export interface Explained {
  /** Transactions of the account that are no attempts of the ledger. Undefined in it: one that nobody can show. */
  readonly foreign: ReadonlyArray<Evm["foreign"]>
  /** The lowest nonce that is not explained. Absent: all are. */
  readonly missing?: number
  /** An index that lags behind the count does not show what used the nonce of `missing`. */
  readonly isBehind?: true
  /** At the first poll: every nonce below it was used before the oldest open transaction was accepted. */
  readonly settled?: number
  /** At the first poll: more nonces than the window were used since. */
  readonly isTooMany?: true
}

interface NonceSearch {
  readonly context: EvmContext
  readonly beliefs: Beliefs
  /** Whether open requests count as executed if these providers cannot show for long what used a nonce. */
  readonly mayGiveUp: boolean
  readonly options: PollOptions<Evm>
  readonly relayer: EvmRelayer
  readonly providers: EvmProviders
  readonly poll: EvmPoll
}

/** The signature of a transaction proves it, so one provider is enough. Providers that cannot show it are skipped. */
const takerOf = ({ context: { address }, relayer, providers, poll }: NonceSearch, nonce: number) => {
  const sought = { address, nonce, hashes: [], finality: numbersOf(relayer).finality }
  const head = poll.base.head.number
  // Without an answer, nothing is known either.
  let isUnable = false
  let isBehind = false
  const one = providers.first(
    Effect.fnUntraced(function* (node): Effect.fn.Return<User, RpcFailure> {
      const taker = yield* EvmTaker.find(providers, node, sought, head)
      if (taker._tag === "Fetched" && taker.sender === address && taker.nonce === nonce) return taker
      if (taker._tag === "Authorized") return { nonce, block: taker.block }
      isBehind ||= taker._tag === "Behind"
      isUnable ||= taker._tag !== "Behind"
      return yield* answeredFailure("invalid_answer")
    })
  )
  return Effect.orElseSucceed(one, (): Use => (isBehind || !isUnable ? "Behind" : undefined))
}

const isUser = (use: Use): use is User => use !== undefined && use !== "Behind"

/** Nonces that an attempt used, according to receipts. */
const ownIn = ({ context: { memory }, options: { rows } }: NonceSearch): ReadonlySet<number> => {
  const own = new Set<number>()
  for (const { transaction } of rows) {
    const nonce = nonceOf(transaction)
    if (nonce === undefined || isFinal(transaction)) continue
    const views = [...memory.polls.values()].map((poll) => poll.views.get(transaction.number))
    const hasReceipt = views.some((view) => [...(view?.sights.values() ?? [])].some(({ _tag }) => _tag === "Receipt"))
    if (transaction.mined !== undefined || hasReceipt) own.add(nonce)
  }
  return own
}

const foreignAmong = Effect.fnUntraced(function* ({ options }: NonceSearch, users: ReadonlyArray<User>) {
  const hashes = users.flatMap(({ hash }) => hash ?? [])
  if (hashes.length === 0) return []
  const [own, given] = yield* Effect.all([options.own(hashes), options.given(hashes)])
  return users.flatMap(({ hash, call }) => (hash === undefined || own.has(hash) || given.has(hash) ? [] : [call]))
})

const isOlder = Effect.fnUntraced(function* ({ options, providers }: NonceSearch, { block }: User) {
  const oldest = options.rows[0].transaction.createdAt
  const asked = providers.first((node) => node.call(blockAt(block)))
  const { timestamp } = (yield* Effect.orElseSucceed(asked, () => null)) ?? {}
  return timestamp !== undefined && Number(timestamp) * 1000 < oldest - clocks
})

/** Downwards from the count, until a transaction is older than every open one. */
const first = Effect.fnUntraced(function* (search: NonceSearch, count: number, limit: number) {
  const takers: Array<User> = []
  let nonce = count
  let isBehind = false
  while (nonce > 0) {
    if (takers.length >= limit) return { foreign: [], isTooMany: true } satisfies Explained
    const taker = yield* takerOf(search, nonce - 1)
    isBehind = taker === "Behind"
    if (!isUser(taker)) break
    if (yield* isOlder(search, taker)) return { foreign: yield* foreignAmong(search, takers), settled: nonce }
    takers.push(taker)
    remember(search, taker)
    nonce -= 1
  }
  const foreign = yield* foreignAmong(search, takers)
  const found: Explained =
    nonce === 0 ? { foreign, settled: 0 } : { foreign, missing: nonce - 1, ...(isBehind ? { isBehind: true } : {}) }
  return found
})

/** Until its block is final, another transaction can take its nonce. */
const remember = ({ beliefs, poll: { base } }: NonceSearch, { nonce, block }: User): void => {
  if (block <= base.finalHeight) beliefs.explained.add(nonce)
}

const later = Effect.fnUntraced(function* (search: NonceSearch, nonces: ReadonlyArray<number>, limit: number) {
  const asked = nonces.slice(0, limit)
  const found = yield* Effect.forEach(asked, (nonce) => takerOf(search, nonce), atOnce)
  const takers = found.filter(isUser)
  for (const taker of takers) remember(search, taker)
  const index = found.findIndex((taker) => !isUser(taker))
  const missing = index === -1 ? nonces[limit] : asked[index]
  const explained: Explained = {
    foreign: yield* foreignAmong(search, takers),
    ...(missing === undefined ? {} : { missing }),
    ...(found[index] === "Behind" ? { isBehind: true as const } : {})
  }
  return explained
})

/** No provider can show what used the nonces, so each open request could have used them. */
const givenUp = ({ beliefs }: NonceSearch, nonces: ReadonlyArray<number>): Explained => {
  beliefs.unexplained = 0
  beliefs.behind = undefined
  for (const nonce of nonces) beliefs.explained.add(nonce)
  return { foreign: [undefined] }
}

/**
 * Without those that a final transaction of the ledger used: its block was final, and nodes that have pruned it cannot show it any
 * more.
 */
const withoutMined = Effect.fnUntraced(function* ({ beliefs, options }: NonceSearch, nonces: ReadonlyArray<number>) {
  const [lowest] = nonces
  if (lowest === undefined) return nonces
  for (const nonce of yield* options.mined(BigInt(lowest))) beliefs.explained.add(Number(nonce))
  return nonces.filter((nonce) => !beliefs.explained.has(nonce))
})

/** A look at an index that lags is not complete, so it does not count: the same look is repeated. */
const note = ({ beliefs, options: { now } }: NonceSearch, { missing, isBehind }: Explained): void => {
  const { behind } = beliefs
  if (missing === undefined) beliefs.unexplained = 0
  else if (isBehind !== true) beliefs.unexplained += 1
  const isSame = behind !== undefined && behind.nonce === missing
  beliefs.behind =
    missing === undefined || isBehind !== true ? undefined : { nonce: missing, since: isSame ? behind.since : now }
}

/** Whether providers have failed to show what used a nonce for as long, or in as many polls, as the lane waits for it. */
export const isHopeless = ({ beliefs, options: { now } }: Pick<NonceSearch, "beliefs" | "options">): boolean =>
  beliefs.unexplained >= maxPolls || now - (beliefs.behind?.since ?? now) >= indexPatience

/** Explains each nonce between those that are settled and the count of the poll. */
export const explain = Effect.fnUntraced(function* (search: NonceSearch) {
  const { beliefs, mayGiveUp, options, relayer, poll } = search
  const { chainBlock, nextNonce, settledNonce } = noncesOf(options.lane)
  const { count } = poll.lane
  const { window } = numbersOf(relayer)
  const limit = options.stored.trustsCount ? Math.max(window, count) : window
  if (chainBlock !== undefined && count - nextNonce > limit) return { foreign: [], isTooMany: true } satisfies Explained
  const own = ownIn(search)
  for (const nonce of beliefs.explained) if (nonce < settledNonce) beliefs.explained.delete(nonce)
  const nonces: Array<number> = []
  for (let nonce = settledNonce; nonce < count && nonces.length <= limit; nonce++) {
    if (!own.has(nonce) && !beliefs.explained.has(nonce)) nonces.push(nonce)
  }
  const open = yield* withoutMined(search, nonces)
  if (open.length === 0) {
    beliefs.unexplained = 0
    beliefs.behind = undefined
    return { foreign: [] } satisfies Explained
  }
  const found: Explained =
    chainBlock === undefined ? yield* first(search, count, limit) : yield* later(search, open, limit)
  note(search, found)
  return mayGiveUp && isHopeless(search) ? givenUp(search, open) : found
})
