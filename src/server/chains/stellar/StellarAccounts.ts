// Accounts as they are at one numbered ledger: what proofs, funds and signatures need to know of them.
import type { AccountEntry as Entry } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import type { Entries } from "./StellarCalls.ts"
import { keyAddress } from "./StellarOperations.ts"

/** The entry of an account, with its address and its sequence. */
export interface AccountEntry extends Entry {
  readonly address: string
  readonly sequence: bigint
  /** The ledger in which it used its sequence. Absent: the entry does not say so. */
  readonly seqLedger?: number
}

/** The key of an account's entry as base64. */
export const keyOf = (lib: Library, address: string): string => {
  const accountId = lib.Keypair.fromPublicKey(address).xdrPublicKey()
  return textOf(lib.xdr.LedgerKey.account(new lib.xdr.LedgerKeyAccount({ accountId })))
}

/** Undefined: another entry, or no XDR. */
const entryOf = (lib: Library, text: string): AccountEntry | undefined => {
  const data = lib.xdr.LedgerEntryData.fromXdr(text, "base64")
  if (data.type !== "account") return undefined
  const { accountId, balance, ext, numSubEntries, seqNum, thresholds } = data.account
  const v1 = ext.type === "v1" ? ext.v1 : undefined
  const v2 = v1?.ext.type === "v2" ? v1.ext.v2 : undefined
  const v3 = v2?.ext.type === "v3" ? v2.ext.v3 : undefined
  const [masterWeight = 0, , mediumThreshold = 0] = thresholds.value
  return {
    address: keyAddress(accountId),
    sequence: seqNum,
    ...(v3 === undefined || v3.seqLedger === 0 ? {} : { seqLedger: v3.seqLedger }),
    balance,
    sellingLiabilities: v1?.liabilities.selling ?? 0n,
    subentries: numSubEntries,
    sponsoring: v2?.numSponsoring ?? 0,
    sponsored: v2?.numSponsored ?? 0,
    masterWeight,
    mediumThreshold
  }
}

/**
 * The accounts of an answer by address. Those that were asked for and are not in it do not exist. Undefined: an entry is not an
 * account, or not the one that was asked for.
 */
export const accountsIn = (
  lib: Library,
  { entries }: Entries,
  asked: ReadonlyArray<string>
): ReadonlyMap<string, AccountEntry> | undefined => {
  const found = new Map<string, AccountEntry>()
  try {
    for (const { xdr } of entries ?? []) {
      const entry = entryOf(lib, xdr)
      if (entry === undefined || !asked.includes(entry.address)) return undefined
      found.set(entry.address, entry)
    }
    return found
  } catch {
    return undefined
  }
}
