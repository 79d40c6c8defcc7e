// Hashes of transactions in requests, as each network type writes them.
import { Schema } from "effect"
import type { NetworkType } from "../network/NetworkId.ts"

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
