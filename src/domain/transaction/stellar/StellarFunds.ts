// Whether the account of the relayer can pay for an envelope beside all others in flight. Amounts in stroops.
import type { Figures } from "../Cause.ts"
import { baseReserve, minimumLeft, ownReserves } from "./StellarNumbers.ts"
import type { AccountEntry } from "./StellarSeen.ts"

/** What the network lets the account spend. Each entry of it locks a reserve. */
const spendableOf = ({ balance, sellingLiabilities, sponsored, sponsoring, subentries }: AccountEntry): bigint => {
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

/** The figures of a lack of funds. Undefined: they are enough. */
export const shortage = (
  payers: ReadonlyArray<AccountEntry>,
  { minBalance, required, reserved }: Need
): Figures | undefined => {
  const minimum = minBalance > minimumLeft ? minBalance : minimumLeft
  const spendable = payers.map(spendableOf).reduce((least, one) => (one < least ? one : least))
  const available = spendable - reserved
  return available - required >= minimum ? undefined : { required, available, reserved, minimum }
}
