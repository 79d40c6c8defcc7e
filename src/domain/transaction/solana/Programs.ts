// Addresses of programs, sysvars and mints that the rules know.

export const systemProgram = "11111111111111111111111111111111"
export const tokenProgram = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
export const token2022Program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
export const associatedTokenProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
export const memoProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
export const computeBudgetProgram = "ComputeBudget111111111111111111111111111111"
export const loaderProgram = "BPFLoaderUpgradeab1e11111111111111111111111"
export const stakeProgram = "Stake11111111111111111111111111111111111111"
export const voteProgram = "Vote111111111111111111111111111111111111111"
export const rentSysvar = "SysvarRent111111111111111111111111111111111"

/** Instructions of these programs claim signatures, which cost as much as those of the transaction. */
export const precompiles: ReadonlySet<string> = new Set([
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111"
])

/** Wrapped lamports of the two token programs. */
export const nativeMints: ReadonlySet<string> = new Set([
  "So11111111111111111111111111111111111111112",
  "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP"
])

export const isTokenProgram = (program: string): boolean => program === tokenProgram || program === token2022Program

/** Programs whose instructions may list the relayer in fixed shapes only. No policy vouches for them. */
export const shapedPrograms: ReadonlySet<string> = new Set([
  systemProgram,
  tokenProgram,
  token2022Program,
  associatedTokenProgram,
  memoProgram
])
