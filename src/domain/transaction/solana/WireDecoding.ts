// Reads a transaction as it travels: signatures, then a message of the legacy form or of version 0; or a message of version 1, then
// signatures. There is one reading of the bytes: lengths have their shortest form, and nothing is left over (rule S1).
import { Result } from "effect"
import * as Base58 from "./Base58.ts"
import { configBits, highestVersion, malformed, signatureBytes, structureProblem } from "./Message.ts"
import type { CompiledInstruction, Malformed, Message, MessageConfig, TableLookup, WireTransaction } from "./Message.ts"

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
    key: (): string => Base58.encode(take(Base58.keyBytes)),
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
export const decode = (bytes: Uint8Array): Result.Result<WireTransaction, Malformed> => {
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
