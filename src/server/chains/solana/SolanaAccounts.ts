// Accounts of the chain as the rules read them: lookup tables, token accounts and the relayer's own.
import { Effect } from "effect"
import * as Base58 from "../../../domain/transaction/solana/Base58.ts"
import type { TokenExtension } from "../../../domain/relayer/Policy.ts"
import type { AccountState, TableState } from "../../../domain/transaction/solana/Instruction.ts"
import * as LittleEndian from "../../../domain/transaction/solana/LittleEndian.ts"
import type { MintState } from "../../../domain/transaction/solana/Payment.ts"
import { isTokenProgram, token2022Program } from "../../../domain/transaction/solana/Programs.ts"
import type { TokenAuthorities } from "../../../domain/transaction/solana/SimulatedRules.ts"
import { bytesOf } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { RpcNode } from "../RpcNode.ts"
import { accountsOf } from "./SolanaCalls.ts"
import type { AccountInfo } from "./SolanaCalls.ts"

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

export const read = (node: RpcNode, addresses: ReadonlyArray<string>, bytes?: number) =>
  Effect.map(readWithSlots(node, addresses, bytes), ({ accounts }) => accounts)

export const dataOf = ({ data: [text] }: AccountInfo): Uint8Array => bytesOf(text)

const isTokenAccount = (program: string, data: Uint8Array): boolean =>
  data.length === sizes.token ||
  (program === token2022Program &&
    data.length > sizes.token &&
    data.length !== sizes.multisig &&
    data[sizes.token] === tokenType)

const keyAt = (data: Uint8Array, offset: number): string => Base58.encode(data.slice(offset, offset + Base58.keyBytes))

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

export const amountOf = (account: AccountInfo): bigint => LittleEndian.u64(dataOf(account), amountOffset) ?? 0n

/** Offsets of an optional key in a token account: a flag of four bytes, then the key. */
const optionalKeys = { delegate: 72, closeAuthority: 129 } as const

const optionalKey = <K extends keyof typeof optionalKeys>(data: Uint8Array, name: K) =>
  LittleEndian.u32(data, optionalKeys[name]) === 1 ? { [name]: keyAt(data, optionalKeys[name] + 4) } : {}

export const authoritiesOf = (account: AccountInfo): TokenAuthorities => {
  const data = dataOf(account)
  return { owner: keyAt(data, 32), ...optionalKey(data, "delegate"), ...optionalKey(data, "closeAuthority") }
}

export const tableOf = (account: AccountInfo | undefined): TableState => {
  if (account === undefined || account.owner !== tableProgram) return { _tag: "Missing" }
  const data = dataOf(account)
  if (LittleEndian.u32(data, 0) !== 1 || LittleEndian.u64(data, 4) !== active) return { _tag: "Missing" }
  const count = Math.floor((data.length - tableHeader) / Base58.keyBytes)
  return {
    _tag: "Active",
    extended: { slot: Number(LittleEndian.u64(data, extensionOffset) ?? 0n), from: data[extensionOffset + 8] ?? 0 },
    addresses: Array.from({ length: count }, (_, index) => keyAt(data, tableHeader + index * Base58.keyBytes))
  }
}
