// What a stellar lane knows from poll to poll: the accounts of the service, and what its providers said at polls and in proofs.
import { Clock, Effect, Result } from "effect"
import type { Array } from "effect"
import { SqlClient } from "effect/sql"
import { maskUrl, stalledAfter } from "../../../domain/chain/Rpc.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { failureOf, noteAlone, pollBudget, rememberedProviders, withinPoll } from "../../../server/lanes/LaneNetwork.ts"
import type { LaneRelayer, LaneRow, ProviderMemory } from "../../../server/lanes/LaneNetwork.ts"
import { LaneLedger } from "../../../server/ledger/LaneLedger.ts"
import type { PriceSource } from "../../../server/prices/PriceSource.ts"
import type { AddressPart } from "../../../sql/Rows.ts"
import * as Batcher from "../../../sql/batch/Batcher.ts"
import { present } from "../../core/Presentation.ts"
import { currentAttempts, isFinal } from "../../core/Transaction.ts"
import type { Lane, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { Fees } from "../chain/StellarCalls.ts"
import { accountsIn, library, networkIdOf } from "../chain/StellarLibrary.ts"
import type { Library } from "../chain/StellarLibrary.ts"
import * as StellarLooks from "../chain/StellarLooks.ts"
import type { Accounts, Newest } from "../chain/StellarLooks.ts"
import type { StellarNodes, StellarProviders } from "../chain/StellarNodes.ts"
import { sequenceOf, watchedOf } from "../rules/Proving.ts"
import { momentOf } from "../rules/Stellar.ts"
import type { Stellar } from "../rules/Stellar.ts"
import {
  cutScanPause,
  guestLedgers,
  ledgerTimeOf,
  maxXdrLength,
  proofPause,
  publicSettings
} from "../rules/StellarNumbers.ts"
import type { LedgerSettings } from "../rules/StellarNumbers.ts"
import { isOurs, rangeOf } from "../rules/StellarSeen.ts"
import type {
  AccountAt,
  Applied,
  GivenPlace,
  LedgerScan,
  ProviderLook,
  SequenceUse,
  StellarSeen,
  Testimony,
  Watched
} from "../rules/StellarSeen.ts"

// Accounts of the service in an envelope. An envelope of a user in which one of them acts is not signed.

/** `text`: the XDR of an envelope in base64. `addresses`: what is named besides, such as by the simulation of the envelope. */
interface NamedAccounts {
  readonly text?: string
  readonly addresses?: ReadonlyArray<string>
}

/** All accounts of the service that are named, or that may have signed the envelope, and maybe others. */
export type OwnAccounts = (named: NamedAccounts) => Effect.Effect<ReadonlySet<string>>

/** A text that is longer is refused when it is decoded. */
const partOf = ({ text = "", addresses = [] }: NamedAccounts): AddressPart =>
  accountsIn(Buffer.from(text.slice(0, maxXdrLength), "base64"), addresses)

const joined = ([first, ...others]: Array.NonEmptyReadonlyArray<AddressPart>): AddressPart => ({
  ...first,
  texts: [...new Set([first, ...others].flatMap(({ texts }) => texts))]
})

/**
 * Those of relayers and channels, also of relayers that were deleted, on every stellar network. Requests of the same moment share one
 * read, which begins after each of them.
 */
export const makeOwnAccounts = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const read = (part: AddressPart) =>
    Effect.map(ledger.addresses("stellar", part), (addresses): ReadonlySet<string> => new Set(addresses))
  const batched = yield* Batcher.make<AddressPart, ReadonlySet<string>>(yield* SqlClient.SqlClient, {
    all: (requests) => Effect.map(read(joined(requests)), (own) => requests.map(() => own))
  })
  return ((named) => Effect.suspend(() => batched(partOf(named)))) satisfies OwnAccounts
})

export type StellarRelayer = LaneRelayer<Stellar>

/** What one provider said at its last answer. */
interface Sighting {
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
  readonly scan?: LedgerScan
}

/** When a provider was asked for a proof for the last time, how often, and what it said. */
interface AskedProof {
  readonly at: Moment
  readonly times: number
  readonly proof: Proof
}

export interface StellarMemory extends ProviderMemory<StellarProviders> {
  /** By URL. */
  readonly sightings: Map<string, Sighting>
  /** Since when only one provider has an opinion, by `LaneRelayer.urlsKey`. */
  readonly aloneSince: Map<string, Moment>
  /** When the first poll of a set of providers began, by `LaneRelayer.urlsKey`. */
  readonly polledSince: Map<string, Moment>
  /** By provider, account, sequence and envelopes. */
  readonly proofs: Map<string, AskedProof>
  /** When a scan ended before its range did, by provider, account and sequence. */
  readonly cutScans: Map<string, Moment>
  /** The highest ledger that any provider has shown, and when. */
  newest: { readonly number: number; readonly at: Moment } | undefined
  /** The shared reading of fees of recent ledgers, by `LaneRelayer.urlsKey`, with the ledger at which it began. */
  readonly fees: Map<string, { readonly ledger: number; readonly fees: Effect.Effect<Fees | undefined> }>
}

export const makeStellarMemory = (): StellarMemory => ({
  genesis: undefined,
  providers: new Map(),
  sightings: new Map(),
  aloneSince: new Map(),
  polledSince: new Map(),
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

/** The providers of a relayer. */
export const providersOf = (
  { memory, nodes }: Pick<StellarContext, "memory" | "nodes">,
  { urls, urlsKey, target }: StellarRelayer
) => rememberedProviders(memory, urlsKey, nodes.providers(urls, target.network.passphrase))

// Polls of a stellar lane: the accounts of the lane at one ledger of each provider. Answers of two providers are never mixed.

/** Providers that are asked in one poll. */
const maxAsked = 5

export interface ProviderSighting {
  /** Not masked. */
  readonly url: string
  /** Absent: it did not answer. */
  readonly sighting?: Sighting
}

/** What the providers of a relayer saw. */
export interface StellarPoll {
  readonly configured: number
  readonly seen: ReadonlyArray<ProviderSighting>
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

/** Whether the newest ledger of the provider stays for so long that it counts as stalled. */
const isStalled = ({ sighting }: ProviderSighting, { settings }: Pick<StellarPoll, "settings">, now: Moment): boolean =>
  sighting === undefined || now >= sighting.movedAt + stalledAfter(ledgerTimeOf(settings))

const noteNewest = ({ memory }: StellarContext, found: StellarPoll, now: Moment): void => {
  const highest = polledHeight(found)
  if (highest > (memory.newest?.number ?? 0)) memory.newest = { number: highest, at: now }
}

/** The accounts that a poll reads: those of the lane, and the foreign ones whose envelopes the lane pays for. */
export const polledAddresses = (lane: Lane<Stellar>, rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlyArray<string> => [
  ...new Set([
    ...lane.accounts.map(({ address }) => address),
    ...rows.flatMap(({ transaction }) => (isFinal(transaction) ? [] : (transaction.facts.guest?.account ?? [])))
  ])
]

export const pollProviders = Effect.fn("StellarContext.poll")(function* (
  context: StellarContext,
  relayer: StellarRelayer,
  addresses: ReadonlyArray<string>,
  given: ReadonlyArray<GivenPlace>,
  now: Moment
) {
  const lib = yield* library
  const providers = yield* providersOf(context, relayer)
  const { aloneSince, polledSince } = context.memory
  if (!polledSince.has(relayer.urlsKey)) polledSince.set(relayer.urlsKey, now)
  const [opinions, settings] = yield* Effect.all(
    [
      withinPoll(providers.opinions(maxAsked, (node) => look(context, lib, node, addresses, now))),
      Effect.timeoutOrElse(providers.settings, {
        duration: pollBudget,
        orElse: () => Effect.map(providers.known, (known) => known ?? publicSettings)
      })
    ],
    { concurrency: "unbounded" }
  )
  const seen = opinions.map(({ url, result }): ProviderSighting => ({
    url,
    ...present("sighting", Result.getOrUndefined(result))
  }))
  const { configured } = providers
  const found: StellarPoll = { configured, seen, given, settings }
  const speaking = seen.filter((one) => !isStalled(one, found, now)).length
  noteAlone(aloneSince, relayer, { configured, speaking }, now)
  if (seen.every(({ sighting }) => sighting === undefined)) return yield* failureOf(opinions)
  noteNewest(context, found, now)
  return found
})

/** The account whose sequence counts for a transaction. */
const accountOf = (address: string, { place, facts }: Transaction<Stellar>): string =>
  facts.guest?.account ?? place?.account ?? address

/** What providers say about the envelopes of a transaction, by URL. */
type Proofs = ReadonlyMap<string, Pick<Testimony, "found" | "scan">>

const noProofs: Proofs = new Map()

const providerLook = (
  { address }: StellarContext,
  transaction: Transaction<Stellar>,
  one: ProviderSighting,
  { isStalled, proofs }: { readonly isStalled: boolean; readonly proofs: Proofs }
): ProviderLook => {
  const host = maskUrl(one.url)
  const { sighting } = one
  if (sighting === undefined) return { host, isStalled: true, testimony: {} }
  const { newest, accounts } = sighting
  return {
    host,
    isStalled,
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
  found: StellarPoll,
  now: Moment,
  proofs: Proofs = noProofs
): StellarSeen => ({
  _tag: "Seen",
  configured: found.configured,
  settings: found.settings,
  looks: found.seen.map((one) =>
    providerLook(context, transaction, one, { isStalled: isStalled(one, found, now), proofs })
  ),
  ...(proofs === noProofs ? {} : { isProofAsked: true as const }),
  ...(found.given.length === 0 ? {} : { given: found.given }),
  newestSince: context.memory.newest?.at ?? now,
  polledSince: context.memory.polledSince.get(relayer.urlsKey) ?? now,
  ...present("aloneSince", context.memory.aloneSince.get(relayer.urlsKey))
})

/** The newest ledger of any provider. */
export const polledHeight = ({ seen }: StellarPoll): number =>
  Math.max(0, ...seen.map(({ sighting }) => sighting?.newest.ledger.number ?? 0))

/** When the newest ledger of any provider was closed. */
export const newestCloseOf = ({ seen }: StellarPoll): Moment =>
  momentOf(Math.max(0, ...seen.map(({ sighting }) => sighting?.newest.ledger.closeTime ?? 0)))

/** The account at each provider whose ledgers move. */
export const movingAccounts = (found: StellarPoll, address: string, now: Moment): ReadonlyArray<AccountAt> =>
  found.seen.flatMap((one) =>
    one.sighting === undefined || isStalled(one, found, now)
      ? []
      : [StellarLooks.accountAt(one.sighting.accounts, address)]
  )

// The question `proof`: what became of the envelopes of a transaction, of each provider by itself. The accounts were read before, and show
// that the sequence is used.

const isUsed = ({ sequence }: AccountAt, wanted: bigint): boolean => sequence === undefined || sequence >= wanted

const findAmong = Effect.fnUntraced(function* (lib: Library, node: RpcNode, hashes: ReadonlySet<string>) {
  const found = yield* Effect.forEach(hashes, (hash) => StellarLooks.applied(lib, node, hash), {
    concurrency: "unbounded"
  })
  return found.find((one): one is Applied => one !== undefined)
})

/**
 * The first envelope that the provider has. At one sequence, at most one envelope is applied. Inner hashes are only asked for if the
 * provider has none of the envelopes: another sender may have paid for the inner one.
 */
const findAny = Effect.fnUntraced(function* (lib: Library, node: RpcNode, watched: ReadonlyArray<Watched>) {
  const found = yield* findAmong(lib, node, new Set(watched.map(({ hash }) => hash)))
  if (found !== undefined) return found
  return yield* findAmong(lib, node, new Set(watched.flatMap(({ innerHash }) => innerHash ?? [])))
})

interface Sought {
  readonly account: string
  readonly sequence: bigint
  readonly watched: ReadonlyArray<Watched>
  /** False: the envelope of a guest, for which the service has sent nothing. */
  readonly isSigned: boolean
  readonly networkId: Uint8Array
  readonly given: StellarLooks.GivenAmong
}

/** Absent: the range would need ledgers that the provider does not keep, or it did not answer. */
const scanOf = Effect.fnUntraced(function* (
  { cutScans }: StellarMemory,
  lib: Library,
  node: RpcNode,
  { account, given, isSigned, sequence, watched, networkId }: Sought,
  at: AccountAt,
  oldestLedger: number
) {
  const range = rangeOf(sequence, watched, at)
  // The service does not know since when the envelope of a guest exists.
  const from = isSigned ? range.from : Math.max(range.from, range.to - guestLedgers, oldestLedger)
  if (from < oldestLedger) return undefined
  const key = `${node.url} ${account} ${sequence}`
  const now = yield* Clock.currentTimeMillis
  const cutAt = cutScans.get(key)
  if (cutAt !== undefined && now < cutAt + cutScanPause) return { isCut: true } satisfies LedgerScan
  const scanned: LedgerScan | undefined = Result.getOrUndefined(
    yield* Effect.result(StellarLooks.scan(lib, node, networkId, { account, sequence }, { from, to: range.to }, given))
  )
  if (scanned?.isCut === true) cutScans.set(key, now)
  else cutScans.delete(key)
  return scanned
})

/** The look-up by hash of a transaction that a scan has found. `hash`: by which the service knows it. */
const ownIn = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  { hashes }: SequenceUse,
  watched: Sought["watched"]
) {
  const known = new Set(watched.flatMap(({ hash, innerHash }) => [hash, innerHash]))
  const found = yield* StellarLooks.applied(lib, node, hashes[0])
  return found && { ...found, hash: hashes.find((hash) => known.has(hash)) ?? found.hash }
})

/** What the provider says now. */
const askProof = Effect.fnUntraced(function* (
  memory: StellarMemory,
  lib: Library,
  node: RpcNode,
  sought: Sought,
  at: AccountAt,
  oldestLedger: number
) {
  const found = yield* findAny(lib, node, sought.watched)
  if (found !== undefined) return { found } satisfies Proof
  const scan = yield* scanOf(memory, lib, node, sought, at, oldestLedger)
  const own =
    scan?.use !== undefined && isOurs(scan.use, sought.watched)
      ? yield* ownIn(lib, node, scan.use, sought.watched)
      : undefined
  return (own === undefined ? { ...present("scan", scan) } : { found: own }) satisfies Proof
})

/** Milliseconds after which a provider is asked again that was asked so many times: its index may be behind, or another provider's. */
const pauseAfter = (times: number): number => Math.min(proofPause.longest, proofPause.first * 2 ** (times - 1))

/** What nobody has asked for in a long time is forgotten. */
const forget = ({ proofs }: StellarMemory, now: Moment): void => {
  for (const [key, { at }] of proofs) if (now > at + proofPause.forgotten) proofs.delete(key)
}

/** While a transaction is not decided, a provider is asked again after a pause, which grows. Meanwhile, what it said counts. */
const proofBy = Effect.fnUntraced(function* ({ memory }: StellarContext, lib: Library, node: RpcNode, sought: Sought) {
  const sighting = memory.sightings.get(node.url)
  if (sighting === undefined) return undefined
  const at = StellarLooks.accountAt(sighting.accounts, sought.account)
  if (!isUsed(at, sought.sequence)) return undefined
  const key = [node.url, sought.account, sought.sequence, ...sought.watched.map(({ hash }) => hash)].join(" ")
  const now = yield* Clock.currentTimeMillis
  forget(memory, now)
  const former = memory.proofs.get(key)
  if (former !== undefined && now < former.at + pauseAfter(former.times)) {
    return former.proof
  }
  const times = (former?.times ?? 0) + 1
  memory.proofs.set(key, { at: now, times, proof: {} })
  const proof: Proof = yield* askProof(memory, lib, node, sought, at, sighting.newest.oldestLedger)
  memory.proofs.set(key, { at: now, times, proof })
  return proof
})

/** Asks the providers that were polled about one transaction. By URL. */
export const prove = Effect.fn("StellarContext.prove")(function* (
  context: StellarContext,
  { transaction, relayer }: LaneRow<Stellar>,
  given: StellarLooks.GivenAmong
) {
  const proofs = new Map<string, Proof>()
  const sequence = sequenceOf(transaction)
  if (sequence === undefined) return proofs
  const lib = yield* library
  const sought: Sought = {
    account: accountOf(context.address, transaction),
    sequence,
    watched: watchedOf(transaction),
    isSigned: currentAttempts(transaction).length > 0,
    networkId: networkIdOf(relayer.target.network.passphrase),
    given
  }
  const providers = yield* providersOf(context, relayer)
  const opinions = yield* providers.opinions(maxAsked, (node) => proofBy(context, lib, node, sought))
  for (const { url, result } of opinions) {
    if (Result.isSuccess(result) && result.success !== undefined) proofs.set(url, result.success)
  }
  return proofs
})
