// Bytes of stellar envelopes that the kit reads and writes: payments of XLM by the source of the envelope, as `TransactionV1Envelope` of
// Stellar-transaction.x. The libraries are small: a test that imports the kit starts at once.
import { ed25519 } from "@noble/curves/ed25519"
import { sha256 } from "@noble/hashes/sha2.js"
import type { Memo } from "../../networks/stellar/rules/StellarRequests.ts"
import { accountAddress, parseAddress } from "../../domain/chain/StrKey.ts"
import type { BlockBytes } from "../chain/Blocks.ts"
import type { Payment } from "../chain/Chain.ts"

/** What is signed. Amounts in stroops. */
export interface Unsigned {
  /** `G…` */
  readonly source: string
  readonly fee: bigint
  readonly sequence: bigint
  /** Unix seconds. 0: for ever. */
  readonly maxTime: bigint
  readonly memo: Memo | undefined
  readonly payments: ReadonlyArray<Payment>
}

/** A signed envelope with what the network reads of it. */
export interface Bytes extends Unsigned, BlockBytes {
  readonly raw: Uint8Array
  /** Whether it has the signature of its source, and no other one. */
  readonly isSigned: boolean
}

/** Type numbers of Stellar-transaction.x and Stellar-ledger-entries.x. */
const types = { ed25519: 0, muxed: 0x100, native: 0, envelope: 2, payment: 1, time: 1 } as const
const memoTypes = { none: 0, text: 1, id: 2, hash: 3, return: 4 } as const

const hintBytes = 4

/** Writes XDR (RFC 4506): numbers are big endian, and everything is filled up to four bytes. */
class Writer {
  readonly #parts: Array<Uint8Array> = []

  u32(value: number): this {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setInt32(0, value)
    return this.all(bytes)
  }

  i64(value: bigint): this {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt.asIntN(64, value))
    return this.all(bytes)
  }

  all(bytes: Uint8Array): this {
    this.#parts.push(bytes)
    return this
  }

  /** With its length. */
  opaque(bytes: Uint8Array): this {
    return this.u32(bytes.length)
      .all(bytes)
      .all(new Uint8Array((4 - (bytes.length % 4)) % 4))
  }

  /** `AccountID`. */
  account(address: string): this {
    return this.u32(types.ed25519).all(keyOf(address))
  }

  get bytes(): Uint8Array {
    return Uint8Array.from(Buffer.concat(this.#parts))
  }
}

const malformed = () =>
  new Error("the envelope is none that the chain of the test kit reads: it has payments of XLM alone")

class Reader {
  #at = 0
  readonly #view: DataView
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  all(size: number): Uint8Array {
    if (this.#at + size > this.#bytes.length) throw malformed()
    this.#at += size
    return this.#bytes.slice(this.#at - size, this.#at)
  }

  u32(): number {
    this.all(4)
    return this.#view.getUint32(this.#at - 4)
  }

  i64(): bigint {
    this.all(8)
    return this.#view.getBigInt64(this.#at - 8)
  }

  opaque(): Uint8Array {
    const bytes = this.all(this.u32())
    this.all((4 - (bytes.length % 4)) % 4)
    return bytes
  }

  /** Fails if the next number is another one. */
  expect(value: number): this {
    if (this.u32() !== value) throw malformed()
    return this
  }

  /** `MuxedAccount`: the account without its id. */
  account(): string {
    const type = this.u32()
    if (type === types.muxed) this.i64()
    else if (type !== types.ed25519) throw malformed()
    return accountAddress(this.all(32))
  }

  get position(): number {
    return this.#at
  }
}

const keyOf = (address: string): Uint8Array => {
  const parsed = parseAddress(address)
  if (parsed === undefined) throw new Error(`${address} is no address of stellar`)
  return parsed.key
}

const bytesOfHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"))
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

export const networkIdOf = (passphrase: string): Uint8Array => sha256(new TextEncoder().encode(passphrase))

const writeMemo = (writer: Writer, memo: Memo = { type: "none" }): Writer => {
  writer.u32(memoTypes[memo.type])
  switch (memo.type) {
    case "none":
      return writer
    case "text":
      return writer.opaque(new TextEncoder().encode(memo.value))
    case "id":
      return writer.i64(memo.value)
    case "hash":
    case "return":
      return writer.all(bytesOfHex(memo.value))
  }
}

const readMemo = (reader: Reader): Memo | undefined => {
  switch (reader.u32()) {
    case memoTypes.none:
      return undefined
    case memoTypes.text:
      return { type: "text", value: new TextDecoder().decode(reader.opaque()) }
    case memoTypes.id:
      return { type: "id", value: BigInt.asUintN(64, reader.i64()) }
    case memoTypes.hash:
      return { type: "hash", value: hexOf(reader.all(32)) }
    case memoTypes.return:
      return { type: "return", value: hexOf(reader.all(32)) }
    default:
      throw malformed()
  }
}

const writeDestination = (writer: Writer, address: string): Writer => {
  const id = parseAddress(address)?.id
  const key = keyOf(address)
  return id === undefined ? writer.u32(types.ed25519).all(key) : writer.u32(types.muxed).i64(id).all(key)
}

/** `Transaction`. */
const bodyOf = ({ fee, maxTime, memo, payments, sequence, source }: Unsigned): Uint8Array => {
  const writer = new Writer().account(source).u32(Number(fee)).i64(sequence)
  writer.u32(types.time).i64(0n).i64(maxTime)
  writeMemo(writer, memo).u32(payments.length)
  for (const { to, value } of payments) {
    // The operation has no source of its own.
    writeDestination(writer.u32(0).u32(types.payment), to).u32(types.native).i64(value)
  }
  return writer.u32(0).bytes
}

/** What the key signs: `TransactionSignaturePayload`. */
const hashOf = (networkId: Uint8Array, body: Uint8Array): Uint8Array =>
  sha256(new Writer().all(networkId).u32(types.envelope).all(body).bytes)

/** Throws if the bytes are no envelope of the kit. */
export const opened = (raw: Uint8Array, networkId: Uint8Array): Bytes => {
  const reader = new Reader(raw).expect(types.envelope)
  const start = reader.position
  const source = reader.account()
  const fee = BigInt(reader.u32())
  const sequence = reader.i64()
  reader.expect(types.time).i64()
  const maxTime = reader.i64()
  const memo = readMemo(reader)
  const payments = Array.from({ length: reader.u32() }, () => {
    reader.expect(0).expect(types.payment)
    const to = reader.account()
    return { to, value: reader.expect(types.native).i64() }
  })
  reader.expect(0)
  const body = raw.slice(start, reader.position)
  const hash = hashOf(networkId, body)
  const signatures = Array.from({ length: reader.u32() }, () => {
    reader.all(hintBytes)
    return reader.opaque()
  })
  const isSigned = signatures.length === 1 && signatures.every((one) => ed25519.verify(one, hash, keyOf(source)))
  return { source, fee, sequence, maxTime, memo, payments, raw, hash: hexOf(hash), isSigned }
}

export const sealed = (unsigned: Unsigned, secret: Uint8Array, networkId: Uint8Array): Bytes => {
  const body = bodyOf(unsigned)
  const signature = ed25519.sign(hashOf(networkId, body), secret)
  const hint = keyOf(unsigned.source).slice(-hintBytes)
  const writer = new Writer().u32(types.envelope).all(body).u32(1).all(hint).opaque(signature)
  return opened(writer.bytes, networkId)
}

// Results and entries of the ledger.

/** Codes of `TransactionResultCode` that nodes of the kit answer. */
export const resultCodes = {
  txSuccess: 0,
  txFailed: -1,
  txTooLate: -3,
  txBadSeq: -5,
  txBadAuth: -6,
  txInsufficientBalance: -7,
  txNoAccount: -8,
  txInsufficientFee: -9,
  txInternalError: -11
} as const
export type ResultCode = keyof typeof resultCodes

/** Codes of `PaymentResultCode`. */
const paymentCodes = { paymentSuccess: 0, paymentNoDestination: -5 } as const
export type PaymentCode = keyof typeof paymentCodes

/** `TransactionResult`. `payments`: of operations that were applied. */
export const resultOf = (code: ResultCode, fee: bigint, payments: ReadonlyArray<PaymentCode> = []): Uint8Array => {
  const writer = new Writer().i64(fee).u32(resultCodes[code])
  if (code === "txSuccess" || code === "txFailed") {
    writer.u32(payments.length)
    for (const one of payments) writer.u32(0).u32(types.payment).u32(paymentCodes[one])
  }
  return writer.u32(0).bytes
}

interface Entry {
  readonly address: string
  readonly balance: bigint
  readonly sequence: bigint
  readonly seqLedger: number
}

/** `LedgerEntryData` of an account without anything besides XLM, whose extensions name the ledger of its sequence. */
export const entryOf = ({ address, balance, seqLedger, sequence }: Entry): Uint8Array => {
  const writer = new Writer().u32(0).account(address).i64(balance).i64(sequence)
  // Subentries, no inflation destination, flags, no home domain, thresholds, no signers.
  writer
    .u32(0)
    .u32(0)
    .u32(0)
    .u32(0)
    .all(Uint8Array.of(1, 0, 0, 0))
    .u32(0)
  // Extension 1 with liabilities, extension 2 without sponsorships, extension 3 with the ledger of the sequence.
  writer.u32(1).i64(0n).i64(0n).u32(2).u32(0).u32(0).u32(0).u32(3).u32(0).u32(seqLedger).i64(0n)
  return writer.bytes
}

/** The address in a `LedgerKey` of an account. Undefined: a key of another entry. */
export const addressInKey = (key: Uint8Array): string | undefined => {
  const isAccount = key.length === 40 && key.slice(0, 8).every((byte) => byte === 0)
  return isAccount ? accountAddress(key.slice(8)) : undefined
}
