// Addresses and hashes on chains: in requests, in responses, and how they are compared.
import { Schema } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { shaped } from "../request/Shown.ts"

/** Hex in lower case. */
export const EvmAddress = shaped(/^0x[0-9a-f]{40}$/)

/** Base58. */
export const SolanaAddress = shaped(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)

/** StrKey of an account. */
export const StellarAddress = shaped(/^G[A-Z2-7]{55}$/)

const checked = (pattern: RegExp, expected: string) => Schema.String.check(Schema.isPattern(pattern, { expected }))

/** In a request: in upper, lower or mixed case. */
export const CheckedEvmAddress = checked(/^0x[0-9a-fA-F]{40}$/u, "an address: 0x and 40 hex digits")

/** In a request. */
export const CheckedSolanaAddress = checked(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/u, "a base58 Solana address")

/** In a request: an account or a contract. */
export const CheckedStellarAddress = checked(/^[GC][A-Z2-7]{55}$/u, "a Stellar address: G or C and 55 characters")

/**
 * The form in which addresses of a network type are compared. The case of evm's hex digits has no meaning; that of base58 and
 * StrKey has.
 */
export const canonical = (type: NetworkType, address: string): string =>
  type === "evm" ? address.toLowerCase() : address

// Hashes of transactions in requests, as each network type writes them.

const forms: Readonly<Record<NetworkType, { readonly pattern: RegExp; readonly expected: string }>> = {
  evm: { pattern: /^0x[0-9a-fA-F]{64}$/, expected: "a hash: 0x and 64 hex digits" },
  /** A signature of 64 bytes in base58. 64 characters would be 63 bytes of zeros, and could be hex digits. */
  solana: { pattern: /^[1-9A-HJ-NP-Za-km-z]{65,88}$/, expected: "a signature: 65 to 88 base58 characters" },
  stellar: { pattern: /^[0-9a-fA-F]{64}$/, expected: "a hash: 64 hex digits" }
}

const hex = /^(0x)?[0-9a-fA-F]{64}$/

/** A hash of any network type. */
export const TransactionHash = Schema.String.check(
  Schema.isPattern(/^((0x)?[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{65,88})$/u, {
    expected: "a hash: 0x and 64 hex digits on evm, 64 hex digits on stellar, a base58 signature on solana"
  })
)

/** What is expected of a hash of the network type. Undefined: the hash has its form. */
export const hashFault = (type: NetworkType, hash: string): string | undefined => {
  const { pattern, expected } = forms[type]
  return pattern.test(hash) ? undefined : `Expected ${expected}`
}

/** The form in which hashes are stored. The case of hex digits has no meaning; that of base58 has. */
export const canonicalHash = (hash: string): string => (hex.test(hash) ? hash.toLowerCase() : hash)

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
