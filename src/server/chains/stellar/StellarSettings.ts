// Reads what the validators of a network have voted: reserve and fee from the newest ledger, limits and close time from its entries.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Cache, Duration, Effect, Exit, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import { publicSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type * as RpcFailure from "../RpcFailure.ts"
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

/** stellar-rpc has the header itself, others the entry of the history that contains it. */
const headerIn = ({ xdr }: Library, text: string): Xdr.LedgerHeader | undefined =>
  optional(() => xdr.LedgerHeader.fromXdr(text, "base64")) ??
  optional(() => xdr.LedgerHeaderHistoryEntry.fromXdr(text, "base64").header)

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
  readonly isLarge: boolean
}

/** A provider that lacks one of the answers gives the other. */
const readAt = Effect.fnUntraced(function* (lib: Library, node: RpcNode) {
  const [latest, entries] = yield* Effect.all(
    [node.call(Calls.latest), Effect.result(node.call(Calls.ledgerEntries(keysOf(lib))))],
    { concurrency: "unbounded" }
  )
  const header = latest.headerXdr === undefined ? undefined : headerIn(lib, latest.headerXdr)
  const read: Read = {
    settings: {
      ...publicSettings,
      ...(header === undefined ? {} : { baseReserve: BigInt(header.baseReserve), baseFee: BigInt(header.baseFee) }),
      ...(Result.isSuccess(entries) ? votedIn(lib, entries.success) : {})
    },
    isLarge: (latest.metadataXdr?.length ?? 0) > largeLedger
  }
  return read
})

type First = <A>(
  use: (node: RpcNode) => Effect.Effect<A, RpcFailure.RpcFailure>
) => Effect.Effect<A, RpcFailure.RpcFailure>

/**
 * The settings of networks, by a key that names a network and its providers. `firstOf`: asks these providers in turn. While none answers,
 * those that were read last count, then those of the public network.
 */
export const make = Effect.fnUntraced(function* (firstOf: (key: string) => Effect.Effect<First>) {
  const last = new Map<string, LedgerSettings>()
  const cache = yield* Cache.makeWith<string, Read, RpcFailure.RpcFailure>(
    Effect.fnUntraced(function* (key) {
      const lib = yield* library
      const first = yield* firstOf(key)
      return yield* first((node) => readAt(lib, node))
    }),
    {
      capacity,
      timeToLive: (exit) => (Exit.isFailure(exit) ? kept.none : exit.value.isLarge ? kept.large : kept.small)
    }
  )
  return (key: string): Effect.Effect<LedgerSettings> =>
    Cache.get(cache, key).pipe(
      Effect.map(({ settings }) => {
        last.set(key, settings)
        return settings
      }),
      Effect.orElseSucceed(() => last.get(key) ?? publicSettings)
    )
})
