// Amounts and addresses of chains.
import { Schema, SchemaTransformation } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { integerIn, rawInteger } from "../request/ExactJson.ts"
import type { EncodedInteger } from "../request/ExactJson.ts"
import { shaped } from "../request/Shown.ts"

/** The smallest unit of the native token, by network type. */
export const units: Readonly<Record<NetworkType, string>> = { evm: "wei", solana: "lamports", stellar: "stroops" }

const text = /^(0|[1-9]\d{0,38})$/
const text256 = /^(0|[1-9]\d{0,77})$/

/** A JSON number with every digit. */
const fromBigInt = (value: bigint): EncodedInteger =>
  value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawInteger(value)

/** Prices in wei and other 128-bit amounts: 0 to 2^128−1. */
export const Uint128 = integerIn({ format: "uint128", minimum: 0n, maximum: 2n ** 128n - 1n, text, encode: fromBigInt })

/** Balances in wei: 0 to 2^256−1. Chains for tests, and chains whose fees are tokens, show some beyond 128 bits. */
export const Uint256 = integerIn({
  format: "uint256",
  minimum: 0n,
  maximum: 2n ** 256n - 1n,
  text: text256,
  encode: fromBigInt
})

/** Lamports, stroops and token units: 0 to 2^64−1. */
export const Uint64 = integerIn({ format: "uint64", minimum: 0n, maximum: 2n ** 64n - 1n, text, encode: fromBigInt })

/** 1 to 2^64−1. */
export const PositiveUint64 = integerIn({
  format: "uint64",
  minimum: 1n,
  maximum: 2n ** 64n - 1n,
  text,
  encode: fromBigInt
})

/** The same as `Uint64`, but written as a decimal string, so that a program without exact numbers reads every digit. */
export const DecimalUint64 = integerIn({ format: "uint64", minimum: 0n, maximum: 2n ** 64n - 1n, text })

/** 1 to 2^64−1, written as a decimal string. */
export const PositiveDecimalUint64 = integerIn({ format: "uint64", minimum: 1n, maximum: 2n ** 64n - 1n, text })

/** 1 to 2^128−1, written as a decimal string. */
export const PositiveDecimalUint128 = integerIn({ format: "uint128", minimum: 1n, maximum: 2n ** 128n - 1n, text })

// Integers of evm requests, without loss: a JSON number, a decimal string or a 0x-hex string. Responses use strings.

const evmInteger = (minimum: bigint, maximum: bigint, unit?: string) =>
  integerIn({
    minimum,
    maximum,
    ...(unit === undefined ? {} : { unit }),
    text: /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/,
    forms: "a number, a decimal string or a 0x-hex string"
  })

/** Wei: 0 to 2^256−1, the range of the chain. */
export const Wei = evmInteger(0n, 2n ** 256n - 1n, "wei")

/** Wei per gas: 0 to 2^128−1, as the cap of a policy. */
export const WeiPerGas = evmInteger(0n, 2n ** 128n - 1n, "wei")

/** Gas: 1 to 2^53−1, because responses show it as a JSON number. */
export const GasLimit = evmInteger(1n, BigInt(Number.MAX_SAFE_INTEGER))

/** Wei as responses show it: `0x` and hex digits. */
export const HexWei = Schema.String.check(
  Schema.isPattern(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/u, { expected: "0x and hex digits" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 256n - 1n })),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: (wei) => `0x${wei.toString(16)}` })
  )
)

// Addresses and hashes on chains: in requests, in responses, and how they are compared.

/** Hex in lower case. */
export const EvmAddress = shaped(/^0x[0-9a-f]{40}$/)

/** Base58. */
export const SolanaAddress = shaped(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)

/** StrKey of an account. */
export const StellarAddress = shaped(/^G[A-Z2-7]{55}$/)

/** `generated`: what tests generate. `MistypedAddresses.ts` refuses most texts of the pattern. */
const checked = (pattern: RegExp, expected: string, generated: string) =>
  Schema.String.check(
    Schema.isPattern(pattern, { expected, arbitraryConstraint: { patterns: [{ source: generated, flags: "" }] } })
  )

/** In a request: in upper or lower case, or in the mixed case of EIP-55. */
export const CheckedEvmAddress = checked(
  /^0x[0-9a-fA-F]{40}$/u,
  "an address: 0x and 40 hex digits",
  "^0x([0-9a-f]{40}|[0-9A-F]{40})$"
)

/** In a request: a contract, and the first four bytes of the data that it is called with. `0x` alone: it is sent no data. */
export const CheckedEvmCall = checked(
  /^0x[0-9a-fA-F]{40}:0x([0-9a-fA-F]{8})?$/u,
  "an address, a colon, and 0x with the 8 hex digits of a selector, or 0x alone for no data",
  "^0x([0-9a-f]{40}|[0-9A-F]{40}):0x([0-9a-fA-F]{8})?$"
)

/** In a request. */
export const CheckedSolanaAddress = checked(
  /^[1-9A-HJ-NP-Za-km-z]{32,44}$/u,
  "a base58 Solana address",
  // 43 digits are below 2^256, and with these first ones above 2^248.
  "^[5-9A-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{42}$"
)

/** In a request: an account or a contract. */
export const CheckedStellarAddress = checked(
  /^[GC][A-Z2-7]{55}$/u,
  "a Stellar address: G or C and 55 characters",
  // Of made-up keys: 32 bytes of 7 or of 8.
  "^(GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI|CAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQMCJ)$"
)

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
