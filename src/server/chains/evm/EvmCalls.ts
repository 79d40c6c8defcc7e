// The calls of Ethereum's JSON-RPC that transactions need, with the types of their results.
import { Effect, Schema, SchemaTransformation } from "effect"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import type { ReceiptDetails } from "../../../domain/transaction/evm/View.ts"
import { paidOf } from "../../../domain/transaction/evm/Funds.ts"
import { percentiles } from "../../../domain/transaction/evm/Market.ts"
import { feeHistoryBlocks } from "../../../domain/transaction/evm/EvmNumbers.ts"
import { fromParameters, operatorFeeAt } from "../../../domain/transaction/evm/OperatorFee.ts"
import type { Receipt } from "../../../domain/transaction/Transaction.ts"
import type { TypedCall } from "../RpcNode.ts"

const Hex = Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{1,64}$/u, { expected: "a hexadecimal quantity" }))

/** A quantity from 0 to `maximum`. */
const quantity = (maximum: bigint) =>
  Hex.pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum })),
      SchemaTransformation.transform({
        decode: (hex: string) => BigInt(hex),
        encode: (value: bigint) => `0x${value.toString(16)}`
      })
    )
  )

export const Uint64 = quantity(2n ** 64n - 1n)

const Uint128 = quantity(2n ** 128n - 1n)

/** A height or a nonce: JSON numbers are exact up to 2^53. */
const Height = Uint64.check(Schema.isLessThanOrEqualToBigInt(BigInt(Number.MAX_SAFE_INTEGER))).pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: Number, encode: BigInt }))
)

/** A balance, a value or a price can exceed 128 bits on test networks. */
const Wei = Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{1,64}$/u)).pipe(
  Schema.decodeTo(
    Schema.BigInt,
    SchemaTransformation.transform({ decode: BigInt, encode: (wei: bigint) => `0x${wei.toString(16)}` })
  )
)

const LowerCase = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({ decode: (text) => text.toLowerCase(), encode: (text: string) => text })
  )
)

const hex = (value: number | bigint): string => `0x${value.toString(16)}`

/** A height, or what the node thinks of as the newest or a final block. `pending`: with the transactions in its pool. */
export type BlockAt = number | "latest" | "safe" | "finalized" | "pending"

const at = (block: BlockAt): string => (typeof block === "number" ? hex(block) : block)

const Block = Schema.Struct({
  number: Height,
  hash: LowerCase,
  parentHash: Schema.optionalKey(LowerCase),
  gasLimit: Schema.optionalKey(Uint64),
  /** Seconds since 1970. */
  timestamp: Schema.optionalKey(Uint64),
  transactions: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
export type Block = typeof Block.Type

/** Null: the node does not have it yet. */
export const blockAt = (block: BlockAt): TypedCall<Block | null> => ({
  method: "eth_getBlockByNumber",
  params: [at(block), false],
  result: Schema.NullOr(Block)
})

/** With the fields of its transactions. Null: the node does not show it yet. */
export const wholeBlockAt = (block: number): TypedCall<Block | null> => ({
  ...blockAt(block),
  params: [at(block), true]
})

export const countAt = (address: string, block: BlockAt): TypedCall<number> => ({
  method: "eth_getTransactionCount",
  params: [address, at(block)],
  result: Height
})

export const balanceOf = (address: string): TypedCall<bigint> => ({
  method: "eth_getBalance",
  params: [address, "latest"],
  result: Wei
})

export const codeOf = (address: string): TypedCall<string> => ({
  method: "eth_getCode",
  params: [address, "latest"],
  result: Schema.String
})

export const chainId: TypedCall<bigint> = { method: "eth_chainId", params: [], result: Uint64 }

/** What a rollup charges is not needed to finish a transaction: a value that is no quantity counts as absent. */
const Charge = Schema.optionalKey(Schema.NullOr(Uint128).pipe(Schema.catchDecoding(() => Effect.succeedSome(null))))

const ReceiptFields = Schema.Struct({
  blockNumber: Height,
  blockHash: LowerCase,
  status: Schema.optionalKey(Uint64),
  gasUsed: Uint64,
  effectiveGasPrice: Schema.optionalKey(Wei),
  contractAddress: Schema.optionalKey(Schema.NullOr(LowerCase)),
  /** Wei that a rollup charged for data besides gas. Absent on other chains. */
  l1Fee: Charge,
  /** What the operator of an OP-stack chain charges, since the upgrade Isthmus. */
  operatorFeeScalar: Charge,
  operatorFeeConstant: Charge,
  /** Only a sign of the upgrade Jovian: it limits the data of blocks, and costs nothing. */
  daFootprintGasScalar: Charge
})

const operatorFeeOf = (fields: typeof ReceiptFields.Type): bigint | undefined => {
  const { operatorFeeScalar: scalar, operatorFeeConstant: constant, daFootprintGasScalar, gasUsed } = fields
  if (!scalar && !constant) return undefined
  const isJovian = typeof daFootprintGasScalar === "bigint"
  const fee = fromParameters({ scalar: scalar ?? 0n, constant: constant ?? 0n, isJovian })
  return fee && operatorFeeAt(fee, gasUsed)
}

const toReceipt = (fields: typeof ReceiptFields.Type): Receipt<Evm> => {
  const { blockNumber, blockHash, status } = fields
  const isSuccess = status !== 0n
  const operatorFee = operatorFeeOf(fields)
  const details: ReceiptDetails = {
    gasUsed: fields.gasUsed,
    effectiveGasPrice: fields.effectiveGasPrice ?? 0n,
    ...(fields.l1Fee ? { dataFee: fields.l1Fee } : {}),
    ...(operatorFee === undefined ? {} : { operatorFee }),
    // Nodes name the address of a creation that reverted too, where nothing is.
    ...(fields.contractAddress && isSuccess ? { contractAddress: fields.contractAddress } : {})
  }
  return { height: blockNumber, blockHash, isSuccess, paid: paidOf(details), details }
}

/** Null: the node knows of no block with it. */
export const receiptOf = (hash: string): TypedCall<typeof ReceiptFields.Type | null> => ({
  method: "eth_getTransactionReceipt",
  params: [hash],
  result: Schema.NullOr(ReceiptFields)
})

export const receiptIn = (fields: typeof ReceiptFields.Type | null): Receipt<Evm> | undefined =>
  fields === null ? undefined : toReceipt(fields)

/** A transaction as nodes return it; the fields of its type are read where it is verified. */
export const RpcTransaction = Schema.Struct({
  hash: LowerCase,
  nonce: Height,
  to: Schema.NullOr(LowerCase),
  value: Wei,
  input: LowerCase,
  blockNumber: Schema.NullOr(Height),
  blockHash: Schema.NullOr(LowerCase)
})

export const transactionOf = (hash: string): TypedCall<unknown> => ({
  method: "eth_getTransactionByHash",
  params: [hash],
  result: Schema.Unknown
})

/** reth, Erigon, Besu and anvil have it. */
export const transactionBy = (address: string, nonce: number): TypedCall<unknown> => ({
  method: "eth_getTransactionBySenderAndNonce",
  params: [address, hex(nonce)],
  result: Schema.Unknown
})

/** What the market can do without: a value that no rule knows counts as absent. */
const lenient = <S extends Schema.Top>(schema: S) =>
  Schema.optionalKey(Schema.NullOr(schema).pipe(Schema.catchDecoding(() => Effect.succeedSome(null))))

const History = Schema.Struct({
  oldestBlock: lenient(Height),
  baseFeePerGas: Schema.optionalKey(Schema.NullOr(Schema.Array(Wei))),
  /** From 0 to 1. */
  gasUsedRatio: lenient(Schema.Array(Schema.Finite)),
  reward: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Array(Wei))))
})

export const feeHistory = (newest: number | "latest"): TypedCall<typeof History.Type> => ({
  method: "eth_feeHistory",
  params: [hex(feeHistoryBlocks), at(newest), percentiles],
  result: History
})

/** Base fees of the blocks after `height`, up to and including `last`, and on most nodes of the block after it. */
export const baseFeesAfter = (height: number, last: number): TypedCall<typeof History.Type> => ({
  method: "eth_feeHistory",
  params: [hex(last - height), hex(last), []],
  result: History
})

export const gasPrice: TypedCall<bigint> = { method: "eth_gasPrice", params: [], result: Wei }

export const suggestedTip: TypedCall<bigint> = { method: "eth_maxPriorityFeePerGas", params: [], result: Wei }

/** What a transaction does, as `eth_estimateGas` and `eth_call` take it. */
export interface CallFields {
  readonly from: string
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
}

const callParams = ({ from, to, value, data }: CallFields) => ({
  from,
  ...(to === undefined ? {} : { to }),
  value: hex(value),
  ...(data === undefined ? {} : { data })
})

export const estimateGas = (call: CallFields): TypedCall<bigint> => ({
  method: "eth_estimateGas",
  params: [callParams(call)],
  result: Uint64
})

/** At the state of a block: shows why a call that was mined there has failed. */
export const callAt = (call: CallFields & { readonly gas: bigint }, block: number): TypedCall<unknown> => ({
  method: "eth_call",
  params: [{ ...callParams(call), gas: hex(call.gas) }, hex(block)],
  result: Schema.Unknown
})
