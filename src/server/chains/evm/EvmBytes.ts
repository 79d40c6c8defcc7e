// Bytes of evm transactions: what is signed, what is sent, and who signed a transaction of a block. viem takes 15 MB and is
// loaded when the first transaction is signed.
import { Effect } from "effect"
import type { TransactionSerializable } from "viem"
import type { Fees } from "../../../domain/transaction/Fees.ts"
import type { SignedTransaction } from "./SignedTransaction.ts"

type Hex = `0x${string}`

/** A transaction that is not signed yet. */
export interface Unsigned {
  readonly chainId: number
  readonly nonce: number
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
  readonly gasLimit: bigint
  readonly fees: Fees
}

export interface Signed {
  readonly hash: string
  readonly raw: Uint8Array
  /** Lower-case hex address that the signature belongs to. */
  readonly sender: string
}

const load = Effect.promise(() => import("viem/utils"))

const hexOf = (text: string): Hex => `0x${text.replace(/^0x/i, "")}`
const hexOfBytes = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`

const priceOf = (fees: Fees) =>
  fees.type === "legacy"
    ? ({ type: "legacy", gasPrice: fees.gasPrice } as const)
    : ({ type: "eip1559", maxFeePerGas: fees.maxFee, maxPriorityFeePerGas: fees.tip } as const)

const serializable = ({ chainId, nonce, to, value, data, gasLimit, fees }: Unsigned): TransactionSerializable => ({
  ...priceOf(fees),
  chainId,
  nonce,
  value,
  gas: gasLimit,
  ...(to === undefined ? {} : { to: hexOf(to.toLowerCase()) }),
  ...(data === undefined ? {} : { data: hexOf(data) })
})

/** The 32 bytes that the key signs. */
export const digestOf = Effect.fnUntraced(function* (unsigned: Unsigned) {
  const { keccak256, serializeTransaction } = yield* load
  return keccak256(serializeTransaction(serializable(unsigned)), "bytes")
})

/** `signature`: r, s and the recovery bit, 65 bytes. */
export const seal = Effect.fnUntraced(function* (unsigned: Unsigned, signature: Uint8Array) {
  const { hexToBytes, keccak256, recoverAddress, serializeTransaction } = yield* load
  const transaction = serializable(unsigned)
  const yParity = signature[64] ?? 0
  const parts = {
    r: hexOfBytes(signature.subarray(0, 32)),
    s: hexOfBytes(signature.subarray(32, 64)),
    yParity,
    // A legacy transaction has it; viem adds the chain id (EIP-155).
    v: 27n + BigInt(yParity)
  }
  const hash = keccak256(serializeTransaction(transaction))
  const sender = yield* Effect.promise(() => recoverAddress({ hash, signature: parts }))
  const raw = serializeTransaction(transaction, parts)
  const signed: Signed = { hash: keccak256(raw), raw: hexToBytes(raw), sender: sender.toLowerCase() }
  return signed
})

/** The address whose key signed a transaction of a block. Undefined: its hash does not belong to its fields. */
export const senderOf = Effect.fnUntraced(function* ({ hash, transaction, signature }: SignedTransaction) {
  const { keccak256, recoverAddress, serializeTransaction } = yield* load
  if (keccak256(serializeTransaction(transaction, signature)) !== hash) return undefined
  const digest = keccak256(serializeTransaction(transaction))
  const sender = yield* Effect.promise(() => recoverAddress({ hash: digest, signature }))
  return sender.toLowerCase()
})

/** The checksum function of EIP-55. */
export const checksum = Effect.map(
  load,
  ({ getAddress }) =>
    (address: string): string =>
      getAddress(hexOf(address.toLowerCase()))
)
