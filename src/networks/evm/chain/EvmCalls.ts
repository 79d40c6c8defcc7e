// The calls of Ethereum's JSON-RPC that transactions need, and what results and errors of nodes mean.
import { Effect, Predicate, Schema, SchemaTransformation } from "effect"
import { withoutSecrets } from "../../../domain/chain/Rpc.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcAnswer } from "../../../server/chains/RpcBatch.ts"
import { rpcCheckCodes, rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode, TypedCall } from "../../../server/chains/RpcNode.ts"
import type { Receipt } from "../../core/Transaction.ts"
import { forNodes } from "../rules/Authorizations.ts"
import type { Authorization } from "../rules/Authorizations.ts"
import { paidOf } from "../rules/Costs.ts"
import type { Estimate, Evm, ReceiptDetails } from "../rules/Evm.ts"
import { feeHistoryBlocks } from "../rules/EvmNumbers.ts"
import { operatorFeeAt, operatorFeeFromParameters, percentiles } from "../rules/Market.ts"
import { classify, wordsOf } from "../rules/Refusal.ts"

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

/** At one block, so that a node that is behind, or another one behind its load balancer, cannot show an older balance for it. */
export const balanceAt = (address: string, block: number): TypedCall<bigint> => ({
  ...balanceOf(address),
  params: [address, at(block)]
})

export const codeAt = (address: string, block: BlockAt): TypedCall<string> => ({
  method: "eth_getCode",
  params: [address, at(block)],
  result: LowerCase
})

export const codeOf = (address: string): TypedCall<string> => codeAt(address, "latest")

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
  const fee = operatorFeeFromParameters({ scalar: scalar ?? 0n, constant: constant ?? 0n, isJovian })
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
  /** Authorizations (EIP-7702). Only an estimate sends them: a block has applied them before anybody asks for its state. */
  readonly authorization_list?: ReadonlyArray<Authorization>
}

/** Code that accounts have instead of their own, by address. */
export type Overrides = Readonly<Record<string, { readonly code: string }>>

const callParams = ({ from, to, value, data }: CallFields) => ({
  from,
  ...(to === undefined ? {} : { to }),
  value: hex(value),
  ...(data === undefined ? {} : { data })
})

/** Without overrides there are no further parameters, because some nodes refuse them. */
export const estimateGas = (call: CallFields, overrides?: Overrides): TypedCall<bigint> => {
  const { authorization_list: list } = call
  const params = { ...callParams(call), ...(list === undefined ? {} : { authorizationList: list.map(forNodes) }) }
  return {
    method: "eth_estimateGas",
    params: overrides === undefined ? [params] : [params, "latest", overrides],
    result: Uint64
  }
}

/** At the state of a block: shows why a call that was mined there has failed. */
export const callAt = (call: CallFields & { readonly gas: bigint }, block: number): TypedCall<unknown> => ({
  method: "eth_call",
  params: [{ ...callParams(call), gas: hex(call.gas) }, hex(block)],
  result: Schema.Unknown
})

// Why a call fails, from the error of a node: `Error(string)` and `Panic(uint256)` are decoded, other data is shown as it is.

export type CallError = Extract<RpcAnswer, { readonly _tag: "RpcError" }>

/** Digits of revert data that are shown. */
const maxRevertDigits = 300

/** JSON-RPC code of geth, and of most others, for a call that reverts. */
const revertedCode = 3

/** Selectors of the two errors that Solidity itself has. */
const errorSelector = "0x08c379a0"
const panicSelector = "0x4e487b71"

const hexData = /^0x[0-9a-f]*$/i

/** Nodes put the data beside the message, or one level deeper. */
const dataIn = (data: unknown): string | undefined => {
  if (Predicate.isString(data)) return hexData.test(data) ? data.toLowerCase() : undefined
  return Predicate.hasProperty(data, "data") ? dataIn(data.data) : undefined
}

/** `Error(string)`: an offset, a length, and the bytes. */
const errorText = (data: string): string | undefined => {
  const bytes = Buffer.from(data.slice(10), "hex")
  if (bytes.length < 64) return undefined
  const length = Number(bytes.readBigUInt64BE(56))
  return bytes.length < 64 + length ? undefined : bytes.subarray(64, 64 + length).toString("utf8")
}

/** The reason in revert data. Undefined: there is none. */
const reasonInData = (data: string): string | undefined => {
  if (data.startsWith(errorSelector)) {
    const text = errorText(data)
    return text === undefined ? undefined : wordsOf(text)
  }
  if (data.startsWith(panicSelector)) return `panic 0x${BigInt(`0x${data.slice(10) || "0"}`).toString(16)}`
  return data.length > 2 ? data.slice(0, maxRevertDigits) : undefined
}

/** Whether the error says that the call reverts. */
export const isRevert = ({ code, message }: CallError): boolean => code === revertedCode || /revert/i.test(message)

/** Exceptional halts of the EVM, as geth, revm (anvil, reth), Nethermind and Besu name them. */
const halt =
  /invalid opcode|InvalidFEOpcode|OpcodeNotFound|BadInstruction|INVALID_OPERATION|invalid ?jump|stack ?(?:under|over)flow|stack limit|out of ?gas|gas required exceeds|out of ?offset|return data out of bounds|write protection|max (?:init)?code size|create ?(?:collision|contract)|contract address collision|invalid code/i

/** What nodes say of a halt without its name, in this order: Kaia 2.2.1, Besu (source), and Tempo of anvil 1.7.1 about a value. */
const namelessHalt =
  /VM error occurs while running smart contract|Transaction processing could not be completed due to an exception|value transfer not allowed/i

/** Whether the EVM stops the call, which it does not revert by itself. */
export const isHalt = ({ message }: Pick<CallError, "message">): boolean =>
  halt.test(message) || namelessHalt.test(message)

/** Whether the error says that the call fails: it reverts, or the EVM stops it. */
export const failsIn = (error: CallError): boolean => isRevert(error) || isHalt(error)

/** A lack of gas, as geth, Hardhat, Ganache, coreth, Kaia, revm (anvil, reth) and Nethermind name it. */
const lackOfGas = /out ?of ?gas|gas required exceeds/i

/** Whether the call fails because it runs out of gas. Undefined: the error does not say that the call fails. */
export const isOutOfGas = (error: CallError): boolean | undefined => {
  if (lackOfGas.test(error.message)) return true
  return failsIn(error) ? false : undefined
}

/** Revert data, in lower case. Undefined: the node gives none. */
export const revertDataOf = (error: CallError): string | undefined => (isRevert(error) ? dataIn(error.data) : undefined)

export const revertReasonOf = ({ message, data }: CallError): string | undefined => {
  const bytes = dataIn(data)
  const decoded = bytes === undefined ? undefined : reasonInData(bytes)
  if (decoded !== undefined) return decoded
  const [, text] = /revert(?:ed)?(?: with reason string)?:?\s+['"]?(.+?)['"]?$/i.exec(message) ?? []
  const found = text ?? (isHalt({ message }) ? message : undefined)
  return found === undefined ? undefined : wordsOf(found)
}

// What a call needs, and whether it reverts. A call is only said to revert if a second provider says so as well.

/** What one node says. */
export type NodeEstimate =
  | Exclude<Estimate, { readonly _tag: "Reverts" }>
  | { readonly _tag: "Reverts"; readonly reason: string | undefined }

const gasPattern = /^0x[0-9a-fA-F]{1,16}$/

/** JSON-RPC code of an internal error: Besu, anvil and others answer so if the EVM stops a call. */
const internalError = -32_603

/** Undefined: the error speaks about the call. Otherwise it only says that the provider has too much to do, or lags behind. */
const busy = (answer: RpcAnswer): RpcFailure | undefined => {
  if (answer._tag !== "RpcError" || answer.code === internalError || failsIn(answer)) return undefined
  const known = classify(answer)
  const code = rpcCheckCodes[answer.code] ?? "unreachable"
  const isBusy = known === "provider" || (known === "unknown" && rpcCheckCodes[answer.code] !== undefined)
  return isBusy ? rpcFailure(code, `JSON-RPC error ${answer.code}`) : undefined
}

export const readEstimate = (answer: RpcAnswer): NodeEstimate => {
  switch (answer._tag) {
    case "Result":
      return typeof answer.value === "string" && gasPattern.test(answer.value)
        ? { _tag: "Gas", gas: BigInt(answer.value) }
        : { _tag: "Unknown" }
    case "RpcError":
      if (failsIn(answer)) return { _tag: "Reverts", reason: revertReasonOf(answer) }
      return classify(answer) === "funds"
        ? { _tag: "Unaffordable" }
        : { _tag: "Refused", words: wordsOf(answer.message) }
  }
}

/** Fails if the provider only says that it has too much to do. */
export const nodeEstimate = (
  node: RpcNode,
  call: CallFields,
  overrides?: Overrides
): Effect.Effect<NodeEstimate, RpcFailure> =>
  Effect.flatMap(node.ask(estimateGas(call, overrides)), (given) => {
    const answer = given._tag === "RpcError" ? { ...given, message: withoutSecrets(node.url, given.message) } : given
    const failure = busy(answer)
    return failure === undefined ? Effect.succeed(readEstimate(answer)) : Effect.fail(failure.of("eth_estimateGas"))
  })

const opinionOf = (second: NodeEstimate | undefined | "not_configured"): "agrees" | "differs" | "not_configured" => {
  if (second === "not_configured") return second
  return second?._tag === "Reverts" ? "agrees" : "differs"
}

/** Never cached: state moves with each block. What one provider refuses to estimate, another one may estimate. */
export const agreedEstimate = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  call: CallFields
): Effect.fn.Return<Estimate, RpcFailure> {
  const first = yield* nodeEstimate(node, call)
  if (first._tag === "Refused") {
    const other = yield* providers.second(
      node,
      (one) => nodeEstimate(one, call),
      ({ _tag }) => _tag === "Gas"
    )
    return other !== undefined && other !== "not_configured" && other._tag === "Gas" ? other : first
  }
  if (first._tag !== "Reverts") return first
  const second = opinionOf(yield* providers.second(node, (other) => nodeEstimate(other, call)))
  return { _tag: "Reverts", second, ...(first.reason === undefined ? {} : { reason: first.reason }) }
})
