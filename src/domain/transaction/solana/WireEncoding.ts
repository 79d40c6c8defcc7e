// Builds messages from instructions, and writes messages and transactions as they travel.
import * as Base58 from "./Base58.ts"
import { signatureBytes } from "./Message.ts"
import type { CompiledInstruction, Message, TableLookup } from "./Message.ts"

/** A length in the form compact-u16. */
const length = (value: number): ReadonlyArray<number> => {
  if (value < 0x80) return [value]
  if (value < 0x4000) return [(value & 0x7f) | 0x80, value >> 7]
  return [(value & 0x7f) | 0x80, ((value >> 7) & 0x7f) | 0x80, value >> 14]
}

/** Text that is not base58 of 32 bytes is caught when a request is decoded. */
const key = (address: string): ReadonlyArray<number> => [...(Base58.decode(address) ?? new Uint8Array(Base58.keyBytes))]

const withLength = (bytes: Iterable<number>): ReadonlyArray<number> => {
  const all = [...bytes]
  return [...length(all.length), ...all]
}

const instructionBytes = ({ program, accounts, data }: CompiledInstruction): ReadonlyArray<number> => [
  program,
  ...withLength(accounts),
  ...withLength(data)
]

const lookupBytes = ({ table, writable, readonly }: TableLookup): ReadonlyArray<number> => [
  ...key(table),
  ...withLength(writable),
  ...withLength(readonly)
]

/** What is signed. */
export const messageBytes = (message: Message): Uint8Array =>
  Uint8Array.from([
    ...(message.version === 0 ? [0x80] : []),
    message.signers,
    message.readonlySigners,
    message.readonlyOthers,
    ...length(message.keys.length),
    ...message.keys.flatMap(key),
    ...key(message.blockhash),
    ...length(message.instructions.length),
    ...message.instructions.flatMap(instructionBytes),
    ...(message.version === 0 ? [...length(message.tables.length), ...message.tables.flatMap(lookupBytes)] : [])
  ])

/** An absent signature is a slot of zero bytes. */
export const transactionBytes = (signatures: ReadonlyArray<Uint8Array | undefined>, message: Uint8Array): Uint8Array =>
  Uint8Array.from([
    ...length(signatures.length),
    ...signatures.flatMap((signature) => [...(signature ?? new Uint8Array(signatureBytes))]),
    ...message
  ])

interface AccountMeta {
  readonly address: string
  readonly isWritable: boolean
}

/** An instruction whose only possible signer is the fee payer. */
export interface BuiltInstruction {
  readonly program: string
  readonly accounts: ReadonlyArray<AccountMeta>
  readonly data: Uint8Array
}

export interface BuildOptions {
  readonly payer: string
  readonly instructions: ReadonlyArray<BuiltInstruction>
  readonly blockhash: string
  /** Contents of lookup tables, by address. Absent: the legacy form is built. */
  readonly tables?: ReadonlyMap<string, ReadonlyArray<string>> | undefined
}

interface Place {
  readonly table: string
  readonly index: number
}

const placeIn = (tables: BuildOptions["tables"], address: string): Place | undefined => {
  for (const [table, addresses] of tables ?? []) {
    const index = addresses.indexOf(address)
    if (index >= 0) return { table, index }
  }
  return undefined
}

/** The message that the fee payer alone signs. Accounts that a table has are loaded from it, except programs that are called. */
export const build = ({ payer, instructions, blockhash, tables }: BuildOptions): Message => {
  const writable = new Map<string, boolean>()
  for (const { program, accounts } of instructions) {
    for (const { address, isWritable } of accounts) {
      writable.set(address, isWritable || writable.get(address) === true)
    }
    writable.set(program, writable.get(program) === true)
  }
  writable.delete(payer)
  const programs = new Set(instructions.map(({ program }) => program))
  const loaded = [...writable].flatMap(([address, isWritable]) => {
    const place = programs.has(address) ? undefined : placeIn(tables, address)
    return place === undefined ? [] : [{ address, isWritable, ...place }]
  })
  const isLoaded = new Set(loaded.map(({ address }) => address))
  const others = [...writable].filter(([address]) => !isLoaded.has(address))
  const readonlyOthers = others.flatMap(([address, isWritable]) => (isWritable ? [] : [address]))
  const keys = [payer, ...others.flatMap(([address, isWritable]) => (isWritable ? [address] : [])), ...readonlyOthers]
  const lookups = [...(tables?.keys() ?? [])].flatMap((table) => {
    const own = loaded.filter((account) => account.table === table)
    return own.length === 0
      ? []
      : [{ table, own, writable: own.filter((one) => one.isWritable), readonly: own.filter((one) => !one.isWritable) }]
  })
  const addresses = [
    ...keys,
    ...lookups.flatMap((lookup) => lookup.writable.map(({ address }) => address)),
    ...lookups.flatMap((lookup) => lookup.readonly.map(({ address }) => address))
  ]
  const indexOf = new Map(addresses.map((address, index) => [address, index]))
  const at = (address: string): number => indexOf.get(address) ?? 0
  return {
    version: tables === undefined ? "legacy" : 0,
    signers: 1,
    readonlySigners: 0,
    readonlyOthers: readonlyOthers.length,
    keys,
    blockhash,
    instructions: instructions.map(({ program, accounts, data }) => ({
      program: at(program),
      accounts: accounts.map(({ address }) => at(address)),
      data
    })),
    tables: lookups.map(({ table, writable, readonly }) => ({
      table,
      writable: writable.map(({ index }) => index),
      readonly: readonly.map(({ index }) => index)
    }))
  }
}
