// Providers of stellar networks: how they are made, how they answer to sends, what validators have voted, and how they are inspected.
import {
  Cache,
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Predicate,
  Result,
  Schema,
  SchemaIssue,
  SchemaTransformation
} from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import type { CheckFailure, ProviderReading, StellarLedger } from "../../../domain/chain/ChainSnapshot.ts"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import type { StellarNetwork } from "../../../domain/network/Network.ts"
import { failuresOf, probeProviders, runInspection, tooLow, wrongType } from "../../../server/chains/Chains.ts"
import type { ChainKind, InspectionTarget, ProviderQuestions } from "../../../server/chains/Chains.ts"
import { makeProviders } from "../../../server/chains/Providers.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import { answeredFailure, rpcCheckCodes } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcDialect, RpcNode, TypedCall } from "../../../server/chains/RpcNode.ts"
import { RpcNodes } from "../../../server/chains/RpcNodes.ts"
import { present } from "../../core/Presentation.ts"
import { agreeing } from "../../core/Rows.ts"
import { believedBaseFee, believedReserve, publicSettings } from "../rules/StellarNumbers.ts"
import type { LedgerSettings } from "../rules/StellarNumbers.ts"
import type { NodeAnswer } from "../rules/StellarSeen.ts"
import * as Calls from "./StellarCalls.ts"
import { answerOf } from "./StellarCalls.ts"
import { library, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

// Reads what the validators of a network have voted: reserve and fee from the newest ledger, limits and close time from its entries.

/** Answers with more characters than this come from networks that people use, where votes are rare and ledgers are large. */
const largeLedger = 100_000

/** How long what was read counts: after a large ledger, after a small one, and if no provider answers. */
const kept = { large: Duration.hours(1), small: Duration.minutes(1), none: Duration.minutes(1) } as const

/** Networks of which the settings are kept, each with its providers. */
const capacity = 1000

const optional = <A>(read: () => A): A | undefined => Result.getOrUndefined(Result.try(read))

/** What the header of a ledger has of the votes. */
type Header = Pick<LedgerSettings, "baseReserve" | "baseFee">

const isWithin = (value: bigint, { least, most }: typeof believedReserve | typeof believedBaseFee): boolean =>
  value >= least && value <= most

/** stellar-rpc has the header itself, others the entry of the history that contains it. Undefined: no numbers that are believed. */
const headerIn = ({ xdr }: Library, text: string): Header | undefined => {
  const found =
    optional(() => xdr.LedgerHeader.fromXdr(text, "base64")) ??
    optional(() => xdr.LedgerHeaderHistoryEntry.fromXdr(text, "base64").header)
  if (found === undefined) return undefined
  const header = { baseReserve: BigInt(found.baseReserve), baseFee: BigInt(found.baseFee) }
  return isWithin(header.baseReserve, believedReserve) && isWithin(header.baseFee, believedBaseFee) ? header : undefined
}

const isSame = (one: Header, other: Header): boolean =>
  one.baseReserve === other.baseReserve && one.baseFee === other.baseFee

interface Agreement {
  readonly header: Header
  /** Whether as many providers name it as must agree. */
  readonly isAgreed: boolean
}

/**
 * What two providers name, or the only one that is configured. While no two agree, what counted before, else the votes of the public
 * network if a provider names them: a number that one provider makes up neither holds a relayer nor lets it spend its reserve.
 */
const agreementOf = (named: ReadonlyArray<Header>, configured: number, before: Header | undefined): Agreement => {
  const [first] = named
  const same = named.find((one, index) => named.slice(index + 1).some((other) => isSame(one, other)))
  const agreed = same ?? (configured < agreeing ? first : undefined)
  if (agreed !== undefined) return { header: agreed, isAgreed: true }
  const likely = before ?? named.find((one) => isSame(one, publicSettings)) ?? first ?? publicSettings
  return { header: likely, isAgreed: false }
}

const ids = [
  "configSettingContractComputeV0",
  "configSettingContractLedgerCostV0",
  "configSettingContractExecutionLanes",
  "configSettingScpTiming"
] as const

const keysOf = ({ xdr }: Library): ReadonlyArray<string> =>
  ids.map((id) =>
    textOf(xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId[id] })))
  )

type Voted = Pick<LedgerSettings, "closeTime" | "limits" | "callsPerLedger">

/** Milliseconds between which a close time is believed: one provider says it, and polls wait for it. Networks allow 4 to 5 seconds. */
const believedCloseTime = { least: 500, most: 60_000 } as const

const closeTimeIn = (milliseconds: number | undefined): number | undefined =>
  milliseconds !== undefined && milliseconds >= believedCloseTime.least && milliseconds <= believedCloseTime.most
    ? milliseconds
    : undefined

/** Entries that the library cannot read, and others than were asked for, are left out. */
const votedIn = (lib: Library, { entries }: Calls.Entries): Voted => {
  const found = (entries ?? []).flatMap(({ xdr }) => {
    const data = optional(() => lib.xdr.LedgerEntryData.fromXdr(xdr, "base64"))
    return data?.type === "configSetting" ? [data.configSetting] : []
  })
  const compute = found.find((one) => one.type === "configSettingContractComputeV0")?.contractCompute
  const cost = found.find((one) => one.type === "configSettingContractLedgerCostV0")?.contractLedgerCost
  const lanes = found.find((one) => one.type === "configSettingContractExecutionLanes")?.contractExecutionLanes
  const timing = found.find((one) => one.type === "configSettingScpTiming")?.contractScpTiming
  const limits =
    compute === undefined || cost === undefined
      ? undefined
      : {
          instructions: Number(compute.txMaxInstructions),
          diskReadBytes: cost.txMaxDiskReadBytes,
          writeBytes: cost.txMaxWriteBytes
        }
  return {
    ...present("limits", limits),
    ...present("callsPerLedger", lanes?.ledgerMaxTxCount),
    ...present("closeTime", closeTimeIn(timing?.ledgerTargetCloseTimeMilliseconds))
  }
}

interface Read {
  readonly settings: LedgerSettings
  /** Whether another answer is not expected soon. */
  readonly isKept: boolean
  /** Absent: no two providers agree. */
  readonly agreed?: Header
}

const headerAt = (lib: Library, node: RpcNode) =>
  Effect.map(node.call(Calls.latest), ({ headerXdr, metadataXdr }) => ({
    header: headerXdr === undefined ? undefined : headerIn(lib, headerXdr),
    isLarge: (metadataXdr?.length ?? 0) > largeLedger
  }))

/** A provider that lacks one of the answers gives the other. */
const readAt = (lib: Library, node: RpcNode) =>
  Effect.map(
    Effect.all([headerAt(lib, node), Effect.result(node.call(Calls.ledgerEntries(keysOf(lib))))], {
      concurrency: "unbounded"
    }),
    ([found, entries]) => ({
      ...found,
      node,
      voted: Result.isSuccess(entries) ? votedIn(lib, entries.success) : {}
    })
  )

/** How long others are waited for that confirm the numbers of the first provider. */
const confirmation = Duration.seconds(2)

/** The providers of a network. */
type VotingProviders = Pick<Providers, "configured" | "first" | "others">

/** `before`: what providers agreed on last. */
const readFrom = Effect.fnUntraced(function* (
  { configured, first, others }: VotingProviders,
  before: Header | undefined
) {
  const lib = yield* library
  const { header, isLarge, node, voted } = yield* first((one) => readAt(lib, one))
  const asked = others(
    node,
    (other) => Effect.map(headerAt(lib, other), (found) => found.header),
    (found) => found !== undefined && header !== undefined && isSame(found, header)
  )
  const opinions =
    configured < agreeing
      ? []
      : yield* Effect.timeoutOrElse(asked, { duration: confirmation, orElse: () => Effect.succeed([]) })
  const named = [header, ...opinions.map(({ result }) => Result.getOrUndefined(result))]
  const agreement = agreementOf(
    named.filter((one) => one !== undefined),
    configured,
    before
  )
  const read: Read = {
    settings: { ...publicSettings, ...agreement.header, ...voted },
    isKept: isLarge && agreement.isAgreed,
    ...(agreement.isAgreed ? { agreed: agreement.header } : {})
  }
  return read
})

/**
 * The settings of networks, by a key that names a network and its providers. While none answers, those that were read last count, then
 * those of the public network. `known`: what was read last, which asks nobody.
 */
const makeSettings = Effect.fnUntraced(function* (providersOf: (key: string) => Effect.Effect<VotingProviders>) {
  const last = new Map<string, LedgerSettings>()
  const agreed = new Map<string, Header>()
  const readAgain = Effect.fnUntraced(function* (key: string) {
    const read = yield* readFrom(yield* providersOf(key), agreed.get(key))
    if (read.agreed !== undefined) agreed.set(key, read.agreed)
    return read
  })
  const cache = yield* Cache.makeWith<string, Read, RpcFailure>(readAgain, {
    capacity,
    timeToLive: (exit) => (Exit.isFailure(exit) ? kept.none : exit.value.isKept ? kept.large : kept.small)
  })
  return {
    read: (key: string): Effect.Effect<LedgerSettings> =>
      Cache.get(cache, key).pipe(
        Effect.map(({ settings }) => {
          last.set(key, settings)
          return settings
        }),
        Effect.orElseSucceed(() => last.get(key) ?? publicSettings)
      ),
    known: (key: string): LedgerSettings | undefined => last.get(key)
  }
})

export const dialect: RpcDialect = { networkType: "stellar", codes: rpcCheckCodes, isAnswer: () => false }

export interface StellarProviders extends Providers {
  /** What the network has voted, as these providers say it. It was read not long ago. */
  readonly settings: Effect.Effect<LedgerSettings>
  /** The same as it was read last, without a question to a provider. Undefined: it was not read yet. */
  readonly known: Effect.Effect<LedgerSettings | undefined>
}

/** Fails if the node is on another network. `note`: gets the protocol that the node names. */
const prove =
  (passphrase: string, note: (url: string, protocol: number) => void = () => {}) =>
  (node: RpcNode) =>
    Effect.flatMap(node.call(Calls.network), ({ passphrase: found, protocolVersion }) => {
      if (found !== passphrase) return Effect.fail(answeredFailure("mismatch").of(Calls.network.method))
      if (protocolVersion !== undefined) note(node.url, protocolVersion)
      return Effect.void
    })

/** A network and the providers of it that are asked. */
interface Place {
  readonly urls: ReadonlyArray<RpcConfig>
  readonly passphrase: string
}

/** Makes providers. Those of one network with the same URLs share what they know of its settings. */
export const make = Effect.fnUntraced(function* (nodeOf: (url: string) => RpcNode) {
  const chosen = ({ passphrase, urls }: Place) => makeProviders({ nodeOf, prove: prove(passphrase) }, urls)
  const settings = yield* makeSettings((key) => chosen(JSON.parse(key) as Place))
  return {
    providers: Effect.fnUntraced(function* (urls: ReadonlyArray<RpcConfig>, passphrase: string) {
      const place = JSON.stringify({ urls, passphrase } satisfies Place)
      const made: StellarProviders = {
        ...(yield* chosen({ urls, passphrase })),
        settings: settings.read(place),
        known: Effect.sync(() => settings.known(place))
      }
      return made
    })
  }
})

export class StellarNodes extends Context.Service<
  StellarNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, passphrase: string): Effect.Effect<StellarProviders>
  }
>()("effect-relayer/networks/stellar/chain/StellarNodes") {}

export const makeStellarNodes = Effect.flatMap(RpcNodes, (nodes) =>
  Effect.map(
    make((url) => nodes.of(dialect, url)),
    StellarNodes.of
  )
)

/** `envelope`: base64. `hash`: of it, in hex. */
export const send =
  (lib: Library, envelope: string, hash: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> =>
    node.send({ method: "sendTransaction", params: { transaction: envelope } }).pipe(
      Effect.map((answer) => answerOf(lib, answer, hash)),
      Effect.catchTag("Unanswered", () => Effect.succeed<NodeAnswer>({ status: "UNKNOWN" }))
    )

// Reads an account of the Stellar ledger from an RPC server. The chain library is loaded on first use.

const Entries = Schema.Struct({
  entries: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ xdr: Schema.String }))))
})

const Account = Schema.Struct({ balance: Uint64, sequence_number: Uint64 })
type Account = typeof Account.Type

/** `read` decodes a ledger entry from XDR. It throws if the entry is not the account. */
const accountBy = (read: (entry: string) => typeof Account.Encoded) =>
  Entries.pipe(
    Schema.decodeTo(
      Schema.NullOr(Account),
      SchemaTransformation.transformEffect({
        decode: ({ entries }: typeof Entries.Type, options) => {
          const entry = entries?.at(0)?.xdr
          if (entry === undefined) return Effect.succeed(null)
          return Effect.try({
            try: () => read(entry),
            catch: () => new SchemaIssue.InvalidValue({ expected: "the account's entry" }, entry, options)
          })
        },
        encode: (_, options) =>
          Effect.fail(new SchemaIssue.Forbidden({ message: "entries are only read" }, undefined, options))
      })
    )
  )

/** The call that reads the account. Its result is null if the account does not exist. */
const accountCall = Effect.fn("StellarNodes.get")((address: string) =>
  Effect.promise(async (): Promise<TypedCall<Account | null>> => {
    const { Keypair, xdr } = await import("@stellar/stellar-sdk/base")
    const accountId = Keypair.fromPublicKey(address).xdrPublicKey()
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXDR("base64")
    const result = accountBy((entry) => {
      const data = xdr.LedgerEntryData.fromXDR(entry, "base64")
      if (data.type !== "account" || data.account.accountId.toXDR("base64") !== accountId.toXDR("base64")) {
        throw new Error("the entry is not the requested account")
      }
      return { balance: data.account.balance, sequence_number: data.account.seqNum }
    })
    return { method: "getLedgerEntries", params: { keys: [key] }, result }
  })
)

// Inspects an account of a Stellar network, and its providers. It calls RPC servers, not Horizon: a relayer can choose its RPC servers and have
// several of them, while `horizon_url` is optional.

/** Milliseconds for which a check waits for what the network has voted. */
const settingsBudgetMs = 5000

const noAccount: CheckFailure = { type: "SequenceSyncFailed", code: "no_account" }

/** What `probe` asks besides. Ledgers are final when they are closed, and no provider has all of them. */
export const stellarQuestions: ProviderQuestions = {
  cheap: Calls.network,
  version: { method: "getVersionInfo" },
  versionIn: (result) =>
    Predicate.hasProperty(result, "version") ? `stellar-rpc/${String(result.version)}` : undefined,
  feeHistory: { method: Calls.feeStats.method }
}

/** Notes the protocol that each provider names when it proves itself. */
const noting = (passphrase: string) => {
  const protocols = new Map<string, number>()
  return {
    prove: prove(passphrase, (url, protocol) => void protocols.set(maskUrl(url), protocol)),
    noted: <Reading extends ProviderReading>(readings: ReadonlyArray<Reading>): ReadonlyArray<Reading> =>
      readings.map((reading) => ({ ...reading, ...present("protocol_version", protocols.get(reading.url)) }))
  }
}

const probe: ChainKind["probe"] = Effect.fn("StellarNodes.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "stellar") return yield* wrongType
  const { noted, prove } = noting(network.passphrase)
  return noted(yield* probeProviders({ nodes, dialect, urls, prove, budgetMs }, stellarQuestions))
})

/** The ledgers of the first provider that answers. Undefined: no provider answers; the read of the account reports that. */
const readLedger = Effect.fnUntraced(function* (
  network: typeof StellarNetwork.Type,
  { first }: Providers,
  settings: Effect.Effect<LedgerSettings | undefined>
) {
  const found = yield* Effect.result(first((node) => node.call(Calls.newest)))
  if (Result.isFailure(found)) return undefined
  const { latestLedger, latestLedgerCloseTime, oldestLedger } = found.success
  const now = yield* Clock.currentTimeMillis
  const kept = Math.max(0, latestLedger - oldestLedger + 1) * network.average_blocktime_ms
  const ledger: StellarLedger = {
    age_seconds: Math.floor(now / 1000) - latestLedgerCloseTime,
    ...present("base_reserve", (yield* settings)?.baseReserve),
    ...(network.is_testnet ? {} : { kept_seconds: Math.floor(kept / 1000) })
  }
  return ledger
})

const inspectWith = (stellar: StellarNodes["Service"]) =>
  Effect.fn("StellarNodes.inspect")(function* (
    nodes: RpcNodes["Service"],
    { relayer, network, urls, budgetMs }: InspectionTarget
  ) {
    if (relayer.network_type !== "stellar" || network.network_type !== "stellar") return yield* wrongType
    const { address, policies } = relayer
    const { network_type, passphrase } = network

    const readAccount = Effect.fnUntraced(function* ({ first }: Providers) {
      const call = yield* accountCall(address)
      const account = yield* Effect.result(first((node) => node.call(call)))
      if (Result.isFailure(account)) return { failures: failuresOf("SequenceSyncFailed", account) }
      if (account.success === null) return { failures: [noAccount] }
      const failures = tooLow(account.success.balance, minBalanceOf(network_type, policies))
      return { ...account.success, failures }
    })

    const known = yield* stellar.providers(urls, passphrase)
    const settings = Effect.timeoutOrElse(known.settings, {
      duration: budgetMs ?? settingsBudgetMs,
      orElse: () => Effect.succeed(undefined)
    })
    const read = (providers: Providers) =>
      Effect.map(
        Effect.all([readAccount(providers), readLedger(network, providers, settings)], { concurrency: "unbounded" }),
        ([account, ledger]) => ({ ...account, ...present("ledger", ledger) })
      )

    const { noted, prove } = noting(passphrase)
    const { providers, ...found } = yield* runInspection({ nodes, dialect, urls, prove, budgetMs }, read)
    return { network_type, ...found, providers: noted(providers) }
  })

/** `stellar`: what the service has read of the settings of networks. */
export const stellarKindOf = (stellar: StellarNodes["Service"]): ChainKind => ({ probe, inspect: inspectWith(stellar) })
