// Programs of solana whose instructions may list a relayer in fixed shapes only. No policy gives them more authority.

export const systemProgram = "11111111111111111111111111111111"
export const tokenProgram = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
export const token2022Program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
export const associatedTokenProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
export const memoProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"

/** The program that `@solana-program/memo` calls since 0.15.0. It takes the same instructions. */
export const memo4Program = "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH"

export const shapedPrograms: ReadonlySet<string> = new Set([
  systemProgram,
  tokenProgram,
  token2022Program,
  associatedTokenProgram,
  memoProgram,
  memo4Program
])
