// The wire form of transactions of solana: builds messages, writes and reads bytes, and turns keys into texts in base58.
import { Result } from "effect"
import { configBits, highestVersion, malformed, signatureBytes, structureProblem } from "./Message.ts"
import type { CompiledInstruction, Malformed, Message, MessageConfig, TableLookup, WireTransaction } from "./Message.ts"

// Base58, the text form of keys, blockhashes and signatures.

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

const digitValues = new Map([...alphabet].map((character, value) => [character.charCodeAt(0), value]))

/** Bytes of a key and of a blockhash. */
export const keyBytes = 32

/** Base 58 to the fifth power: five digits at once stay exact in a double. */
const limbDigits = 5
const limbBase = 58 ** limbDigits

/** Each zero byte in front is a digit 1. */
const leadingZeros = (bytes: Uint8Array): number => {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first < 0 ? bytes.length : first
}

/** Two bytes at once: a limb times 65,536 stays exact in a double. The first one alone if their number is odd. */
const pairsOf = (bytes: Uint8Array): ReadonlyArray<number> => {
  const odd = bytes.length % 2
  const pairs: Array<number> = odd === 1 ? [bytes[0] ?? 0] : []
  for (let index = odd; index < bytes.length; index += 2) {
    pairs.push((bytes[index] ?? 0) * 256 + (bytes[index + 1] ?? 0))
  }
  return pairs
}

/** `%` of doubles takes five times as long as a division and a subtraction. */
export const encodeBase58 = (bytes: Uint8Array): string => {
  const limbs: Array<number> = []
  for (const pair of pairsOf(bytes)) {
    let carry = pair
    for (let index = 0; index < limbs.length; index++) {
      const value = (limbs[index] ?? 0) * 65_536 + carry
      carry = Math.floor(value / limbBase)
      limbs[index] = value - carry * limbBase
    }
    if (carry > 0) limbs.push(carry)
  }
  let digits = ""
  for (const limb of limbs) {
    let rest = limb
    for (let digit = 0; digit < limbDigits; digit++) {
      const higher = Math.floor(rest / 58)
      digits = alphabet.charAt(rest - higher * 58) + digits
      rest = higher
    }
  }
  return "1".repeat(leadingZeros(bytes)) + digits.replace(/^1+/, "")
}

/** Values of a limb of two bytes. */
const pairBase = 65_536

const leadingOnes = (text: string): number => {
  let count = 0
  while (text[count] === "1") count++
  return count
}

/** Undefined: the text is not the base58 form of exactly `size` bytes, an even number. */
export const decodeBase58 = (text: string, size: number = keyBytes): Uint8Array | undefined => {
  /** The last two bytes come first. */
  const pairs: Array<number> = Array.from({ length: size / 2 }, () => 0)
  for (let from = 0; from < text.length; from += limbDigits) {
    let [carry, base] = [0, 1]
    for (let index = from; index < Math.min(from + limbDigits, text.length); index++) {
      const value = digitValues.get(text.charCodeAt(index))
      if (value === undefined) return undefined
      carry = carry * 58 + value
      base *= 58
    }
    for (let index = 0; index < pairs.length; index++) {
      const value = (pairs[index] ?? 0) * base + carry
      carry = Math.floor(value / pairBase)
      pairs[index] = value - carry * pairBase
    }
    if (carry > 0) return undefined
  }
  const bytes = new Uint8Array(size)
  for (const [index, pair] of pairs.entries()) {
    bytes[size - 2 * index - 2] = pair >> 8
    bytes[size - 2 * index - 1] = pair & 255
  }
  // Only zero bytes in front may have more than one text.
  return leadingOnes(text) === leadingZeros(bytes) ? bytes : undefined
}

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
    this.all(decodeBase58(address) ?? new Uint8Array(keyBytes))
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
export const buildMessage = (options: BuildOptions): Message => {
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

// Reads a transaction as it travels: signatures, then a message of the legacy form or of version 0; or a message of version 1, then
// signatures. There is one reading of the bytes: lengths have their shortest form, and nothing is left over (rule S1).

/** Set in the first byte of a message that has a version. */
const versionBit = 0x80

/** Bits of the mask of a configuration that are known. */
const knownBits = Object.values(configBits).reduce((sum, bits) => sum | bits, 0)

/** Bytes of a length at most: seven bits in each of the first two, two in the third. */
const maxLengthBytes = 3
const maxLength = 0xffff

/** Reads from the front. After the first problem, every further read returns zeros. */
const readerOf = (bytes: Uint8Array) => {
  let offset = 0
  let problem: string | undefined

  const fail = (message: string): void => {
    problem ??= message
  }

  const hasFailed = (): boolean => problem !== undefined

  const take = (count: number): Uint8Array => {
    if (problem === undefined && offset + count > bytes.length) fail(`the bytes end before byte ${offset + count}`)
    if (problem !== undefined) return new Uint8Array(0)
    offset += count
    return bytes.slice(offset - count, offset)
  }

  const byte = (): number => take(1)[0] ?? 0

  /** A number of as many bytes, the lowest first. */
  const number = (count: number): bigint => take(count).reduceRight((sum, one) => (sum << 8n) | BigInt(one), 0n)

  /** A length in the form compact-u16. */
  const length = (): number => {
    const start = offset
    let value = 0
    for (let index = 0; index < maxLengthBytes; index++) {
      const part = byte()
      value |= (part & 0x7f) << (7 * index)
      if ((part & 0x80) !== 0) continue
      if (part === 0 && index > 0) fail(`the length at byte ${start} is not in its shortest form`)
      if (value > maxLength) fail(`the length at byte ${start} is above ${maxLength}`)
      return problem === undefined ? value : 0
    }
    fail(`the length at byte ${start} has more than ${maxLengthBytes} bytes`)
    return 0
  }

  const list = <A>(read: () => A): ReadonlyArray<A> => {
    const count = length()
    const items: Array<A> = []
    for (let index = 0; index < count; index++) {
      items.push(read())
      if (hasFailed()) break
    }
    return items
  }

  return {
    fail,
    take,
    byte,
    number,
    list,
    key: (): string => encodeBase58(take(keyBytes)),
    indices: (): ReadonlyArray<number> => [...take(length())],
    data: (): Uint8Array => take(length()),
    peek: (): number => bytes[offset] ?? 0,
    offset: (): number => offset,
    /** Undefined: everything was read, and it was well formed. */
    problem: (): string | undefined =>
      problem ?? (offset < bytes.length ? `${bytes.length - offset} bytes are left over` : undefined)
  }
}

type Reader = ReturnType<typeof readerOf>

const instructionOf = (reader: Reader): CompiledInstruction => ({
  program: reader.byte(),
  accounts: reader.indices(),
  data: reader.data()
})

const lookupOf = (reader: Reader): TableLookup => ({
  table: reader.key(),
  writable: reader.indices(),
  readonly: reader.indices()
})

type SignedFirst = Exclude<Message["version"], 1>

const messageOf = (reader: Reader, version: SignedFirst): Message => ({
  version,
  signers: reader.byte(),
  readonlySigners: reader.byte(),
  readonlyOthers: reader.byte(),
  keys: reader.list(reader.key),
  blockhash: reader.key(),
  instructions: reader.list(() => instructionOf(reader)),
  tables: version === 0 ? reader.list(() => lookupOf(reader)) : []
})

const configOf = (reader: Reader, mask: number): MessageConfig => {
  const fee = mask & configBits.priorityFee
  if (fee !== 0 && fee !== configBits.priorityFee) reader.fail("the configuration has one of the two bits of a fee")
  if ((mask & ~knownBits) !== 0) reader.fail(`the configuration has values that are not known: its mask is ${mask}`)
  const has = (bits: number) => (mask & bits) === bits
  return {
    ...(has(configBits.priorityFee) ? { priorityFee: reader.number(8) } : {}),
    ...(has(configBits.computeUnitLimit) ? { computeUnitLimit: Number(reader.number(4)) } : {}),
    ...(has(configBits.loadedBytes) ? { loadedBytes: Number(reader.number(4)) } : {}),
    ...(has(configBits.heapBytes) ? { heapBytes: Number(reader.number(4)) } : {})
  }
}

/** Its counts are single bytes, and the sizes of all instructions come before their contents. */
const version1MessageOf = (reader: Reader): Message => {
  const times = <A>(count: number, read: () => A): ReadonlyArray<A> => Array.from({ length: count }, read)
  reader.byte()
  const [signers, readonlySigners, readonlyOthers] = [reader.byte(), reader.byte(), reader.byte()]
  const mask = Number(reader.number(4))
  const blockhash = reader.key()
  const [instructionCount, keyCount] = [reader.byte(), reader.byte()]
  const keys = times(keyCount, reader.key)
  const config = configOf(reader, mask)
  const sizes = times(instructionCount, () => ({
    program: reader.byte(),
    accounts: reader.byte(),
    data: Number(reader.number(2))
  }))
  const instructions = sizes.map(({ program, accounts, data }) => ({
    program,
    accounts: [...reader.take(accounts)],
    data: reader.take(data)
  }))
  return { version: 1, config, signers, readonlySigners, readonlyOthers, keys, blockhash, instructions, tables: [] }
}

const unsupported = (version: number): Malformed => ({
  code: "unsupported_version",
  message: `a message of version ${version}; use the legacy form, version 0 or version ${highestVersion}`
})

const versionOf = (reader: Reader): SignedFirst | Malformed => {
  if ((reader.peek() & versionBit) === 0) return "legacy"
  const version = reader.byte() & ~versionBit
  if (version === 0) return 0
  return version > highestVersion ? unsupported(version) : malformed("version 1 has its signatures behind the message")
}

const isEmpty = (signature: Uint8Array): boolean => signature.every((byte) => byte === 0)

interface Parts {
  readonly message: Message
  readonly messageBytes: Uint8Array
  readonly slots: ReadonlyArray<Uint8Array>
}

/** A message of a version that has its signatures in front of it. */
const signedFirst = (reader: Reader, bytes: Uint8Array): Parts | Malformed => {
  const slots = reader.list(() => reader.take(signatureBytes))
  const start = reader.offset()
  const version = versionOf(reader)
  if (typeof version === "object") return version
  return { message: messageOf(reader, version), messageBytes: bytes.slice(start), slots }
}

const messageFirst = (reader: Reader, bytes: Uint8Array): Parts | Malformed => {
  const version = reader.peek() & ~versionBit
  if (version > highestVersion) return unsupported(version)
  if (version === 0) return malformed("version 0 has its signatures in front of the message")
  const message = version1MessageOf(reader)
  const messageBytes = bytes.slice(0, reader.offset())
  const slots = Array.from({ length: message.signers }, () => reader.take(signatureBytes))
  return { message, messageBytes, slots }
}

/** A count of signatures never has the bit that marks a version, so the first byte says which of the two forms the bytes have. */
export const decodeTransaction = (bytes: Uint8Array): Result.Result<WireTransaction, Malformed> => {
  const reader = readerOf(bytes)
  const parts = ((reader.peek() & versionBit) === 0 ? signedFirst : messageFirst)(reader, bytes)
  if ("code" in parts) return Result.fail(parts)
  const problem = reader.problem()
  if (problem !== undefined) return Result.fail(malformed(problem))
  const transaction: WireTransaction = {
    message: parts.message,
    messageBytes: parts.messageBytes,
    signatures: parts.slots.map((signature) => (isEmpty(signature) ? undefined : signature)),
    size: bytes.length
  }
  const structure = structureProblem(transaction)
  return structure === undefined ? Result.succeed(transaction) : Result.fail(structure)
}
