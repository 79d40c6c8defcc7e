// Addresses of accounts: in requests, in responses, and how they are compared.
import { Schema } from "effect"
import type { NetworkType } from "../network/NetworkId.ts"
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
