// The fee that a rollup charges for the data of a transaction, besides gas. Chains of the OP stack have a contract that
// calculates it. Chains that include it in gas, such as Arbitrum, do not use this module.
import { Effect } from "effect"
import { scaleUp } from "../../../domain/transaction/evm/Fees.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { dataFeeFactor } from "../../../domain/transaction/evm/EvmNumbers.ts"
import * as EvmBytes from "./EvmBytes.ts"
import type { CallFields } from "./EvmCalls.ts"
import { ask, word } from "./EvmFeeOracle.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"

/** Selector of `getL1Fee(bytes)`. */
const getL1Fee = "49948e0e"

/** The input of the call for unsigned bytes, in hex digits without `0x`: the offset, the length and the bytes. */
export const inputFor = (unsigned: string): string => {
  const padded = unsigned.padEnd(Math.ceil(unsigned.length / 64) * 64, "0")
  return `${getL1Fee}${word(32)}${word(unsigned.length / 2)}${padded}`
}

/** Stand-ins for fields that are only known at the signature: as long as real values, and as hard to compress. */
const placeholder = {
  nonce: 0xb5_29_7a,
  gasLimit: 0x9e_37_79n,
  fees: { type: "eip1559", maxFee: 0xed_03_a8_b1_93_4cn, tip: 0xd1_b5_4a_32_d1_92n }
} as const

/** The fee that the contract calculates now. Undefined: the chain has no such contract. */
const asked = Effect.fnUntraced(function* (
  node: RpcNode,
  { chainId }: NetworkNumbers,
  { to, value, data }: Omit<CallFields, "from">
) {
  const request = { value, ...(to === undefined ? {} : { to }), ...(data === undefined ? {} : { data }) }
  const unsigned = yield* EvmBytes.unsignedOf({ ...placeholder, chainId, ...request })
  return yield* ask(node, inputFor(unsigned.slice(2)))
})

/**
 * Wei that the data of a transaction can cost: a multiple of the fee that the contract calculates, because the price moves.
 * If there is no contract, a multiple of `last`, what the newest receipt of the account names. Undefined: neither is known.
 */
export const dataFee = Effect.fnUntraced(function* (
  node: RpcNode,
  numbers: NetworkNumbers,
  call: Omit<CallFields, "from">,
  last?: bigint
): Effect.fn.Return<bigint | undefined, RpcFailure> {
  const now = (numbers.hasDataFeeOracle ? yield* asked(node, numbers, call) : undefined) ?? last
  return now === undefined ? undefined : scaleUp(now, dataFeeFactor)
})
