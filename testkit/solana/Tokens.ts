// Accounts of tokens, and the transfers of the two token programs, for a cluster without a virtual machine.
import { token2022Program, tokenProgram, u64At } from "../../src/networks/solana/rules/Programs.ts"
import type { Instruction } from "../../src/networks/solana/rules/Programs.ts"
import { tokenAccountRent } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import { decodeBase58, encodeBase58, keyBytes } from "../../src/networks/solana/rules/Wire.ts"
import type { Account, Accounts } from "./Accounts.ts"

/** Errors of the token programs, by their numbers, and of the runtime. */
export type Failure = string | { readonly Custom: number }

const insufficientFunds: Failure = { Custom: 1 }
const mintMismatch: Failure = { Custom: 3 }
const ownerMismatch: Failure = { Custom: 4 }
const wrongDecimals: Failure = { Custom: 18 }
const isFrozen: Failure = { Custom: 17 }

/** Offsets and sizes of the two kinds of accounts. */
const layout = {
  token: { bytes: 165, mint: 0, owner: 32, amount: 64, state: 108, isNative: 109, rent: 113 },
  mint: { bytes: 82, supply: 36, decimals: 44, isInitialized: 45 },
  /** Behind 165 bytes, a byte says which of the two it is. Extensions follow: a number and a length of two bytes each. */
  kind: { mint: 1, token: 2 }
} as const

const states = { initialized: 1, frozen: 2 } as const

const key = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(keyBytes)

const view = (data: Uint8Array): DataView => new DataView(data.buffer, data.byteOffset, data.length)

const withExtensions = (
  bytes: Uint8Array,
  kind: number,
  extensions: ReadonlyArray<readonly [number: number, data: Uint8Array]>
): Uint8Array => {
  if (extensions.length === 0) return bytes
  const all = extensions.flatMap(([number, data]) => [number, 0, data.length, 0, ...data])
  return Uint8Array.from([...bytes, ...new Uint8Array(layout.token.bytes - bytes.length), kind, ...all])
}

interface Mint {
  readonly decimals: number
  /** Of Token-2022: numbers of extensions and their data. Absent: the mint belongs to Token. */
  readonly extensions?: ReadonlyArray<readonly [number: number, data: Uint8Array]>
}

export const mint = ({ decimals, extensions }: Mint): Account => {
  const data = new Uint8Array(layout.mint.bytes)
  view(data).setBigUint64(layout.mint.supply, 2n ** 60n, true)
  data[layout.mint.decimals] = decimals
  data[layout.mint.isInitialized] = 1
  return {
    lamports: tokenAccountRent.token2022,
    owner: extensions === undefined ? tokenProgram : token2022Program,
    data: withExtensions(data, layout.kind.mint, extensions ?? [])
  }
}

interface Holding {
  readonly mint: string
  readonly owner: string
  readonly amount: bigint
  readonly isFrozen?: boolean
  /** Whether the tokens are wrapped lamports. */
  readonly isNative?: boolean
  readonly program?: string
}

export const holding = (given: Holding): Account => {
  const { mint, owner, amount, isFrozen = false, isNative = false, program = tokenProgram } = given
  const rent = tokenAccountRent.token2022
  const data = new Uint8Array(layout.token.bytes)
  data.set(key(mint), layout.token.mint)
  data.set(key(owner), layout.token.owner)
  view(data).setBigUint64(layout.token.amount, amount, true)
  data[layout.token.state] = isFrozen ? states.frozen : states.initialized
  if (isNative) {
    data[layout.token.isNative] = 1
    view(data).setBigUint64(layout.token.rent, rent, true)
  }
  return { lamports: isNative ? rent + amount : rent, owner: program, data }
}

export const amountOf = (account: Account | undefined): bigint =>
  (account && u64At(account.data, layout.token.amount)) ?? 0n

const withAmount = (account: Account, amount: bigint): Account => {
  const data = account.data.slice()
  view(data).setBigUint64(layout.token.amount, amount, true)
  return { ...account, data }
}

const keyAt = (data: Uint8Array, offset: number): string => encodeBase58(data.slice(offset, offset + keyBytes))

export const mintOf = ({ data }: Account): string => keyAt(data, layout.token.mint)

export const decimalsOf = (account: Account | undefined): number => account?.data[layout.mint.decimals] ?? 0

/** Instructions by their first byte. */
const transfers = { plain: 3, checked: 12 } as const

/** Transfer and TransferChecked. */
export const execute = (
  accounts: Accounts,
  { program, accounts: named, data }: Instruction,
  signers: ReadonlySet<string>
): Accounts | Failure => {
  const isChecked = data[0] === transfers.checked
  if (!isChecked && data[0] !== transfers.plain) return "InvalidInstructionData"
  const [from = "", ...others] = named
  const [to = "", authority = ""] = isChecked ? others.slice(1) : others
  const [source, destination] = [accounts.get(from), accounts.get(to)]
  const amount = u64At(data, 1)
  if (source?.owner !== program || destination?.owner !== program) return "InvalidAccountData"
  if (amount === undefined) return "InvalidInstructionData"
  if ([source, destination].some((one) => one.data[layout.token.state] === states.frozen)) return isFrozen
  if (mintOf(source) !== mintOf(destination)) return mintMismatch
  if (isChecked && others[0] !== mintOf(source)) return mintMismatch
  if (isChecked && data[9] !== decimalsOf(accounts.get(mintOf(source)))) return wrongDecimals
  if (keyAt(source.data, layout.token.owner) !== authority) return ownerMismatch
  if (!signers.has(authority)) return "MissingRequiredSignature"
  if (amountOf(source) < amount) return insufficientFunds
  const changed = new Map(accounts).set(from, withAmount(source, amountOf(source) - amount))
  // The same account may stand at both places.
  const after = changed.get(to) ?? destination
  return changed.set(to, withAmount(after, amountOf(after) + amount))
}
