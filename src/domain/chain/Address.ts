// Addresses of accounts in responses.
import { shaped } from "../request/Shown.ts"

/** Hex in lower case. */
export const EvmAddress = shaped(/^0x[0-9a-f]{40}$/)

/** Base58. */
export const SolanaAddress = shaped(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)

/** StrKey of an account. */
export const StellarAddress = shaped(/^G[A-Z2-7]{55}$/)
