// Addresses of programs, sysvars and mints that the rules know.
import { systemProgram, token2022Program, tokenProgram } from "../../chain/Address.ts"

export {
  associatedTokenProgram,
  memo4Program,
  memoProgram,
  shapedPrograms,
  systemProgram,
  token2022Program,
  tokenProgram
} from "../../chain/Address.ts"

export const computeBudgetProgram = "ComputeBudget111111111111111111111111111111"
export const loaderProgram = "BPFLoaderUpgradeab1e11111111111111111111111"
export const stakeProgram = "Stake11111111111111111111111111111111111111"
export const voteProgram = "Vote111111111111111111111111111111111111111"
export const rentSysvar = "SysvarRent111111111111111111111111111111111"

/**
 * Programs whose instructions get the compute units of a builtin: the list of Agave 4.1, without those that have moved to programs on the
 * chain. A builtin that is missing here only makes a computed fee too high.
 */
export const builtins: ReadonlySet<string> = new Set([
  systemProgram,
  computeBudgetProgram,
  "BPFLoader1111111111111111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  loaderProgram,
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111"
])

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
