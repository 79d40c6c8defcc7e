// Reads a transaction as it travels: signatures, then a message of the legacy form or of version 0. There is one reading of the
// bytes: lengths have their shortest form, and nothing is left over (rule S1).
import { Result } from "effect"
import * as Base58 from "./Base58.ts"
import { malformed, signatureBytes, structureProblem } from "./Message.ts"
import type { CompiledInstruction, Malformed, Message, TableLookup, WireTransaction } from "./Message.ts"

/** Set in the first byte of a message that has a version. */
const versionBit = 0x80

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
    take,
    byte,
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

const messageOf = (reader: Reader, version: Message["version"]): Message => ({
  version,
  signers: reader.byte(),
  readonlySigners: reader.byte(),
  readonlyOthers: reader.byte(),
  keys: reader.list(reader.key),
  blockhash: reader.key(),
  instructions: reader.list(() => instructionOf(reader)),
  tables: version === 0 ? reader.list(() => lookupOf(reader)) : []
})

const versionOf = (reader: Reader): Message["version"] | Malformed => {
  if ((reader.peek() & versionBit) === 0) return "legacy"
  const version = reader.byte() & ~versionBit
  return version === 0
    ? 0
    : { code: "unsupported_version", message: `a message of version ${version}; use the legacy form or version 0` }
}

const isEmpty = (signature: Uint8Array): boolean => signature.every((byte) => byte === 0)

export const decode = (bytes: Uint8Array): Result.Result<WireTransaction, Malformed> => {
  const reader = readerOf(bytes)
  const slots = reader.list(() => reader.take(signatureBytes))
  const start = reader.offset()
  const version = versionOf(reader)
  if (typeof version === "object") return Result.fail(version)
  const message = messageOf(reader, version)
  const problem = reader.problem()
  if (problem !== undefined) return Result.fail(malformed(problem))
  const transaction: WireTransaction = {
    message,
    messageBytes: bytes.slice(start),
    signatures: slots.map((signature) => (isEmpty(signature) ? undefined : signature)),
    size: bytes.length
  }
  const structure = structureProblem(transaction)
  return structure === undefined ? Result.succeed(transaction) : Result.fail(structure)
}
