// Builds messages from instructions, and writes messages and transactions as they travel.
import * as Base58 from "./Base58.ts"
import { configBits, signatureBytes } from "./Message.ts"
import type { Message, MessageConfig } from "./Message.ts"

/** Bytes that most transactions have at most. */
const room = 2048

/** The first byte of a message of version 1. No count of signatures has it. */
const version1Byte = 0x81

/** Writes bytes one behind the other. */
class Writer {
  #bytes = new Uint8Array(room)
  #length = 0

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.#length++] = value
  }

  all(values: Uint8Array | ReadonlyArray<number>): void {
    if (this.#length + values.length > this.#bytes.length) this.#grow(values.length)
    this.#bytes.set(values, this.#length)
    this.#length += values.length
  }

  /** A length in the form compact-u16: seven bits in each byte, the lowest first. */
  length(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest >>= 7) this.byte((rest & 0x7f) | 0x80)
    this.byte(rest)
  }

  /** A number of as many bytes, the lowest first. */
  number(value: bigint | number, bytes: number): void {
    for (let rest = BigInt(value), index = 0; index < bytes; index++, rest >>= 8n) this.byte(Number(rest & 0xffn))
  }

  withLength(values: Uint8Array | ReadonlyArray<number>): void {
    this.length(values.length)
    this.all(values)
  }

  /** Text that is not base58 of 32 bytes is caught when a request is decoded. */
  key(address: string): void {
    this.all(Base58.decode(address) ?? new Uint8Array(Base58.keyBytes))
  }

  get bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #grow(more: number): void {
    const larger = new Uint8Array(2 * this.#bytes.length + more)
    larger.set(this.#bytes)
    this.#bytes = larger
  }
}

const configNames = ["priorityFee", "computeUnitLimit", "loadedBytes", "heapBytes"] as const

/** Encodes the instructions of a version 1 message: the sizes of all instructions come before their contents. */
const version1Bytes = ({ config = {}, keys, blockhash, instructions, ...header }: Message): Uint8Array => {
  const writer = new Writer()
  const given = configNames.filter((name) => config[name] !== undefined)
  writer.all([version1Byte, header.signers, header.readonlySigners, header.readonlyOthers])
  writer.number(
    given.reduce((mask, name) => mask | configBits[name], 0),
    4
  )
  writer.key(blockhash)
  writer.all([instructions.length, keys.length])
  for (const address of keys) writer.key(address)
  for (const name of given) writer.number(config[name] ?? 0, name === "priorityFee" ? 8 : 4)
  for (const { program, accounts, data } of instructions) {
    writer.all([program, accounts.length])
    writer.number(data.length, 2)
  }
  for (const { accounts, data } of instructions) {
    writer.all(accounts)
    writer.all(data)
  }
  return writer.bytes
}

/** What is signed. */
export const messageBytes = (message: Message): Uint8Array => {
  const { version, keys, blockhash, instructions, tables, ...header } = message
  if (version === 1) return version1Bytes(message)
  const writer = new Writer()
  if (version === 0) writer.byte(0x80)
  writer.all([header.signers, header.readonlySigners, header.readonlyOthers])
  writer.length(keys.length)
  for (const address of keys) writer.key(address)
  writer.key(blockhash)
  writer.length(instructions.length)
  for (const { program, accounts, data } of instructions) {
    writer.byte(program)
    writer.withLength(accounts)
    writer.withLength(data)
  }
  if (version === "legacy") return writer.bytes
  writer.length(tables.length)
  for (const { table, writable, readonly } of tables) {
    writer.key(table)
    writer.withLength(writable)
    writer.withLength(readonly)
  }
  return writer.bytes
}

/** An absent signature is a slot of zero bytes. Those of version 1 follow the message, which says how many there are. */
export const transactionBytes = (
  signatures: ReadonlyArray<Uint8Array | undefined>,
  message: Uint8Array
): Uint8Array => {
  const writer = new Writer()
  const isFirst = message[0] === version1Byte
  if (isFirst) writer.all(message)
  else writer.length(signatures.length)
  for (const signature of signatures) writer.all(signature ?? new Uint8Array(signatureBytes))
  if (!isFirst) writer.all(message)
  return writer.bytes
}

interface AccountMeta {
  readonly address: string
  readonly isWritable: boolean
  /** Absent: only the fee payer signs. */
  readonly isSigner?: boolean
}

export interface BuiltInstruction {
  readonly program: string
  readonly accounts: ReadonlyArray<AccountMeta>
  readonly data: Uint8Array
}

export interface BuildOptions {
  readonly payer: string
  readonly instructions: ReadonlyArray<BuiltInstruction>
  readonly blockhash: string
  /** Contents of lookup tables, by address. Absent: the legacy form is built, or version 1. */
  readonly tables?: ReadonlyMap<string, ReadonlyArray<string>> | undefined
  /** Absent: the legacy form is built, or version 0. */
  readonly config?: MessageConfig | undefined
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

interface Role {
  readonly isSigner: boolean
  readonly isWritable: boolean
}

/** What the runtime gives each account besides the fee payer: what any instruction asks for. */
const rolesOf = ({ payer, instructions }: BuildOptions): ReadonlyMap<string, Role> => {
  const roles = new Map<string, Role>()
  const add = (address: string, { isSigner, isWritable }: Role) => {
    const former = roles.get(address)
    roles.set(address, {
      isSigner: isSigner || former?.isSigner === true,
      isWritable: isWritable || former?.isWritable === true
    })
  }
  for (const { program, accounts } of instructions) {
    for (const { address, isWritable, isSigner = false } of accounts) add(address, { isSigner, isWritable })
    add(program, { isSigner: false, isWritable: false })
  }
  roles.delete(payer)
  return roles
}

/** Accounts that a table has are loaded from it, except signers and programs that are called. */
export const build = (options: BuildOptions): Message => {
  const { payer, instructions, blockhash, tables, config } = options
  const roles = rolesOf(options)
  const programs = new Set(instructions.map(({ program }) => program))
  const loaded = [...roles].flatMap(([address, { isSigner, isWritable }]) => {
    const place = programs.has(address) || isSigner ? undefined : placeIn(tables, address)
    return place === undefined ? [] : [{ address, isWritable, ...place }]
  })
  const isLoaded = new Set(loaded.map(({ address }) => address))
  const having = (isSigner: boolean, isWritable: boolean) =>
    [...roles].flatMap(([address, role]) =>
      !isLoaded.has(address) && role.isSigner === isSigner && role.isWritable === isWritable ? [address] : []
    )
  const [writableSigners, readonlySigners] = [having(true, true), having(true, false)]
  const readonlyOthers = having(false, false)
  const keys = [payer, ...writableSigners, ...readonlySigners, ...having(false, true), ...readonlyOthers]
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
    ...(config === undefined ? { version: tables === undefined ? ("legacy" as const) : 0 } : { version: 1, config }),
    signers: 1 + writableSigners.length + readonlySigners.length,
    readonlySigners: readonlySigners.length,
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
