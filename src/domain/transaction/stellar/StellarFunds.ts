// Whether the account of the relayer can pay for an envelope beside all others in flight. Amounts in stroops.
import type { Figures } from "../Cause.ts"
import type { LedgerSettings } from "./LedgerSettings.ts"
import { ownReserves } from "../../relayer/Policy.ts"
import { minimumLeft } from "./StellarNumbers.ts"
import type { AccountEntry } from "./StellarSeen.ts"

/** What the network lets the account spend. Each entry of it locks a reserve. */
const spendableOf = (
  { balance, sellingLiabilities, sponsored, sponsoring, subentries }: AccountEntry,
  { baseReserve }: Pick<LedgerSettings, "baseReserve">
): bigint => {
  const reserves = ownReserves + BigInt(subentries) + BigInt(sponsoring) - BigInt(sponsored)
  return balance - sellingLiabilities - reserves * baseReserve
}

interface Need {
  /** Fee and value of the envelope. */
  readonly required: bigint
  /** Of all others in flight. */
  readonly reserved: bigint
  readonly minBalance: bigint
}

/** What an envelope needs, and what the account has for it, as the provider shows it that sees the least. */
export const fundsFor = (
  payers: ReadonlyArray<AccountEntry>,
  { minBalance, required, reserved }: Need,
  settings: Pick<LedgerSettings, "baseReserve">
) => {
  const minimum = minBalance > minimumLeft ? minBalance : minimumLeft
  const spendable = payers
    .map((payer) => spendableOf(payer, settings))
    .reduce((least, one) => (one < least ? one : least))
  const available = spendable - reserved
  return { required, available, reserved, minimum } satisfies Figures
}

/** Whether funds are missing. */
export const isShort = ({ available, minimum, required }: ReturnType<typeof fundsFor>): boolean =>
  available - required < minimum

/** Stroops that an account needs to exist. */
export const leastBalance = ({ baseReserve }: Pick<LedgerSettings, "baseReserve">): bigint => ownReserves * baseReserve
