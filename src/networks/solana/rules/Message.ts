// A message of solana as plain data, and what makes it well formed (rule S1).
import {
  heapBytes,
  maxInstructionAccounts,
  maxInstructions,
  maxMessageAccounts,
  maxTransactionBytes,
  version1
} from "./SolanaNumbers.ts"

export interface CompiledInstruction {
  /** Index of the program among the keys. */
  readonly program: number
  /** Indices among the keys, and behind them among the accounts that tables load: all writable ones, then the others. */
  readonly accounts: ReadonlyArray<number>
  readonly data: Uint8Array
}

export interface TableLookup {
  readonly table: string
  /** Indices in the table. */
  readonly writable: ReadonlyArray<number>
  readonly readonly: ReadonlyArray<number>
}

/** What a message of version 1 asks for instead of instructions of the compute budget, which have no effect in it. */
export interface MessageConfig {
  /** Lamports above the fee for signatures. Absent: none. */
  readonly priorityFee?: bigint
  /** Absent: no unit. */
  readonly computeUnitLimit?: number
  /** Bytes of accounts that it may load. Absent: none. */
  readonly loadedBytes?: number
  /** Absent: the least. */
  readonly heapBytes?: number
}

/** Bits of the mask that says which values the configuration has, in the order of the values. A fee of eight bytes has two. */
export const configBits = {
  priorityFee: 0b11,
  computeUnitLimit: 0b100,
  loadedBytes: 0b1000,
  heapBytes: 0b10000
} as const

export interface Message {
  readonly version: "legacy" | 0 | 1
  /** Of version 1 alone. */
  readonly config?: MessageConfig
  /** How many keys sign, and how many of the signing and of the other keys are read-only. */
  readonly signers: number
  readonly readonlySigners: number
  readonly readonlyOthers: number
  /** Base58. The first one pays the fee. */
  readonly keys: ReadonlyArray<string>
  /** Base58. */
  readonly blockhash: string
  readonly instructions: ReadonlyArray<CompiledInstruction>
  readonly tables: ReadonlyArray<TableLookup>
}

/** A transaction as it came. A slot of zero bytes is an absent signature. */
export interface WireTransaction {
  readonly message: Message
  /** What is signed. */
  readonly messageBytes: Uint8Array
  readonly signatures: ReadonlyArray<Uint8Array | undefined>
  /** Bytes of the whole transaction. */
  readonly size: number
}

/** `malformed` and `unsupported_version` are about the bytes. */
export interface Malformed {
  readonly code: "malformed" | "unsupported_version"
  readonly message: string
}

export const malformed = (message: string): Malformed => ({ code: "malformed", message })

/** The highest version of a message that the service reads and signs. */
export const highestVersion = 1

/** Accounts that a message names: its keys, and what its tables load. */
const accountCount = ({ keys, tables }: Message): number =>
  tables.reduce((count, { writable, readonly }) => count + writable.length + readonly.length, keys.length)

/** Whether the runtime gives instructions write access to an account: a key, or behind the keys one that tables load. */
export const isWritable = (message: Message, index: number): boolean => {
  const { keys, signers, readonlySigners, readonlyOthers, tables } = message
  if (index < signers) return index < signers - readonlySigners
  if (index < keys.length) return index < keys.length - readonlyOthers
  return index - keys.length < tables.reduce((count, { writable }) => count + writable.length, 0)
}

/** The fee payer is the first key. An instruction that lists it has full authority over its account. */
export const isListingFeePayer = ({ accounts }: CompiledInstruction): boolean => accounts.includes(0)

export const listsFeePayer = ({ instructions }: Message): boolean => instructions.some(isListingFeePayer)

const headerProblem = ({ signers, readonlySigners, readonlyOthers, keys }: Message): string | undefined => {
  if (signers < 1 || readonlySigners >= signers) return "the first key must be a writable signer"
  return signers + readonlyOthers > keys.length ? "the header counts more keys than there are" : undefined
}

const instructionProblem = (message: Message): string | undefined => {
  const total = accountCount(message)
  for (const [index, { program, accounts }] of message.instructions.entries()) {
    if (program === 0) return `instruction ${index}: the fee payer cannot be the program`
    if (program >= message.keys.length) return `instruction ${index}: the program must be one of the keys`
    if (accounts.some((account) => account >= total)) return `instruction ${index}: an account index is out of range`
  }
  return undefined
}

/** What the runtime does not take in version 1, whatever it takes in the others. Undefined: it takes all of it. */
export const version1Problem = ({ version, config, keys, signers, instructions }: Message): Malformed | undefined => {
  if (version !== 1) return undefined
  const most = (what: string, count: number, limit: number) =>
    count > limit ? malformed(`has ${count} ${what}; version 1 has at most ${limit}`) : undefined
  const heap = config?.heapBytes ?? heapBytes.minimum
  const { minimum, maximum, step } = heapBytes
  return (
    most("signatures", signers, version1.signatures) ??
    most("accounts", keys.length, version1.keys) ??
    most("instructions", instructions.length, version1.instructions) ??
    (heap < minimum || heap > maximum || heap % step !== 0
      ? malformed(`asks for a heap of ${heap} bytes; it must be a multiple of ${step} from ${minimum} to ${maximum}`)
      : undefined)
  )
}

/**
 * What the runtime does not take of a new message. Undefined: nothing. It is no part of the structure, because transactions that
 * landed before a limit have more.
 */
export const limitProblem = (message: Message): string | undefined => {
  const { instructions, tables } = message
  if (instructions.length > maxInstructions) {
    return `has ${instructions.length} instructions; at most ${maxInstructions} are allowed in a transaction`
  }
  const long = instructions.findIndex(({ accounts }) => accounts.length > maxInstructionAccounts)
  if (long >= 0) return `instruction ${long}: lists more than ${maxInstructionAccounts} accounts`
  const total = accountCount(message)
  if (total > maxMessageAccounts) return `has ${total} accounts; at most ${maxMessageAccounts} are allowed`
  const empty = tables.find(({ writable, readonly }) => writable.length + readonly.length === 0)
  return empty === undefined ? undefined : `loads nothing from lookup table ${empty.table}; leave the table out`
}

/** What is wrong with a decoded transaction. Undefined: it is well formed. */
export const structureProblem = ({ message, signatures }: WireTransaction): Malformed | undefined => {
  const header = headerProblem(message)
  if (header !== undefined) return malformed(header)
  if (signatures.length !== message.signers) {
    return malformed(`expected ${message.signers} signatures, as the header says, and got ${signatures.length}`)
  }
  if (new Set(message.keys).size < message.keys.length) return malformed("a key occurs twice")
  const instruction = instructionProblem(message)
  return instruction === undefined ? version1Problem(message) : malformed(instruction)
}

/** Bytes of a signature. */
export const signatureBytes = 64

/** Bytes of a transaction that has a signature of each signer. Version 1 does not count them again. */
export const sizeWithSignatures = ({ version, signers }: Message, messageBytes: number): number =>
  (version === 1 ? 0 : 1) + signatureBytes * signers + messageBytes

/** Bytes that the network takes of a transaction with all signatures. */
export const maxBytesOf = ({ version }: Message): number => (version === 1 ? version1.bytes : maxTransactionBytes)
