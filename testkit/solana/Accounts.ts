// Accounts of a cluster, as a block has them.

export interface Account {
  readonly lamports: bigint
  /** The program that owns it. */
  readonly owner: string
  readonly data: Uint8Array
}

/** By address. An address without an entry has no account. */
export type Accounts = ReadonlyMap<string, Account>
