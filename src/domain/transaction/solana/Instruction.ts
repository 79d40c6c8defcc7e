// Instructions with their accounts as addresses, and what the rules read of accounts on the chain.
import type { RuleCode } from "./SolanaCode.ts"
import type { Message } from "./Message.ts"

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
