// Bytes of solana transactions, as leaders and nodes of the kit read them, and what is derived from keys. The libraries are small: a test that
// imports the kit starts at once.
import { ed25519 } from "@noble/curves/ed25519"
import { sha256 } from "@noble/hashes/sha2.js"
import { Result } from "effect"
import type { WireTransaction } from "../../networks/solana/rules/Message.ts"
import {
  associatedTokenProgram,
  computeBudgetProgram,
  feeOf,
  instructionsOf,
  systemProgram,
  u32At,
  u64At
} from "../../networks/solana/rules/Programs.ts"
import type { Derivations, Instruction } from "../../networks/solana/rules/Programs.ts"
import {
  decodeBase58,
  decodeTransaction,
  encodeBase58,
  keyBytes,
  transactionBytes
} from "../../networks/solana/rules/Wire.ts"
import type { BlockBytes } from "../chain/Blocks.ts"
import type { Payment } from "../chain/Chain.ts"

interface Transfer extends Payment {
  readonly from: string
}

/** What the cluster reads of a transaction. */
export interface Read extends BlockBytes {
  readonly wire: WireTransaction
  /** Who pays the fee. */
  readonly from: string
  /** Lamports. */
  readonly fee: bigint
  /** Micro-lamports per compute unit. */
  readonly price: bigint
  /** Of lamports, by the System program. */
  readonly transfers: ReadonlyArray<Transfer>
}

/** A signed transaction. */
export interface Bytes extends Read {
  readonly raw: Uint8Array
  /** Whether each signature is there, and belongs to its key. */
  readonly isSigned: boolean
}

/** The number of the instruction Transfer of the System program. */
const transferKind = 2

const transfersIn = (instructions: ReadonlyArray<Instruction>): ReadonlyArray<Transfer> =>
  instructions.flatMap(({ program, accounts: [from = "", to = ""], data }) => {
    const value = u64At(data, 4)
    const isTransfer = program === systemProgram && u32At(data, 0) === transferKind && value !== undefined
    return isTransfer ? [{ from, to, value }] : []
  })

/** The data of a transfer of lamports. */
export const transferData = (lamports: bigint): Uint8Array => {
  const data = new Uint8Array(12)
  const view = new DataView(data.buffer)
  view.setUint32(0, transferKind, true)
  view.setBigUint64(4, lamports, true)
  return data
}

const keyOf = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(keyBytes)

export const isSignedBy = (signature: Uint8Array, bytes: Uint8Array, address: string): boolean =>
  ed25519.verify(signature, bytes, keyOf(address))

/** The error of the chain for the instruction that fails: the first one of those that do anything. */
export const errorOf = ({ wire: { message } }: Pick<Read, "wire">) => {
  const index = message.instructions.findIndex(({ program }) => message.keys[program] !== computeBudgetProgram)
  return { InstructionError: [Math.max(index, 0), { Custom: 1 }] }
}

/** What the cluster reads of a message, whether or not it is signed. */
export const readOf = (wire: WireTransaction): Read => {
  const { message, signatures } = wire
  const { computeUnitPrice, total } = feeOf(message)
  const [own] = signatures
  return {
    hash: own === undefined ? "" : encodeBase58(own),
    wire,
    from: message.keys[0] ?? "",
    fee: total,
    price: computeUnitPrice,
    transfers: transfersIn(instructionsOf(message))
  }
}

const isSignedByAll = ({ message, messageBytes, signatures }: WireTransaction): boolean =>
  signatures.every(
    (signature, index) => signature !== undefined && isSignedBy(signature, messageBytes, message.keys[index] ?? "")
  )

/** Fails with the words of a node that cannot decode the bytes. */
export const opened = (raw: Uint8Array): Result.Result<Bytes, string> =>
  Result.map(
    Result.mapError(decodeTransaction(raw), ({ message }) => message),
    (wire) => ({ ...readOf(wire), raw, isSigned: isSignedByAll(wire) })
  )

/** The bytes with the signature of the fee payer. */
export const sealed = ({ messageBytes, signatures }: WireTransaction, secret: Uint8Array): Bytes => {
  const [, ...others] = signatures
  return Result.getOrThrow(opened(transactionBytes([ed25519.sign(messageBytes, secret), ...others], messageBytes)))
}

// Derived addresses, as the rules ask for them.

const marker = new TextEncoder().encode("ProgramDerivedAddress")

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

const isOnCurve = (bytes: Uint8Array): boolean => {
  try {
    ed25519.ExtendedPoint.fromHex(bytes)
    return true
  } catch {
    return false
  }
}

/** The first address below 255 that is no public key, so that nobody can sign for it. */
const programAddress = (seeds: ReadonlyArray<Uint8Array>, program: string): string => {
  for (let bump = 255; bump >= 0; bump--) {
    const found = sha256(joined([...seeds, Uint8Array.of(bump), keyOf(program), marker]))
    if (!isOnCurve(found)) return encodeBase58(found)
  }
  throw new Error("no seed gives an address that is not on the curve")
}

export const derivations: Derivations = {
  encode: encodeBase58,
  withSeed: (base, seed, owner) => encodeBase58(sha256(joined([keyOf(base), seed, keyOf(owner)]))),
  associated: (wallet, mint, program) =>
    programAddress([keyOf(wallet), keyOf(program), keyOf(mint)], associatedTokenProgram)
}
