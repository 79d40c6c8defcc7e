// Polls of a stellar lane: the accounts of the lane at one ledger of each provider. Answers of two providers are never mixed.
import { Effect, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { AccountAt, Testimony } from "../../../domain/transaction/stellar/Evidence.ts"
import { publicSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import { momentOf } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import type { GivenPlace, ProviderLook, StellarSeen } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import * as StellarLooks from "../../chains/stellar/StellarLooks.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Unreachable } from "../../../domain/transaction/Rules.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { Lane, Transaction } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Opinion } from "../../chains/Providers.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import type { LaneRow } from "../LaneNetwork.ts"
import { providersOf } from "./StellarContext.ts"
import type { Sighting, StellarContext, StellarRelayer } from "./StellarContext.ts"

/** Providers that are asked in one poll. */
export const maxAsked = 5

/** Milliseconds of one poll, over all its questions and providers. */
const budget = 10_000

/** Milliseconds for which the newest ledger of a provider stays before it counts as stalled. */
const stalledAfter = 30_000

/** Milliseconds until the next poll, if the relayer of a transaction was not in the last one. */
const unpolledAfter = 1000

export interface Seen {
  /** Not masked. */
  readonly url: string
  /** Absent: it did not answer. */
  readonly sighting?: Sighting
}

/** What the providers of a relayer saw. */
export interface StellarPoll {
  readonly configured: number
  readonly seen: ReadonlyArray<Seen>
  readonly failure?: Unreachable
  readonly isOtherChain: boolean
  /** Places of the lane that are taken by signatures without a transaction. */
  readonly given: ReadonlyArray<GivenPlace>
  /** What the network has voted. */
  readonly settings: LedgerSettings
}

const covers = ({ asked }: Sighting, addresses: ReadonlyArray<string>): boolean =>
  addresses.every((address) => asked.has(address))

/** Accounts are read once per ledger. */
const look = Effect.fnUntraced(function* (
  { memory }: StellarContext,
  lib: Library,
  node: RpcNode,
  addresses: ReadonlyArray<string>,
  now: Moment
) {
  const newest = yield* StellarLooks.newest(node)
  const former = memory.sightings.get(node.url)
  const isSame = former?.newest.ledger.number === newest.ledger.number
  const sighting: Sighting = {
    newest,
    movedAt: isSame ? former.movedAt : now,
    ...(isSame && covers(former, addresses)
      ? { accounts: former.accounts, asked: former.asked }
      : { accounts: yield* StellarLooks.accounts(lib, node, addresses, newest), asked: new Set(addresses) })
  }
  memory.sightings.set(node.url, sighting)
  return sighting
})

const failureOf = (opinions: ReadonlyArray<Opinion<Sighting>>, retryAt: Moment): Unreachable => {
  const isLimited = opinions.some(({ result }) => Result.isFailure(result) && result.failure.code === "rate_limited")
  const [first] = opinions.flatMap(({ url, result }) =>
    Result.isFailure(result) ? [{ host: maskUrl(url), error: result.failure.text }] : []
  )
  return {
    _tag: "Unreachable",
    code: isLimited ? "rate_limited" : "providers_unavailable",
    retryAt,
    ...present("figures", first)
  }
}

const isMismatch = ({ result }: Opinion<Sighting>): boolean =>
  Result.isFailure(result) && result.failure.code === "mismatch"

const isStalled = ({ sighting }: Seen, now: Moment): boolean =>
  sighting === undefined || now >= sighting.movedAt + stalledAfter

const noteNewest = ({ memory }: StellarContext, found: StellarPoll, now: Moment): void => {
  const highest = heightOf(found)
  if (highest > (memory.newest?.number ?? 0)) memory.newest = { number: highest, at: now }
}

/** Remembers since when only one provider of the relayer has an opinion. */
const noteAlone = ({ memory }: StellarContext, { urlsKey }: StellarRelayer, found: StellarPoll, now: Moment): void => {
  const moving = found.seen.filter((one) => !isStalled(one, now))
  if (found.configured < 2 || moving.length !== 1) memory.aloneSince.delete(urlsKey)
  else if (!memory.aloneSince.has(urlsKey)) memory.aloneSince.set(urlsKey, now)
}

/** The accounts that a poll reads: those of the lane, and the foreign ones whose envelopes the lane pays for. */
export const addressesOf = (lane: Lane<Stellar>, rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlyArray<string> => [
  ...new Set([
    ...lane.accounts.map(({ address }) => address),
    ...rows.flatMap(({ transaction }) => (isFinal(transaction) ? [] : (transaction.facts.guest?.account ?? [])))
  ])
]

export const poll = Effect.fn("StellarPolls.poll")(function* (
  context: StellarContext,
  relayer: StellarRelayer,
  addresses: ReadonlyArray<string>,
  given: ReadonlyArray<GivenPlace>,
  now: Moment,
  retryAt: Moment
) {
  const lib = yield* library
  const providers = yield* providersOf(context, relayer)
  const [opinions, settings] = yield* Effect.all(
    [
      Effect.timeoutOrElse(
        providers.opinions(maxAsked, (node) => look(context, lib, node, addresses, now)),
        { duration: budget, orElse: () => Effect.succeed<ReadonlyArray<Opinion<Sighting>>>([]) }
      ),
      Effect.timeoutOrElse(providers.settings, {
        duration: budget,
        orElse: () => Effect.map(providers.known, (known) => known ?? publicSettings)
      })
    ],
    { concurrency: "unbounded" }
  )
  const seen = opinions.map(({ url, result }): Seen => ({ url, ...present("sighting", Result.getOrUndefined(result)) }))
  const isSilent = seen.every(({ sighting }) => sighting === undefined)
  const found: StellarPoll = {
    configured: providers.configured,
    seen,
    isOtherChain: isSilent && opinions.some(isMismatch),
    given,
    settings,
    ...(isSilent ? { failure: failureOf(opinions, retryAt) } : {})
  }
  noteNewest(context, found, now)
  noteAlone(context, relayer, found, now)
  return found
})

/** The account whose sequence counts for a transaction. */
export const accountOf = (address: string, { place, facts }: Transaction<Stellar>): string =>
  facts.guest?.account ?? place?.account ?? address

/** What providers say about the envelopes of a transaction, by URL. */
type Proofs = ReadonlyMap<string, Pick<Testimony, "found" | "scan">>

const noProofs: Proofs = new Map()

const providerLook = (
  { address }: StellarContext,
  transaction: Transaction<Stellar>,
  one: Seen,
  proofs: Proofs,
  now: Moment
): ProviderLook => {
  const host = maskUrl(one.url)
  const { sighting } = one
  if (sighting === undefined) return { host, isStalled: true, testimony: {} }
  const { newest, accounts } = sighting
  return {
    host,
    isStalled: isStalled(one, now),
    newest: newest.ledger,
    testimony: {
      account: StellarLooks.accountAt(accounts, accountOf(address, transaction)),
      oldestLedger: newest.oldestLedger,
      ...proofs.get(one.url)
    },
    payer: accounts.of.get(address) ?? null
  }
}

export const seenIn = (
  context: StellarContext,
  { transaction, relayer }: LaneRow<Stellar>,
  { configured, given, seen, settings }: StellarPoll,
  now: Moment,
  proofs: Proofs = noProofs
): StellarSeen => ({
  _tag: "Seen",
  configured,
  settings,
  looks: seen.map((one) => providerLook(context, transaction, one, proofs, now)),
  ...(proofs === noProofs ? {} : { isProofAsked: true as const }),
  ...(given.length === 0 ? {} : { given }),
  newestSince: context.memory.newest?.at ?? now,
  ...present("aloneSince", context.memory.aloneSince.get(relayer.urlsKey))
})

/** `found`: undefined if the relayer's providers were not polled. */
export const seenOf = (
  context: StellarContext,
  row: LaneRow<Stellar>,
  found: StellarPoll | undefined,
  now: Moment
): StellarSeen | Unreachable =>
  found === undefined || found.failure !== undefined
    ? (found?.failure ?? { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + unpolledAfter })
    : seenIn(context, row, found, now)

/** The newest ledger of any provider. */
export const heightOf = (found: StellarPoll | undefined): number =>
  Math.max(0, ...(found?.seen ?? []).map(({ sighting }) => sighting?.newest.ledger.number ?? 0))

/** When the newest ledger of any provider was closed. Undefined: none answered. */
export const newestCloseOf = ({ seen }: StellarPoll): Moment | undefined => {
  const times = seen.flatMap(({ sighting }) => (sighting === undefined ? [] : [sighting.newest.ledger.closeTime]))
  return times.length === 0 ? undefined : momentOf(Math.max(...times))
}

/** The account at each provider whose ledgers move. */
export const movingAt = ({ seen }: StellarPoll, address: string, now: Moment): ReadonlyArray<AccountAt> =>
  seen.flatMap((one) =>
    one.sighting === undefined || isStalled(one, now) ? [] : [StellarLooks.accountAt(one.sighting.accounts, address)]
  )
