// Programs that the rules know, instructions with their accounts as addresses, and what a message costs its fee payer.
import { systemProgram, token2022Program, tokenProgram } from "../../../domain/chain/Amount.ts"
import type { Message } from "./Message.ts"
import {
  builtinComputeUnits,
  defaultComputeUnits,
  lamportsPerSignature,
  maxComputeUnits,
  microLamports
} from "./SolanaNumbers.ts"
import type { RuleCode } from "./SolanaWords.ts"

export {
  associatedTokenProgram,
  memo4Program,
  memoProgram,
  shapedPrograms,
  systemProgram,
  token2022Program,
  tokenProgram
} from "../../../domain/chain/Amount.ts"

export const computeBudgetProgram = "ComputeBudget111111111111111111111111111111"
export const loaderProgram = "BPFLoaderUpgradeab1e11111111111111111111111"
export const stakeProgram = "Stake11111111111111111111111111111111111111"
export const voteProgram = "Vote111111111111111111111111111111111111111"
export const rentSysvar = "SysvarRent111111111111111111111111111111111"

/**
 * Programs whose instructions get the compute units of a builtin: the list of Agave 4.1, without those that have moved to programs on the
 * chain. A builtin that is missing here only makes a computed fee too high.
 */
const builtins: ReadonlySet<string> = new Set([
  systemProgram,
  computeBudgetProgram,
  "BPFLoader1111111111111111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  loaderProgram,
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111"
])

/** Instructions of these programs claim signatures, which cost as much as those of the transaction. */
const precompiles: ReadonlySet<string> = new Set([
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

// Integers in the data of instructions. Undefined: the data ends before.

const integerAt = (data: Uint8Array, offset: number, bytes: number): bigint | undefined => {
  if (offset + bytes > data.length) return undefined
  let value = 0n
  for (let index = bytes - 1; index >= 0; index--) value = (value << 8n) | BigInt(data[offset + index] ?? 0)
  return value
}

export const u32At = (data: Uint8Array, offset: number): number | undefined => {
  const value = integerAt(data, offset, 4)
  return value === undefined ? undefined : Number(value)
}

export const u64At = (data: Uint8Array, offset: number): bigint | undefined => integerAt(data, offset, 8)

// Instructions with their accounts as addresses, and what the rules read of accounts on the chain.

export interface Instruction {
  readonly program: string
  readonly accounts: ReadonlyArray<string>
  readonly data: Uint8Array
}

/** Why a rule refuses a message. */
export interface Refusal {
  readonly code: RuleCode
  /** What was expected, and what to do. */
  readonly message: string
}

export const refusal = (code: RuleCode, message: string): Refusal => ({ code, message })

/** Derived addresses, and keys inside of data. They need hashes, which this folder does not import. */
export interface Derivations {
  readonly encode: (key: Uint8Array) => string
  readonly withSeed: (base: string, seed: Uint8Array, owner: string) => string
  /** The associated token account. */
  readonly associated: (wallet: string, mint: string, tokenProgram: string) => string
}

/** `unreadable`: no provider gave it. */
export type AccountState =
  | {
      readonly _tag: "Token"
      readonly program: string
      readonly mint: string
      readonly owner: string
      readonly isFrozen?: true
    }
  | { readonly _tag: "Other"; readonly isProgram: boolean }
  | { readonly _tag: "Unreadable" }

/** A lookup table. `Missing`: it does not exist, is no table, or is deactivated. */
export type TableState =
  | {
      readonly _tag: "Active"
      readonly addresses: ReadonlyArray<string>
      /** The slot of its last extension, and the index of the first address that this slot has added. */
      readonly extended?: { readonly slot: number; readonly from: number }
    }
  | { readonly _tag: "Missing" }

/**
 * What tables load: all writable accounts, then the others (rule S8). A table only grows, so that a resolved index keeps its
 * meaning.
 */
export const loadedBy = (
  { tables }: Message,
  states: ReadonlyMap<string, TableState>
): ReadonlyArray<string> | Refusal => {
  const loaded: Record<"writable" | "readonly", Array<string>> = { writable: [], readonly: [] }
  for (const lookup of tables) {
    const state = states.get(lookup.table)
    const addresses = state?._tag === "Active" ? state.addresses : []
    for (const kind of ["writable", "readonly"] as const) {
      for (const index of lookup[kind]) {
        const address = addresses[index]
        if (address === undefined) {
          return refusal("lookup_table_unresolved", `lookup table ${lookup.table} has no active entry ${index}`)
        }
        loaded[kind].push(address)
      }
    }
  }
  return [...loaded.writable, ...loaded.readonly]
}

/**
 * The slot of the newest extension whose entries a message uses. Leaders load tables as the finalized blocks have them, and drop bytes
 * that use later entries, although every simulation knows these. Undefined: it uses none of the last extension of a table.
 */
export const extensionUsed = ({ tables }: Message, states: ReadonlyMap<string, TableState>): number | undefined => {
  const slots = tables.flatMap(({ table, writable, readonly }) => {
    const state = states.get(table)
    const extended = state?._tag === "Active" ? state.extended : undefined
    return extended !== undefined && Math.max(...writable, ...readonly) >= extended.from ? [extended.slot] : []
  })
  return slots.length === 0 ? undefined : Math.max(...slots)
}

/** `loaded`: what the tables load. Without it, accounts of tables are left out, as at admission. */
export const instructionsOf = (message: Message, loaded: ReadonlyArray<string> = []): ReadonlyArray<Instruction> => {
  const addresses = [...message.keys, ...loaded]
  return message.instructions.map(({ program, accounts, data }) => ({
    program: message.keys[program] ?? "",
    accounts: accounts.map((index) => addresses[index] ?? ""),
    data
  }))
}

// What a message costs its fee payer, as the runtime charges it.

/** Instructions of the compute budget, by their first byte. */
const budget = { limit: 2, price: 3 } as const

/** Bytes that each of them has at least: its kind, and a number of four or eight bytes. The runtime refuses every other kind. */
const budgetBytes: Readonly<Record<number, number>> = { 1: 5, 2: 5, 3: 9, 4: 5 }

export interface Fee {
  readonly signatures: number
  /** Signatures that precompiles claim. */
  readonly claimed: number
  /** Absent: the message sets none, and the runtime takes its default. */
  readonly computeUnitLimit?: number
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
  /** Lamports. An upper bound if the message has a price and no limit: other programs may count as builtins. */
  readonly total: bigint
  /** A node may know better than `total`. */
  readonly isBound?: true
}

/** In version 1 these instructions have no effect: its configuration says what they would. */
const budgetData = ({ instructions, keys, version }: Message): ReadonlyArray<Uint8Array> =>
  version === 1
    ? []
    : instructions.filter(({ program }) => keys[program] === computeBudgetProgram).map(({ data }) => data)

/** What makes the runtime refuse the instructions of the compute budget. Undefined: nothing. */
export const budgetProblem = (message: Message): string | undefined => {
  const all = budgetData(message)
  const kinds = all.map(([kind]) => kind)
  if (new Set(kinds).size < kinds.length) {
    return "an instruction of the compute budget occurs twice; give each one once"
  }
  const wrong = all.find((data) => data.length < (budgetBytes[data[0] ?? 0] ?? Number.POSITIVE_INFINITY))
  return wrong === undefined
    ? undefined
    : `an instruction of the compute budget has the kind ${wrong[0] ?? "none"} and ${wrong.length} bytes; expected the kinds 1, 2 and 4 with 5 bytes, or 3 with 9`
}

/** The fee for a price and a limit of compute units: the part of a lamport that is left counts as one. */
export const totalFee = (signatures: number, price: bigint, units: number): bigint =>
  lamportsPerSignature * BigInt(signatures) + (price * BigInt(units) + microLamports - 1n) / microLamports

/** Version 1 names its fee in lamports. The price is what that is for each unit. */
const feeOfConfig = ({ config = {} }: Message, signatures: number, claimed: number): Fee => {
  const { priorityFee = 0n, computeUnitLimit } = config
  const units = BigInt(computeUnitLimit ?? 0)
  return {
    signatures,
    claimed,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit }),
    computeUnitPrice: units === 0n ? 0n : (priorityFee * microLamports) / units,
    total: lamportsPerSignature * BigInt(signatures) + priorityFee
  }
}

/** What the runtime allows instructions of these programs if no limit is set. */
export const defaultUnits = (programs: ReadonlyArray<string>): number =>
  Math.min(
    maxComputeUnits,
    programs.reduce((units, program) => units + (builtins.has(program) ? builtinComputeUnits : defaultComputeUnits), 0)
  )

export const feeOf = (message: Message): Fee => {
  const { instructions, keys, signers } = message
  let claimed = 0
  for (const { program, data } of instructions) {
    if (precompiles.has(keys[program] ?? "")) claimed += data[0] ?? 0
  }
  const data = budgetData(message)
  const limitData = data.find(([kind]) => kind === budget.limit)
  const priceData = data.find(([kind]) => kind === budget.price)
  const limit = limitData === undefined ? undefined : u32At(limitData, 1)
  const price = (priceData === undefined ? undefined : u64At(priceData, 1)) ?? 0n
  const units = Math.min(maxComputeUnits, limit ?? defaultUnits(instructions.map(({ program }) => keys[program] ?? "")))
  const signatures = signers + claimed
  if (message.version === 1) return feeOfConfig(message, signatures, claimed)
  return {
    signatures,
    claimed,
    ...(limit === undefined ? {} : { computeUnitLimit: limit }),
    computeUnitPrice: price,
    total: totalFee(signatures, price, units),
    ...(price > 0n && limit === undefined ? { isBound: true } : {})
  }
}
