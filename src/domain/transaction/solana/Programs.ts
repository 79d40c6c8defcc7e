// Addresses of programs, sysvars and mints that the rules know.
import { token2022Program, tokenProgram } from "../../chain/SolanaPrograms.ts"

export {
  associatedTokenProgram,
  memoProgram,
  shapedPrograms,
  systemProgram,
  token2022Program,
  tokenProgram
} from "../../chain/SolanaPrograms.ts"

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
