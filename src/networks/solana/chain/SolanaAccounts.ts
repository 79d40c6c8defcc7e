// Accounts of solana as the rules read them, with derived addresses and signatures.
import { Effect, Result } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { TokenExtension } from "../../../domain/relayer/Policy.ts"
import { answeredFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { MintState, TokenAuthorities } from "../rules/Guard.ts"
import { isListingFeePayer } from "../rules/Message.ts"
import type { WireTransaction } from "../rules/Message.ts"
import { associatedTokenProgram, isTokenProgram, token2022Program, u32At, u64At } from "../rules/Programs.ts"
import type { AccountState, Derivations, TableState } from "../rules/Programs.ts"
import { bytesOf } from "../rules/SolanaExchanges.ts"
import { maxTableBytes, rentMinimum } from "../rules/SolanaNumbers.ts"
import { decodeBase58, encodeBase58, keyBytes } from "../rules/Wire.ts"
import * as Calls from "./SolanaCalls.ts"
import { accountsOf } from "./SolanaCalls.ts"
import type { AccountInfo, SolanaProviders } from "./SolanaCalls.ts"

/** Accounts in one question: the limit of the method. */
const maxAccounts = 100

/** Bytes of a token account without extensions, and of an account of several signers, which is never a token account. */
const sizes = { token: 165, multisig: 355 } as const

/** If a token account has extensions, the byte behind its own bytes has this value. */
const tokenType = 2

/** Bytes of an account that say what it is: one more than the size that tells a token account from one of several signers. */
const readBytes = sizes.multisig + 1

/** The byte of a token account that says whether it is frozen. */
const stateOffset = 108
const frozen = 2

const tableProgram = "AddressLookupTab1e1111111111111111111111111"

/** Offset of the slot in which a lookup table was extended last. The byte behind it is the first index of that extension. */
const extensionOffset = 12

/** Bytes of a lookup table before its addresses; the slot of a table that is not deactivated. */
const tableHeader = 56
const active = 2n ** 64n - 1n

/** Undefined: there is no such account. `slots`: in which they were as they are shown. */
export const readWithSlots = (node: RpcNode, addresses: ReadonlyArray<string>, bytes: number | undefined = readBytes) =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: Math.ceil(addresses.length / maxAccounts) }, (_, index) =>
        addresses.slice(index * maxAccounts, (index + 1) * maxAccounts)
      ),
      (part) => node.call(accountsOf(part, bytes)),
      { concurrency: "unbounded" }
    ),
    (parts) => {
      const all = parts.flatMap(({ value }) => value)
      return {
        slots: parts.map(({ context }) => context.slot),
        accounts: new Map(addresses.map((address, index) => [address, all[index] ?? undefined]))
      }
    }
  )

export const readMany = (node: RpcNode, addresses: ReadonlyArray<string>, bytes?: number) =>
  Effect.map(readWithSlots(node, addresses, bytes), ({ accounts }) => accounts)

export const dataOf = ({ data: [text] }: AccountInfo): Uint8Array => bytesOf(text)

const isTokenAccount = (program: string, data: Uint8Array): boolean =>
  data.length === sizes.token ||
  (program === token2022Program &&
    data.length > sizes.token &&
    data.length !== sizes.multisig &&
    data[sizes.token] === tokenType)

const keyAt = (data: Uint8Array, offset: number): string => encodeBase58(data.slice(offset, offset + keyBytes))

export const stateOf = (account: AccountInfo | undefined): AccountState => {
  if (account === undefined) return { _tag: "Other", isProgram: false }
  const data = dataOf(account)
  const { owner } = account
  if (!isTokenProgram(owner) || !isTokenAccount(owner, data)) return { _tag: "Other", isProgram: account.executable }
  const isFrozen = data[stateOffset] === frozen ? { isFrozen: true as const } : {}
  return { _tag: "Token", program: owner, mint: keyAt(data, 0), owner: keyAt(data, 32), ...isFrozen }
}

/** The number of each extension of a mint that changes what a payment is worth, or who can take it back. */
const extensionNames: ReadonlyMap<number, TokenExtension> = new Map([
  [1, "transfer_fee"],
  [4, "confidential_transfer"],
  [16, "confidential_transfer"],
  [6, "default_account_state"],
  [9, "non_transferable"],
  [12, "permanent_delegate"],
  [14, "transfer_hook"],
  [26, "pausable"]
])

/** Closing of an empty mint, interest and scaling that only displays show, metadata and groups. */
const harmless: ReadonlySet<number> = new Set([3, 10, 18, 19, 20, 21, 22, 23, 25])

/** A mint without extensions: bytes, and offsets of its decimals and of the byte that says whether it is one. */
const mintLayout = { bytes: 82, decimals: 44, isInitialized: 45 } as const

/** If a mint has extensions, the byte behind those of a token account has this value. */
const mintType = 1

/** Each has a number and a length of two bytes, then its data. `unknown` also if the data are cut off. */
const extensionsOf = (data: Uint8Array): MintState["extensions"] => {
  const found: Array<TokenExtension | "unknown"> = []
  const u16 = (offset: number): number => (data[offset] ?? 0) | ((data[offset + 1] ?? 0) << 8)
  let offset = sizes.token + 1
  while (offset + 4 <= data.length) {
    const [number, length] = [u16(offset), u16(offset + 2)]
    // Zeros fill the rest.
    if (number === 0) return found
    offset += 4 + length
    if (offset > data.length) return [...found, "unknown"]
    if (!harmless.has(number)) found.push(extensionNames.get(number) ?? "unknown")
  }
  return found
}

/** Undefined: it is no mint. */
export const mintOf = (account: AccountInfo | undefined): MintState | undefined => {
  if (account === undefined || !isTokenProgram(account.owner)) return undefined
  const data = dataOf(account)
  const isMint = data.length === mintLayout.bytes || (data.length > sizes.token && data[sizes.token] === mintType)
  if (!isMint || data.length === sizes.multisig || data[mintLayout.isInitialized] !== 1) return undefined
  return { program: account.owner, decimals: data[mintLayout.decimals] ?? 0, extensions: extensionsOf(data) }
}

/** Offset of the units of a token account. */
const amountOffset = 64

export const amountOf = (account: AccountInfo): bigint => u64At(dataOf(account), amountOffset) ?? 0n

/** Offsets of an optional key in a token account: a flag of four bytes, then the key. */
const optionalKeys = { delegate: 72, closeAuthority: 129 } as const

const optionalKey = <K extends keyof typeof optionalKeys>(data: Uint8Array, name: K) =>
  u32At(data, optionalKeys[name]) === 1 ? { [name]: keyAt(data, optionalKeys[name] + 4) } : {}

export const authoritiesOf = (account: AccountInfo): TokenAuthorities => {
  const data = dataOf(account)
  return { owner: keyAt(data, 32), ...optionalKey(data, "delegate"), ...optionalKey(data, "closeAuthority") }
}

export const tableOf = (account: AccountInfo | undefined): TableState => {
  if (account === undefined || account.owner !== tableProgram) return { _tag: "Missing" }
  const data = dataOf(account)
  if (u32At(data, 0) !== 1 || u64At(data, 4) !== active) return { _tag: "Missing" }
  const count = Math.floor((data.length - tableHeader) / keyBytes)
  return {
    _tag: "Active",
    extended: { slot: Number(u64At(data, extensionOffset) ?? 0n), from: data[extensionOffset + 8] ?? 0 },
    addresses: Array.from({ length: count }, (_, index) => keyAt(data, tableHeader + index * keyBytes))
  }
}

// What the rules read of the chain before a signature: lookup tables, and the accounts that instructions of the relayer name.

/** Tables that nobody can read fail closed. One that a provider does not have is missing if another one says so as well. */
export const readTables = Effect.fnUntraced(function* (providers: SolanaProviders, tables: ReadonlyArray<string>) {
  if (tables.length === 0) return new Map<string, TableState>()
  const use = (node: Parameters<Parameters<SolanaProviders["first"]>[0]>[0]) =>
    Effect.map(readMany(node, tables, maxTableBytes), (found) => ({
      node,
      states: new Map(tables.map((table) => [table, tableOf(found.get(table))]))
    }))
  const asked = yield* Effect.result(providers.first(use))
  if (Result.isFailure(asked)) return "table_unavailable" as const
  const { node, states } = asked.success
  if ([...states.values()].every(({ _tag }) => _tag === "Active")) return states
  const other = yield* providers.second(node, use)
  const agrees =
    other === "not_configured" ||
    (other !== undefined && [...other.states.values()].some(({ _tag }) => _tag === "Missing"))
  return agrees ? ("missing_table" as const) : ("table_unavailable" as const)
})

/** What an account without data needs on the cluster. A provider that names more than any cluster asks, or nothing, is not believed. */
export const readRent = (providers: SolanaProviders) =>
  Effect.flatMap(
    providers.first((node) => node.call(Calls.rentMinimumNow)),
    (rent) =>
      rent > 0n && rent <= rentMinimum
        ? Effect.succeed(rent)
        : Effect.fail(answeredFailure("invalid_answer").of(Calls.rentMinimumNow.method))
  )

/**
 * The states of the accounts that instructions of the relayer name. `loaded`: what the tables of the message load. Unreadable: no
 * provider gives them.
 */
export const readAccounts = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { message }: WireTransaction,
  loaded: ReadonlyArray<string>
) {
  const addresses = [...message.keys, ...loaded]
  const listing = message.instructions.filter(isListingFeePayer)
  const keys = [...new Set(listing.flatMap(({ accounts }) => accounts.flatMap((index) => addresses[index] ?? [])))]
  if (keys.length === 0) return new Map<string, AccountState>()
  const read = yield* Effect.result(providers.first((node) => readMany(node, keys)))
  return Result.isFailure(read)
    ? new Map<string, AccountState>()
    : new Map(keys.map((key) => [key, stateOf(read.success.get(key))]))
})

// Hashes, derived addresses and signatures of solana, by Node's own functions.

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return Uint8Array.from(hash.digest())
}

const keyOf = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(keyBytes)

/** The prime of the field of ed25519, and the constant of its curve (RFC 8032). */
const prime = 2n ** 255n - 19n
const curveConstant = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

const modulo = (value: bigint): bigint => {
  const rest = value % prime
  return rest < 0n ? rest + prime : rest
}

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = modulo(result * square)
    square = modulo(square * square)
  }
  return result
}

/** Whether 32 bytes are a point of the curve: there is an x with x² = (y² − 1) / (d y² + 1), by the criterion of Euler. */
const isOnCurve = (bytes: Uint8Array): boolean => {
  let y = 0n
  for (let index = bytes.length - 1; index >= 0; index--) {
    y = (y << 8n) | BigInt(index === bytes.length - 1 ? (bytes[index] ?? 0) & 0x7f : (bytes[index] ?? 0))
  }
  const square = modulo(y * y)
  const [above, below] = [modulo(square - 1n), modulo(curveConstant * square + 1n)]
  // A quotient is a square if and only if the product is one.
  const product = modulo(above * below)
  return product === 0n || power(product, (prime - 1n) / 2n) === 1n
}

const marker = Buffer.from("ProgramDerivedAddress")

/** The first address below 255 that is no public key, so that nobody can sign for it. */
const programAddress = (seeds: ReadonlyArray<Uint8Array>, program: string): string => {
  for (let bump = 255; bump >= 0; bump--) {
    const found = sha256(...seeds, Uint8Array.of(bump), keyOf(program), marker)
    if (!isOnCurve(found)) return encodeBase58(found)
  }
  throw new Error("no seed gives an address that is not on the curve")
}

export const derivations: Derivations = {
  encode: encodeBase58,
  withSeed: (base, seed, owner) => encodeBase58(sha256(keyOf(base), seed, keyOf(owner))),
  associated: (wallet, mint, program) =>
    programAddress([keyOf(wallet), keyOf(program), keyOf(mint)], associatedTokenProgram)
}

/** The DER header of an ed25519 public key (RFC 8410). */
const derHeader = Buffer.from("302a300506032b6570032100", "hex")

/** Whether a signature belongs to the bytes and the address. */
export const isSignedBy = (signature: Uint8Array, bytes: Uint8Array, address: string): boolean => {
  const key = Buffer.concat([derHeader, keyOf(address)])
  return verify(null, bytes, createPublicKey({ key, format: "der", type: "spki" }), signature)
}
