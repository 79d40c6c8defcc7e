// The balance of a relayer: what a check has read, what it needs, and how long it lasts.
import { DateTime, Schema } from "effect"
import type { ChainSnapshot, CheckCode } from "../chain/ChainSnapshot.ts"
import { maskRpc } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"
import { networkId } from "../network/Network.ts"
import type { NetworkType } from "../network/Network.ts"
import { ownReserves, publicBaseReserve } from "../relayer/Policy.ts"
import { unitOf } from "../relayer/Relayer.ts"
import type { RelayerAccount } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import { EvmAddress } from "../chain/Amount.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"

// Answers questions about chain snapshots, and carries amounts from one snapshot to the next.

/** Codes of failures that only an answer of the chain can cause. */
const ofTheChain: ReadonlySet<CheckCode> = new Set(["mismatch", "too_low", "no_account"])

/** Whether the chain has answered, also if the answer was a failure of the account. */
export const hasAnswered = ({ balance, failures }: ChainSnapshot): boolean =>
  balance !== undefined || failures.some(({ code }) => ofTheChain.has(code))

/** The balance. 0 if the account does not exist. `undefined` if it was not read or the chain is the wrong one. */
export const balanceOf = ({ balance, failures }: ChainSnapshot): bigint | undefined => {
  if (failures.some(({ type }) => type === "ChainIdMismatch")) return undefined
  return failures.some(({ code }) => code === "no_account") ? 0n : balance
}

/** Keeps the amounts of the previous snapshot if the new one has none. */
export const carry = (before: ChainSnapshot | undefined, now: ChainSnapshot): ChainSnapshot => {
  if (before === undefined || before.network_type !== now.network_type) return now
  const { failures: _, providers: __, ...amounts } = before
  return { ...amounts, ...now } as ChainSnapshot
}

/** The snapshot of an inspection that did not end in time. */
export const unanswered = (
  { network_type }: Pick<RelayerAccount, "network_type">,
  urls: ReadonlyArray<RpcConfig>
): ChainSnapshot => ({
  network_type,
  failures: [{ type: "RpcValidationFailed", code: "unreachable" }],
  providers: urls.map((config) => ({ ...maskRpc(config), breaker: "closed", failed: true, code: "unreachable" }))
})

/** In wei, lamports and stroops. */
const defaultMinBalance: Record<NetworkType, bigint> = { evm: 1n, solana: 10_000_000n, stellar: 1_000_000n }

/** What the account needs to exist, in the smallest unit: on stellar two base reserves, as its network has voted. */
const leastToExist = (reading: ChainSnapshot): bigint =>
  reading.network_type === "stellar" ? ownReserves * (reading.ledger?.base_reserve ?? publicBaseReserve) : 0n

/** What must stay on the account of the relayer, in the smallest unit of its chain. */
export const minBalanceOf = (
  network_type: NetworkType,
  policies: { readonly min_balance?: bigint } | undefined
): bigint => policies?.min_balance ?? defaultMinBalance[network_type]

export const Funding = Schema.Struct({
  address: field(EvmAddress, "Where to send it.", "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"),
  network: field(Shown.shaped(/^(evm|solana|stellar):[a-z]{2,12}$/), "Network of the address.", "evm:sepolia"),
  unit: field(Schema.Literals(["wei", "lamport", "stroop"]), "The chain's smallest unit.", "wei"),
  balance: field(Shown.Digits, "Balance at the last check.", "40000000000000000"),
  min_balance: field(Shown.Digits, "What the relayer needs.", "100000000000000000"),
  missing: field(
    Shown.Digits,
    "What to send at least, so that `min_balance` is there and each transaction that waits for funds can be paid.",
    "60000000000000000"
  )
}).annotate({
  identifier: "Funding",
  description: "What to send where, while the balance is below `min_balance` or a transaction waits for funds."
})
export type Funding = typeof Funding.Type

/**
 * `waiting`: what the transaction lacks that waits for the largest sum. `undefined`: the last check found enough and no transaction
 * waits, or it found no balance.
 */
export const fundingOf = (
  relayer: RelayerAccount,
  reading: ChainSnapshot | undefined,
  waiting = 0n
): Funding | undefined => {
  const balance = reading === undefined ? undefined : balanceOf(reading)
  if (reading === undefined || balance === undefined) return undefined
  const isAbsent = reading.failures.some(({ code }) => code === "no_account")
  const usual = minBalanceOf(relayer.network_type, relayer.policies)
  const least = isAbsent ? leastToExist(reading) : 0n
  const min_balance = usual < least ? least : usual
  const missing = min_balance - balance > waiting ? min_balance - balance : waiting
  if (missing <= 0n) return undefined
  return {
    address: relayer.address,
    network: networkId(relayer.network_type, relayer.network),
    unit: unitOf[relayer.network_type],
    balance,
    min_balance,
    missing
  }
}

export const sentenceOf = ({ address, balance, min_balance, missing, network, unit }: Funding): string => {
  const isAwaited = balance + missing > min_balance
  const why = isAwaited ? "a transaction waits for it" : `it has ${balance} of the ${min_balance} that it needs`
  const sentence = `Send at least ${missing} ${unit} to ${address} on ${network}: ${why}.`
  // Some networks of evm charge no fees, and their accounts have no balance.
  return unit === "wei" && !isAwaited && min_balance === defaultMinBalance.evm
    ? `${sentence} If the network charges no fees, set min_balance: 0 in the policies of the relayer.`
    : sentence
}

// The balance of a relayer by hour, what the relayer spends per day, and how long the balance lasts.

const hour = 3_600_000
const day = 24 * hour

/** Milliseconds for which the service keeps balances: at most 720 rows per relayer. */
export const keptBalances = 30 * day

/** Milliseconds that a trend reaches back if the caller does not say. */
const usualTrend = 7 * day

/** The shortest period, in milliseconds, for which spending is computed. In a shorter one, one payout looks like a trend. */
const leastTrend = 2 * hour

const at = "2026-01-02T03:00:00.000Z"

const BalancePoint = Schema.Struct({
  at: field(Instant, "Beginning of the hour, or the moment of the last reading.", at),
  balance: field(Shown.Digits, "Balance at its end, in `unit`.", "1000000000000000000")
}).annotate({ identifier: "BalancePoint", description: "The balance of a relayer's account in an hour." })

export const BalanceTrend = Schema.Struct({
  unit: field(Schema.Literals(["wei", "lamport", "stroop"]), "The chain's smallest unit.", "wei"),
  points: field(
    Schema.Array(BalancePoint),
    "Hours in which the balance changed, the oldest first, and the last reading. Between two points it stayed the same.",
    []
  ),
  spent_per_day: shown(
    Shown.Digits,
    "What left the account in the period, for one day: the sum of all decreases. What was sent to it is not subtracted. Absent for less than two hours.",
    "20000000000000000"
  ),
  runway_seconds: shown(
    Schema.Natural,
    "For how long the balance above `min_balance` suffices if as much is spent. Absent if nothing was spent.",
    432_000
  )
}).annotate({ identifier: "BalanceTrend", description: "What the balance of a relayer was, and how long it suffices." })
export type BalanceTrend = typeof BalanceTrend.Type

export const BalanceTrendQuery = {
  since: Schema.optionalKey(
    field(Instant, "First moment. The default is seven days ago, and balances are kept for 30 days.", at)
  )
}
export interface BalanceTrendQuery {
  readonly since?: DateTime.Utc
}

export const sinceOf = ({ since }: BalanceTrendQuery, now: number): number =>
  since === undefined ? now - usualTrend : DateTime.toEpochMillis(since)

export interface BalanceReading {
  /** Milliseconds. */
  readonly at: number
  readonly balance: bigint
}

/** The sum of all decreases between neighboring readings. */
const spentIn = (readings: ReadonlyArray<BalanceReading>): bigint =>
  readings.reduce((spent, { balance }, index) => {
    const before = readings[index - 1]?.balance ?? balance
    return before > balance ? spent + before - balance : spent
  }, 0n)

/** `readings`: the oldest first. `minimum`: the amount that must stay on the account. */
export const trendOf = (
  unit: BalanceTrend["unit"],
  readings: ReadonlyArray<BalanceReading>,
  minimum: bigint
): BalanceTrend => {
  const points = readings.map(({ at, balance }) => ({ at: DateTime.makeUnsafe(at), balance }))
  const [first, last] = [readings[0], readings.at(-1)]
  const length = first === undefined || last === undefined ? 0 : last.at - first.at
  if (last === undefined || length < leastTrend) return { unit, points }
  const spent_per_day = (spentIn(readings) * BigInt(day)) / BigInt(length)
  if (spent_per_day === 0n) return { unit, points, spent_per_day }
  const left = last.balance > minimum ? last.balance - minimum : 0n
  const seconds = (left * BigInt(day / 1000)) / spent_per_day
  const runway_seconds = Number(seconds < BigInt(Number.MAX_SAFE_INTEGER) ? seconds : Number.MAX_SAFE_INTEGER)
  return { unit, points, spent_per_day, runway_seconds }
}
