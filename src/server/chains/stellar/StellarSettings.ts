// Reads what the validators of a network have voted: reserve and fee from the newest ledger, limits and close time from its entries.
import { Cache, Duration, Effect, Exit, Result } from "effect"
import { publicSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import { agreeing, believedBaseFee, believedReserve } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Providers } from "../Providers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./StellarCalls.ts"
import { library, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

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
export interface VotingProviders extends Pick<Providers, "first" | "others"> {
  readonly configured: number
}

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
export const make = Effect.fnUntraced(function* (providersOf: (key: string) => Effect.Effect<VotingProviders>) {
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
