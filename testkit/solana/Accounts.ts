// Accounts of a cluster, as a block has them.
import { decodeBase58 } from "../../src/networks/solana/rules/Wire.ts"

export interface Account {
  readonly lamports: bigint
  /** The program that owns it. */
  readonly owner: string
  readonly data: Uint8Array
}

/** By address. An address without an entry has no account. */
export type Accounts = ReadonlyMap<string, Account>

export const tableProgram = "AddressLookupTab1e1111111111111111111111111"

/** The slot that has added the newest entries of a table, and the index of the first of them. */
export interface Extension {
  readonly slot: number
  readonly from: number
}

/** A lookup table that is not deactivated: its header of 56 bytes, and the addresses. */
export const lookupTable = (
  addresses: ReadonlyArray<string>,
  extended: Extension = { slot: 0, from: 0 },
  lamports = 10_000_000n
): Account => ({
  lamports,
  owner: tableProgram,
  data: Uint8Array.from([
    1,
    ...new Uint8Array(3),
    ...new Uint8Array(8).fill(255),
    ...new Uint8Array(BigUint64Array.of(BigInt(extended.slot)).buffer),
    extended.from,
    ...new Uint8Array(35),
    ...addresses.flatMap((address) => [...(decodeBase58(address) ?? [])])
  ])
})
