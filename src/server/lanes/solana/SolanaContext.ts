// What the parts of a solana lane share: its account, its providers, and what it remembers from poll to poll.
import { Cause, Deferred, Effect, Exit } from "effect"
import type { Earlier, KnownSignature, Landing } from "../../../domain/transaction/solana/Look.ts"
import { listPage } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { Solana, SolanaRequest } from "../../../domain/transaction/solana/Solana.ts"
import type { Taken } from "../../../domain/transaction/solana/SolanaSituation.ts"
import type { Lifetime } from "../../../domain/transaction/solana/Preparation.ts"
import type { Lists } from "../../chains/solana/SolanaLists.ts"
import type { SolanaNodes, SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"
import type { Attempt } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import { rememberedProviders } from "../LaneNetwork.ts"
import type { LaneRelayer, ProviderMemory } from "../LaneNetwork.ts"

export type SolanaRelayer = LaneRelayer<Solana>

/** Something that was read, or is being read, and since when. */
interface Dated<A, E = never> {
  readonly answer: Deferred.Deferred<A, E>
  readonly at: Moment
}

export interface SolanaMemory extends ProviderMemory<SolanaProviders> {
  /** What each provider concluded, by number of the transaction and URL. */
  readonly earlier: Map<number, Map<string, Earlier>>
  /** What providers say of own signatures that are finalized, of transactions that are open. */
  readonly landings: Map<string, Landing>
  /** Since when only one provider has an opinion, by `LaneRelayer.urlsKey`. */
  readonly aloneSince: Map<string, Moment>
  /** Own signatures that are finalized, in the order in which the lane learned of them. */
  known: Array<KnownSignature>
  readonly restore: RestoreMemory
  /** What looks have read of the list of the address. */
  readonly lists: Lists
  /** The newest blockhash of each set of providers, by `LaneRelayer.urlsKey`. */
  readonly blockhashes: Map<string, Dated<Lifetime>>
  readonly balances: Map<string, Dated<bigint, RpcFailure>>
  /** What an account without data needs, by `LaneRelayer.urlsKey`. */
  readonly rents: Map<string, Dated<bigint, RpcFailure>>
  /** By the accounts that are written. */
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
  readonly taken: Taken
  readonly raw: Uint8Array
}

interface SignedRow {
  readonly number: number
  readonly request: SolanaRequest
  readonly attempts: ReadonlyArray<Attempt<Solana>>
}

/** Own finalized signatures that a lane remembers: as many as one look reads of the list of its address. */
const maxKnown = listPage.entries * listPage.pages

export const make = (genesis: string | undefined): SolanaMemory => ({
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
export const remember = (memory: SolanaMemory, signature: KnownSignature): void => {
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
export const forget = (
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
export const shared = <K, A, E>(
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
        shared(values, key, age, now, read)
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
