// What the guard compares envelopes of a relayer with. Admission and lanes make it only here.
import type { StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import { baseFee, baseReserve } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { guardTermsOf } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Library } from "./StellarLibrary.ts"

const contracts = new Map<string, string>()

/** The contract of XLM, which follows from the network. */
const nativeContractOf = (lib: Library, passphrase: string): string => {
  const found = contracts.get(passphrase) ?? lib.Asset.native().contractId(passphrase)
  contracts.set(passphrase, found)
  return found
}

export interface Guarding {
  readonly target: StellarTarget
  /** Accounts of the service on this network. */
  readonly own: ReadonlySet<string>
  /** Stroops that an envelope may cost, as the request says. */
  readonly maxFee: bigint | undefined
  readonly now: Moment
}

/**
 * The rate is the lowest one: a higher one of the market is held, not refused. The reserve is that of the public network; a lane, which has
 * read that of its network, replaces it.
 */
export const termsOf = (lib: Library, { target, own, maxFee, now }: Guarding): Terms => ({
  ...guardTermsOf(target, maxFee),
  relayer: target.relayer.address,
  own,
  ...present("forwarder", target.network.fee_forwarder),
  nativeContract: nativeContractOf(lib, target.network.passphrase),
  now: Math.floor(now / 1000),
  rate: baseFee,
  baseReserve
})
