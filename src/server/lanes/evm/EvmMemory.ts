// What the parts of an evm lane share: its account, its providers, and what it remembers from poll to poll.
import type { Claim, LaneView } from "../../../domain/transaction/evm/BelievedCount.ts"
import type { Absence, Seen } from "../../../domain/transaction/evm/View.ts"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import { networkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { EvmNodes, EvmProviders } from "../../chains/evm/EvmNodes.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { rememberedProviders } from "../LaneNetwork.ts"
import type { LaneRelayer, ProviderMemory } from "../LaneNetwork.ts"

/** What a poll has seen of the account as a whole, without the parts about single transactions. */
export interface EvmPoll {
  /** The provider that answered. */
  readonly node: RpcNode
  readonly lane: LaneView
  /** Transactions of the account that are certainly in blocks which count as final. */
  readonly finalCount: number
  /** When the head was asked for. */
  readonly headAskedAt: Moment
  /** By number of the transaction. */
  readonly views: ReadonlyMap<number, Seen>
  /** For transactions without a nonce, and for final ones. */
  readonly base: Seen
}

/** What earlier polls of one set of providers have seen. Other sets do not see it, because a relayer's own URLs decide only about its rows. */
export interface Beliefs {
  /** A count that was not believed yet. */
  claim: Claim | undefined
  /** Transactions of the account that polls have proven to be in final blocks. */
  finalCount: number
  /** Since when a provider has had no opinion about a block. */
  readonly silences: Map<string, Moment>
  /** Nonces in final blocks whose transactions were compared with the ledger. */
  readonly explained: Set<number>
  /** Polls in a row in which a used nonce could not be explained. */
  unexplained: number
  /** The lowest used nonce that polls do not explain because indexes lag behind the count, and since when. */
  behind: { readonly nonce: number; readonly since: Moment } | undefined
  /** Polls in a row that did not show a transaction which has waited for longer than its patience. */
  blind: number
  /** The start of the database that the newest polls are younger than. */
  seenStart: Moment
  /** The first poll after a start of the database that no poll was younger than yet. */
  firstAfterStart: { readonly start: Moment; readonly at: Moment; readonly head: string } | undefined
}

interface Balance {
  readonly wei: bigint
  readonly readAt: Moment
  /** The most wei that polls since then had in flight. */
  inFlight: bigint
}

export interface EvmMemory extends ProviderMemory<EvmProviders> {
  /** The balance when it was last read. Undefined: it was not read yet. */
  balance: Balance | undefined
  /** What polls of each provider missed, by hash and then by URL: what one provider does not show says nothing about another one. */
  readonly absences: Map<string, Map<string, Absence>>
  /** URLs of providers that have bytes which they do not show by hash. That they show none is no sign that bytes are gone. */
  readonly hidesPool: Set<string>
  /** Since when no poll shows what used the nonce of a transaction, because indexes lag behind the count. By number. */
  readonly behind: Map<number, Moment>
  /** Masked URLs of the providers that accepted bytes that were sent again, by hash. */
  readonly acceptedBy: Map<string, ReadonlySet<string>>
  /** Code of the account itself. Undefined: not asked yet. */
  accountCode: { readonly code: string; readonly readAt: Moment } | undefined
  /** Wei that a rollup charged besides gas, according to the receipt that was read last. */
  lastRollupFee: bigint | undefined
  /** The highest tip that the chain did not take although there was room, in wei per gas, and when that was seen last. */
  passedOver: { readonly tip: bigint; readonly at: Moment } | undefined
  /** What earlier polls saw of each set of providers, by `LaneRelayer.urlsKey`. */
  readonly beliefs: Map<string, Beliefs>
  /** The newest poll, by `LaneRelayer.urlsKey`. */
  polls: ReadonlyMap<string, EvmPoll>
}

export const make = (genesis: string | undefined): EvmMemory => ({
  genesis,
  balance: undefined,
  absences: new Map(),
  hidesPool: new Set(),
  behind: new Map(),
  acceptedBy: new Map(),
  accountCode: undefined,
  lastRollupFee: undefined,
  passedOver: undefined,
  providers: new Map(),
  beliefs: new Map(),
  polls: new Map()
})

const noBeliefs = (): Beliefs => ({
  claim: undefined,
  finalCount: 0,
  silences: new Map(),
  explained: new Set(),
  unexplained: 0,
  behind: undefined,
  blind: 0,
  seenStart: -Infinity,
  firstAfterStart: undefined
})

export const beliefsOf = ({ beliefs }: EvmMemory, urlsKey: string): Beliefs => {
  const found = beliefs.get(urlsKey) ?? noBeliefs()
  beliefs.set(urlsKey, found)
  return found
}

export interface EvmContext {
  /** Lower-case hex. */
  readonly address: string
  readonly nodes: EvmNodes["Service"]
  readonly memory: EvmMemory
}

export type EvmRelayer = LaneRelayer<Evm>

export const numbersOf = ({ target }: EvmRelayer): NetworkNumbers => networkNumbers(target.network)

/** The providers of a relayer. */
export const providersOf = ({ memory, nodes }: EvmContext, relayer: EvmRelayer) => {
  const { genesis } = memory
  const identity = { chainId: numbersOf(relayer).chainId, ...(genesis === undefined ? {} : { genesis }) }
  return rememberedProviders(memory, relayer.urlsKey, nodes.providers(relayer.urls, identity))
}
