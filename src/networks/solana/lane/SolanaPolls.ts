// Polls of a solana lane: what it remembers from poll to poll, one look of each provider, and the questions of a proof.
import { Cause, Deferred, Effect, Exit, Metric, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { Opinion } from "../../../server/chains/Providers.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import { failureOf, noteAlone, rememberedProviders, withinPoll } from "../../../server/lanes/LaneNetwork.ts"
import type { Inquiry, LaneRelayer, LaneRow, ProviderMemory } from "../../../server/lanes/LaneNetwork.ts"
import type { PriceSource } from "../../../server/prices/PriceSource.ts"
import { present } from "../../core/Presentation.ts"
import { isFinal } from "../../core/Transaction.ts"
import type { Attempt, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { SolanaNodes, SolanaProviders } from "../chain/SolanaCalls.ts"
import * as SolanaLooks from "../chain/SolanaLooks.ts"
import { forgetOldLists } from "../chain/SolanaLooks.ts"
import type { KeptLists } from "../chain/SolanaLooks.ts"
import type { Solana, SolanaRequest } from "../rules/Solana.ts"
import { listPage, maxAskedProviders } from "../rules/SolanaNumbers.ts"
import { conclude, openQuestionOf, rememberConclusion } from "../rules/SolanaSeen.ts"
import type {
  EarlierConclusion,
  KnownSignature,
  Landing,
  Lifetime,
  Look,
  ProofQuestion,
  SolanaSeen,
  TakenAttempt
} from "../rules/SolanaSeen.ts"

// What the parts of a solana lane share: its account, its providers, and what it remembers from poll to poll.

export type SolanaRelayer = LaneRelayer<Solana>

/** Something that was read, or is being read, and since when. */
interface Dated<A, E = never> {
  readonly answer: Deferred.Deferred<A, E>
  readonly at: Moment
}

export interface SolanaMemory extends ProviderMemory<SolanaProviders> {
  /** What each provider concluded, by number of the transaction and URL. */
  readonly earlier: Map<number, Map<string, EarlierConclusion>>
  /** What providers say of own signatures that are finalized, of transactions that are open. */
  readonly landings: Map<string, Landing>
  /** Since when only one provider has an opinion, by `LaneRelayer.urlsKey`. */
  readonly aloneSince: Map<string, Moment>
  /** Own signatures that are finalized, in the order in which the lane learned of them. */
  known: Array<KnownSignature>
  readonly restore: RestoreMemory
  /** What looks have read of the list of the address. */
  readonly lists: KeptLists
  /** The newest blockhash of each set of providers, by `LaneRelayer.urlsKey`. */
  readonly blockhashes: Map<string, Dated<Lifetime>>
  /** By `LaneRelayer.urlsKey`: what a relayer's own URLs show decides only about its rows. */
  readonly balances: Map<string, Dated<bigint, RpcFailure>>
  /** What an account without data needs, by `LaneRelayer.urlsKey`. */
  readonly rents: Map<string, Dated<bigint, RpcFailure>>
  /** By `LaneRelayer.urlsKey` and the accounts that are written. */
  readonly prices: Map<string, Dated<ReadonlyArray<bigint>, RpcFailure>>
  /** Since when providers call the blockhash of a request dead, by number of the transaction. */
  readonly deadSince: Map<number, Moment>
  /** Transactions whose simulation broke a rule at the latest look, with its slot. */
  readonly brokenAt: Map<number, number>
  /** Contents of lookup tables that requests name. */
  readonly tables: Map<string, ReadonlyArray<string>>
  /** Open transactions that have bytes, as the latest poll has them. */
  signed: ReadonlyArray<SignedRow>
  /**
   * Which transaction has which message, as base64, for messages of one blockhash. `changes`: how many other limits of compute units
   * the equals of a message have got.
   */
  messages: {
    readonly blockhash: string
    readonly owners: Map<string, number>
    readonly changes: Map<string, number>
  }
}

/** What a lane remembers while it reads the list of its address after a restore. */
interface RestoreMemory {
  /** What executed restored transactions, by their numbers. */
  readonly found: Map<number, TakenBytes>
  /** Signatures of the address that the relayer did not pay for. */
  readonly foreign: Set<string>
  /** Since when the list of the only provider shows nothing new. */
  completeSince: Moment | undefined
  /** Since when lists lack the signature since which they are read. */
  lackedSince: Moment | undefined
}

/** An attempt that the ledger does not have, and its bytes. */
export interface TakenBytes {
  readonly taken: TakenAttempt
  readonly raw: Uint8Array
}

interface SignedRow {
  readonly number: number
  readonly request: SolanaRequest
  readonly attempts: ReadonlyArray<Attempt<Solana>>
}

/** Own finalized signatures that a lane remembers: as many as one look reads of the list of its address. */
const maxKnown = listPage.entries * listPage.pages

export const makeMemory = (genesis: string | undefined): SolanaMemory => ({
  genesis,
  providers: new Map(),
  earlier: new Map(),
  landings: new Map(),
  aloneSince: new Map(),
  known: [],
  restore: { found: new Map(), foreign: new Set(), completeSince: undefined, lackedSince: undefined },
  lists: new Map(),
  blockhashes: new Map(),
  balances: new Map(),
  rents: new Map(),
  prices: new Map(),
  deadSince: new Map(),
  brokenAt: new Map(),
  tables: new Map(),
  signed: [],
  messages: { blockhash: "", owners: new Map(), changes: new Map() }
})

/** A list of the address that lacks one of these is behind. */
export const rememberFinalized = (memory: SolanaMemory, signature: KnownSignature): void => {
  memory.known.push(signature)
}

/** No proof asks for signatures below the bytes that are open. The newest one stays: a list that lags lacks it first. */
export const forgetKnown = (memory: SolanaMemory): void => {
  const anchor = anchorOf(memory)
  const open = memory.signed.flatMap(({ attempts }) => attempts.map(({ offer }) => offer.signedSlot))
  const lowest = open.reduce((least, slot) => Math.min(least, slot), Number.POSITIVE_INFINITY)
  memory.known = memory.known.filter((one) => one === anchor || one.slot > lowest).slice(-maxKnown)
}

/** What a lane remembers of a transaction is forgotten when it is final. */
export const forgetTransaction = (
  memory: SolanaMemory,
  { number, attempts }: Pick<SignedRow, "number"> & { readonly attempts: ReadonlyArray<{ readonly hash: string }> }
): void => {
  for (const { hash } of attempts) memory.landings.delete(hash)
  memory.earlier.delete(number)
  memory.deadSince.delete(number)
  memory.brokenAt.delete(number)
  memory.restore.found.delete(number)
}

/** The newest of them. Undefined: none is known. */
export const anchorOf = ({ known }: SolanaMemory): KnownSignature | undefined =>
  known.reduce<KnownSignature | undefined>(
    (newest, one) => (newest === undefined || one.slot > newest.slot ? one : newest),
    undefined
  )

export interface SolanaContext {
  /** Base58. */
  readonly address: string
  readonly nodes: SolanaNodes["Service"]
  readonly prices: PriceSource["Service"]
  readonly memory: SolanaMemory
}

/** The providers of a relayer. */
export const providersOf = ({ memory, nodes }: SolanaContext, { urls, urlsKey }: SolanaRelayer) =>
  rememberedProviders(memory, urlsKey, nodes.providers(urls, memory.genesis))

/**
 * A value that was read less than `age` milliseconds ago, or a new one. Rows that ask while it is read wait for the same answer; if the
 * row that reads it is interrupted, another one reads it. A failure is not kept.
 */
export const sharedValue = <K, A, E>(
  values: Map<K, Dated<A, E>>,
  key: K,
  age: number,
  now: Moment,
  read: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const found = values.get(key)
    if (found !== undefined && now < found.at + age) {
      return Effect.catchCauseIf(Deferred.await(found.answer), Cause.hasInterruptsOnly, () =>
        sharedValue(values, key, age, now, read)
      )
    }
    const answer = Deferred.makeUnsafe<A, E>()
    values.set(key, { answer, at: now })
    const forget = () => {
      if (values.get(key)?.answer === answer) values.delete(key)
    }
    return Effect.onExit(read, (exit) => {
      if (Exit.isFailure(exit)) forget()
      return Deferred.done(answer, exit)
    })
  })

// The metrics that only lanes of solana have.

const attemptsPerTransaction = Metric.histogram("solana_attempts_per_transaction", {
  description: "Signed versions that a final transaction of solana had.",
  boundaries: [0, 1, 2, 3, 5, 10, 20]
})

const proofLooksTotal = Metric.counter("solana_proof_looks_total", {
  description:
    "Looks of providers for a proof that bytes are dead, by result: `proved`, `landed`, or the first question that the provider left open.",
  incremental: true
})

const landedTotal = Metric.counter("solana_landed_total", {
  description:
    "Final transactions of solana that landed, by the id of the API key that sent them, and by result: `success` or `failed`. The relayer has paid the fee of both.",
  incremental: true
})

export const solanaMetrics = [attemptsPerTransaction, proofLooksTotal, landedTotal] as const

export const countAttempts = (attempts: number) => Metric.update(attemptsPerTransaction, attempts)

export const countLanded = (apiKeyId = "unknown", isSuccess: boolean) =>
  Metric.update(Metric.withAttributes(landedTotal, { key_id: apiKeyId, result: isSuccess ? "success" : "failed" }), 1)

export type ProofResult = ProofQuestion | "proved" | "landed"

const countLooks = (results: ReadonlyArray<ProofResult>) =>
  Effect.forEach(results, (result) => Metric.update(Metric.withAttributes(proofLooksTotal, { result }), 1), {
    discard: true
  })

/** What one provider saw. */
interface OneLook {
  readonly url: string
  readonly look: Look
}

/** What the providers of a relayer saw. */
export interface Looks {
  readonly configured: number
  readonly looks: ReadonlyArray<OneLook>
  /** Own finalized signatures that one of the lists lacks. There are few, so that each transaction can be compared with them. */
  readonly lacked: ReadonlyArray<KnownSignature>
}

const hashesOf = (rows: ReadonlyArray<{ readonly transaction: Transaction<Solana> }>): ReadonlyArray<string> =>
  rows.flatMap(({ transaction }) => transaction.attempts.map(({ hash }) => hash))

const looksIn = (opinions: ReadonlyArray<Opinion<Look>>): ReadonlyArray<OneLook> =>
  opinions.flatMap(({ url, result }) => (Result.isSuccess(result) ? [{ url, look: result.success }] : []))

const lackedBy = (looks: ReadonlyArray<OneLook>, { known }: SolanaMemory): ReadonlyArray<KnownSignature> => {
  const lists = looks.flatMap(({ look: { listed } }) => listed ?? [])
  return known.filter(({ hash }) => lists.some(({ signatures }) => !signatures.has(hash)))
}

export const poll = Effect.fn("SolanaPolls.poll")(function* (
  context: SolanaContext,
  relayer: SolanaRelayer,
  rows: ReadonlyArray<LaneRow<Solana>>,
  now: Moment
) {
  const providers = yield* providersOf(context, relayer)
  const inFlight = rows.filter(({ transaction }) => transaction.attempts.length > 0 && !isFinal(transaction))
  const hashes = hashesOf(inFlight)
  const { landings } = context.memory
  const opinions = yield* withinPoll(
    providers.opinions(maxAskedProviders, (node) =>
      Effect.map(SolanaLooks.poll(node, hashes, landings), ({ look, landings: found }) => {
        for (const [hash, landing] of found) landings.set(hash, landing)
        return look
      })
    )
  )
  const looks = looksIn(opinions)
  const { configured } = providers
  const speaking = looks.filter(({ look }) => look.statuses !== undefined || look.finalized !== undefined).length
  noteAlone(context.memory.aloneSince, relayer, { configured, speaking }, now)
  forgetOldLists(context.memory.lists, now)
  // A provider that did not answer in between begins its conclusions anew.
  for (const { transaction } of inFlight) {
    const answered = new Set(looks.map(({ url }) => url))
    const earlier = context.memory.earlier.get(transaction.number)
    for (const url of earlier?.keys() ?? []) if (!answered.has(url)) earlier?.delete(url)
  }
  if (looks.length === 0) return yield* failureOf(opinions)
  const found: Looks = { configured, looks, lacked: [] }
  return found
})

const foundFor = ({ restore: { found } }: SolanaMemory, { number, attempts }: Transaction<Solana>) => {
  const taken = found.get(number)?.taken
  return attempts.some(({ hash }) => hash === taken?.hash) ? undefined : taken
}

/** What a look says about one transaction. `isLast`: nothing else is asked in this look. */
export const seenIn = (
  { memory }: SolanaContext,
  { transaction, relayer }: LaneRow<Solana>,
  { configured, looks, lacked }: Looks,
  now: Moment,
  isLast = false
): SolanaSeen => {
  const { number, attempts } = transaction
  const earlier = memory.earlier.get(number) ?? new Map()
  memory.earlier.set(number, earlier)
  const own = looks.map(({ url, look }): Look => {
    const before = earlier.get(url)
    const seen: Look = { ...look, host: maskUrl(url), ...(before === undefined ? {} : { earlier: before }) }
    const conclusion = conclude(seen, attempts, lacked)
    const after = rememberConclusion(seen, conclusion, now)
    if (after !== undefined) earlier.set(url, after)
    else if (isLast || before?.conclusion._tag === "Landed") earlier.delete(url)
    return seen
  })
  const aloneSince = memory.aloneSince.get(relayer.urlsKey)
  return {
    _tag: "Seen",
    configured,
    looks: own,
    ...(aloneSince === undefined ? {} : { aloneSince }),
    known: lacked,
    landings: memory.landings,
    ...present("found", foundFor(memory, transaction)),
    ...(isLast ? { isProofAsked: true as const } : {})
  }
}

const resultOf = ({ look }: OneLook, { attempts }: Transaction<Solana>, { lacked }: Looks) => {
  const conclusion = conclude(look, attempts, lacked)
  if (conclusion === undefined) return openQuestionOf(look, attempts, lacked) ?? "proved"
  return conclusion._tag === "Landed" ? "landed" : "proved"
}

/** The questions of a proof, for all transactions of a relayer that ask for one. */
export const prove = Effect.fn("SolanaPolls.prove")(function* (
  context: SolanaContext,
  relayer: SolanaRelayer,
  inquiries: ReadonlyArray<Inquiry<Solana>>,
  now: Moment
) {
  const providers = yield* providersOf(context, relayer)
  const rows = inquiries.map(({ row }) => row)
  const sought: SolanaLooks.Sought = {
    address: context.address,
    attempts: rows.flatMap(({ transaction }) => transaction.attempts),
    lists: context.memory.lists,
    now
  }
  const looks = looksIn(
    yield* withinPoll(providers.opinions(maxAskedProviders, (node) => SolanaLooks.proof(node, sought)))
  )
  const found: Looks = { configured: providers.configured, looks, lacked: lackedBy(looks, context.memory) }
  yield* countLooks(rows.flatMap(({ transaction }) => looks.map((look) => resultOf(look, transaction, found))))
  return new Map(rows.map((row) => [row.transaction.number, seenIn(context, row, found, now, true)]))
})
