// What the parts of a stellar lane share: its account, its providers, and what it remembers from poll to poll.
import type { OwnAccounts } from "./OwnAccounts.ts"
import { Effect } from "effect"
import type { Applied, Scan } from "../../../domain/transaction/stellar/Evidence.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Accounts, Newest } from "../../chains/stellar/StellarLooks.ts"
import type { Fees } from "../../chains/stellar/StellarCalls.ts"
import type { StellarNodes, StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { LaneRelayer } from "../LaneNetwork.ts"

export type StellarRelayer = LaneRelayer<Stellar>

/** What one provider said at its last answer. */
export interface Sighting {
  readonly newest: Newest
  /** When its newest ledger was first seen. */
  readonly movedAt: Moment
  readonly accounts: Accounts
  /** Accounts that were asked for. */
  readonly asked: ReadonlySet<string>
}

/** What one provider says about the envelopes of a transaction. Without both: it did not answer, or its answer cannot be read. */
export interface Proof {
  readonly found?: Applied
  readonly scan?: Scan
}

/** When a provider was asked for a proof for the last time, how often, and what it said. */
interface AskedProof {
  readonly at: Moment
  readonly times: number
  readonly proof: Proof
}

export interface StellarMemory {
  /** The providers of each set of URLs, by `LaneRelayer.urlsKey`. */
  readonly providers: Map<string, StellarProviders>
  /** By URL. */
  readonly sightings: Map<string, Sighting>
  /** Since when only one provider has an opinion, by `LaneRelayer.urlsKey`. */
  readonly aloneSince: Map<string, Moment>
  /** By provider, account, sequence and envelopes. */
  readonly proofs: Map<string, AskedProof>
  /** When a scan ended before its range did, by provider, account and sequence. */
  readonly cutScans: Map<string, Moment>
  /** The highest ledger that any provider has shown, and when. */
  newest: { readonly number: number; readonly at: Moment } | undefined
  /** The shared reading of fees of recent ledgers, by `LaneRelayer.urlsKey`, with the ledger at which it began. */
  readonly fees: Map<string, { readonly ledger: number; readonly fees: Effect.Effect<Fees | undefined> }>
}

export const make = (): StellarMemory => ({
  providers: new Map(),
  sightings: new Map(),
  aloneSince: new Map(),
  proofs: new Map(),
  cutScans: new Map(),
  newest: undefined,
  fees: new Map()
})

export interface StellarContext {
  /** The account of the relayer, `G…`. */
  readonly address: string
  readonly nodes: StellarNodes["Service"]
  readonly prices: PriceSource["Service"]
  /** Finds the accounts of the service that an envelope, or a list of addresses, names. */
  readonly ownAccounts: OwnAccounts
  readonly memory: StellarMemory
}

/** The providers of a relayer, kept as long as the lane is held. */
export const providersOf = Effect.fnUntraced(function* (
  { memory, nodes }: Pick<StellarContext, "memory" | "nodes">,
  { urls, urlsKey, target }: StellarRelayer
) {
  const found = memory.providers.get(urlsKey)
  if (found !== undefined) return found
  const providers = yield* nodes.providers(urls, target.network.passphrase)
  memory.providers.set(urlsKey, providers)
  return providers
})
