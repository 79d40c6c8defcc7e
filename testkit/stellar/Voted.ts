// What the validators of the stand-in have voted: protocol, fee, reserve, close time, limits of calls and frozen accounts, also as XDR.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"

export interface Voted {
  readonly protocol: number
  /** Stroops per operation at least (`LedgerHeader.baseFee`). */
  readonly baseFee: bigint
  /** Stroops that an account locks per entry that it owns (`LedgerHeader.baseReserve`). */
  readonly baseReserve: bigint
  /** Milliseconds between two ledgers that validators aim at: 4000 to 5000. */
  readonly closeTime: number
  /** Of one transaction, and the number of transactions with calls in one ledger, where a fee bump counts as two. */
  readonly calls: {
    readonly instructions: number
    readonly diskReadBytes: number
    readonly writeBytes: number
    readonly footprintEntries: number
    readonly sizeBytes: number
    readonly perLedger: number
  }
  /** Accounts whose entries no transaction may touch (CAP-77). */
  readonly frozen: ReadonlyArray<string>
}

/** Like the public network (SLP-4), where the values were found; the numbers of entries and of calls in a ledger are its order of magnitude. */
export const publicVote: Voted = {
  protocol: 28,
  baseFee: 100n,
  baseReserve: 5_000_000n,
  closeTime: 5000,
  calls: {
    instructions: 400_000_000,
    diskReadBytes: 200_000,
    writeBytes: 132_096,
    footprintEntries: 400,
    sizeBytes: 132_096,
    perLedger: 1000
  },
  frozen: []
}

/** What a new network of stellar-core begins with, besides its protocol: reserves of 10 XLM, and one call in a ledger. */
export const genesisVote: Voted = {
  ...publicVote,
  baseReserve: 100_000_000n,
  calls: {
    instructions: 2_500_000,
    diskReadBytes: 3200,
    writeBytes: 3200,
    footprintEntries: 20,
    sizeBytes: 10_000,
    perLedger: 1
  }
}

type Limits = Voted["calls"]

/** Whether the resources of a call exceed a limit of one transaction (`SorobanResources` of `validateSorobanResources`). */
export const isBeyond = ({ footprint, ...declared }: Xdr.SorobanResources, size: number, limits: Limits): boolean =>
  declared.instructions > limits.instructions ||
  declared.diskReadBytes > limits.diskReadBytes ||
  declared.writeBytes > limits.writeBytes ||
  footprint.readOnly.length + footprint.readWrite.length > limits.footprintEntries ||
  size > limits.sizeBytes

const settings: Readonly<Record<string, (voted: Voted) => Xdr.ConfigSettingEntry>> = {
  configSettingContractComputeV0: ({ calls }) =>
    xdr.ConfigSettingEntry.configSettingContractComputeV0(
      new xdr.ConfigSettingContractComputeV0({
        ledgerMaxInstructions: BigInt(calls.instructions),
        txMaxInstructions: BigInt(calls.instructions),
        feeRatePerInstructionsIncrement: 25n,
        txMemoryLimit: 41_943_040
      })
    ),
  configSettingContractLedgerCostV0: ({ calls }) =>
    xdr.ConfigSettingEntry.configSettingContractLedgerCostV0(
      new xdr.ConfigSettingContractLedgerCostV0({
        ledgerMaxDiskReadEntries: calls.footprintEntries,
        ledgerMaxDiskReadBytes: calls.diskReadBytes,
        ledgerMaxWriteLedgerEntries: calls.footprintEntries,
        ledgerMaxWriteBytes: calls.writeBytes,
        txMaxDiskReadEntries: calls.footprintEntries,
        txMaxDiskReadBytes: calls.diskReadBytes,
        txMaxWriteLedgerEntries: calls.footprintEntries,
        txMaxWriteBytes: calls.writeBytes,
        feeDiskReadLedgerEntry: 6250n,
        feeWriteLedgerEntry: 10_000n,
        feeDiskRead1Kb: 1786n,
        sorobanStateTargetSizeBytes: 3_000_000_000n,
        rentFee1KbSorobanStateSizeLow: -17_000n,
        rentFee1KbSorobanStateSizeHigh: 10_000n,
        sorobanStateRentFeeGrowthFactor: 5000
      })
    ),
  configSettingContractBandwidthV0: ({ calls }) =>
    xdr.ConfigSettingEntry.configSettingContractBandwidthV0(
      new xdr.ConfigSettingContractBandwidthV0({
        ledgerMaxTxsSizeBytes: calls.sizeBytes,
        txMaxSizeBytes: calls.sizeBytes,
        feeTxSize1Kb: 1624n
      })
    ),
  configSettingContractExecutionLanes: ({ calls }) =>
    xdr.ConfigSettingEntry.configSettingContractExecutionLanes(
      new xdr.ConfigSettingContractExecutionLanesV0({ ledgerMaxTxCount: calls.perLedger })
    ),
  configSettingScpTiming: ({ closeTime }) =>
    xdr.ConfigSettingEntry.configSettingScpTiming(
      new xdr.ConfigSettingScpTiming({
        ledgerTargetCloseTimeMilliseconds: closeTime,
        nominationTimeoutInitialMilliseconds: 1000,
        nominationTimeoutIncrementMilliseconds: 1000,
        ballotTimeoutInitialMilliseconds: 1000,
        ballotTimeoutIncrementMilliseconds: 1000
      })
    )
}

/** The entry of a setting as `getLedgerEntries` shows it. Undefined: the stand-in has no such setting. */
export const settingOf = (id: string, voted: Voted): Xdr.LedgerEntryData | undefined => {
  const entry = settings[id]
  return entry === undefined ? undefined : xdr.LedgerEntryData.configSetting(entry(voted))
}

interface Closed {
  readonly number: number
  readonly closeTime: number
  readonly hash: string
}

const none = () => new xdr.Hash(new Uint8Array(32))

const headerOf = ({ closeTime, number }: Closed, { baseFee, baseReserve, protocol }: Voted): Xdr.LedgerHeader =>
  new xdr.LedgerHeader({
    ledgerVersion: protocol,
    previousLedgerHash: none(),
    scpValue: new xdr.StellarValue({
      txSetHash: none(),
      closeTime: BigInt(closeTime),
      upgrades: [],
      ext: xdr.StellarValueExt.stellarValueBasic()
    }),
    txSetResultHash: none(),
    bucketListHash: none(),
    ledgerSeq: number,
    totalCoins: 10n ** 18n,
    feePool: 0n,
    inflationSeq: 0,
    idPool: 0n,
    baseFee: Number(baseFee),
    baseReserve: Number(baseReserve),
    maxTxSetSize: 1000,
    skipList: [none(), none(), none(), none()],
    ext: xdr.LedgerHeaderExt.v0()
  })

/** The header and the meta of a ledger, as `getLatestLedger` shows them. The meta leaves out its transactions. */
export const ledgerXdr = (closed: Closed, voted: Voted) => {
  const header = headerOf(closed, voted)
  const ledgerHeader = new xdr.LedgerHeaderHistoryEntry({
    hash: new xdr.Hash(Buffer.from(closed.hash, "hex")),
    header,
    ext: xdr.LedgerHeaderHistoryEntryExt.v0()
  })
  const meta = new xdr.LedgerCloseMetaV0({
    ledgerHeader,
    txSet: new xdr.TransactionSet({ previousLedgerHash: none(), txs: [] }),
    txProcessing: [],
    upgradesProcessing: [],
    scpInfo: []
  })
  return { headerXdr: header.toXdr("base64"), metadataXdr: xdr.LedgerCloseMeta.v0(meta).toXdr("base64") }
}
