// Methods that callers may send to the providers of a solana network, and the parameters of those that the service answers itself.
import { Schema } from "effect"
import { CheckedSolanaAddress } from "../../chain/Address.ts"
import { PositiveUint64 } from "../../chain/Amount.ts"

/** Methods that only read. Bytes that the relayer has signed are sent by its lane. */
export const passedMethods = {
  standard: new Set([
    "getAccountInfo",
    "getAgGenesisCert",
    "getBalance",
    "getBlock",
    "getBlockCommitment",
    "getBlockHeight",
    "getBlockProduction",
    "getBlockTime",
    "getBlocks",
    "getBlocksWithLimit",
    "getClusterNodes",
    "getEpochInfo",
    "getEpochSchedule",
    "getFeeForMessage",
    "getFirstAvailableBlock",
    "getGenesisHash",
    "getHealth",
    "getHighestSnapshotSlot",
    "getIdentity",
    "getInflationGovernor",
    "getInflationRate",
    "getInflationReward",
    "getLargestAccounts",
    "getLatestBlockhash",
    "getLeaderSchedule",
    "getMaxRetransmitSlot",
    "getMaxShredInsertSlot",
    "getMinimumBalanceForRentExemption",
    "getMultipleAccounts",
    "getProgramAccounts",
    "getRecentPerformanceSamples",
    "getRecentPrioritizationFees",
    "getSignatureStatuses",
    "getSignaturesForAddress",
    "getSlot",
    "getSlotLeader",
    "getSlotLeaders",
    "getStakeMinimumDelegation",
    "getSupply",
    "getTokenAccountBalance",
    "getTokenAccountsByDelegate",
    "getTokenAccountsByOwner",
    "getTokenLargestAccounts",
    "getTokenSupply",
    "getTransaction",
    "getTransactionCount",
    "getVersion",
    "getVoteAccounts",
    "isBlockhashValid",
    "minimumLedgerSlot",
    "simulateTransaction"
  ])
}

/** What the service offers besides sending, as the method `getFeaturesEnabled` lists it. */
export const features = ["gasless"] as const

/** Parameters of `transferTransaction`. */
export const TransferOfUser = Schema.Struct({
  /** Units of the token. */
  amount: PositiveUint64,
  /** Its mint. The fee is paid in it as well. */
  token: CheckedSolanaAddress,
  /** The wallets of the user and of the receiver. */
  source: CheckedSolanaAddress,
  destination: CheckedSolanaAddress
})
export type TransferOfUser = typeof TransferOfUser.Type

/** Parameters of the methods that take none. */
export const NoParameters = Schema.Struct({})
