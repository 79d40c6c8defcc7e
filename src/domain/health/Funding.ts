// How much to send to the account of a relayer, and where, so that a check finds enough.
import { Schema } from "effect"
import { EvmAddress } from "../chain/Address.ts"
import type { ChainSnapshot } from "../chain/ChainSnapshot.ts"
import { networkId } from "../network/NetworkId.ts"
import type { NetworkType } from "../network/NetworkId.ts"
import type { RelayerAccount } from "../relayer/Relayer.ts"
import { ownReserves, publicBaseReserve } from "../relayer/StellarPolicy.ts"
import { unitOf } from "../relayer/RelayerStatus.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { balanceOf } from "./HealthSnapshot.ts"

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
