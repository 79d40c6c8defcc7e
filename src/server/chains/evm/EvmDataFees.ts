// The fee that a rollup charges for the data of a transaction, beside gas. Chains of the OP stack have a contract that
// calculates it. Chains that include it in gas, such as Arbitrum, do not use this module.
import { Effect } from "effect"
import { scaleUp } from "../../../domain/transaction/Fees.ts"
import type { NetworkNumbers } from "../../../domain/transaction/NetworkNumbers.ts"
import { dataFeeFactor } from "../../../domain/transaction/Numbers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import * as EvmBytes from "./EvmBytes.ts"
import type { CallFields } from "./EvmCalls.ts"
import type { EvmNode } from "./EvmNode.ts"
import type { RpcCall } from "./RpcBatch.ts"

/** The predeployed contract GasPriceOracle. */
const oracle = "0x420000000000000000000000000000000000000f"

/** Selector of `getL1Fee(bytes)`, and the offset of its argument. */
const head = `0x49948e0e${"20".padStart(64, "0")}`

/** `unsigned`: hex digits without `0x`. */
export const callOf = (unsigned: string): RpcCall => {
  const length = (unsigned.length / 2).toString(16).padStart(64, "0")
  const padded = unsigned.padEnd(Math.ceil(unsigned.length / 64) * 64, "0")
  return { method: "eth_call", params: [{ to: oracle, data: `${head}${length}${padded}` }, "latest"] }
}

/** Stand-ins for fields that are only known at the signature: as long as real values, and as hard to compress. */
const placeholder = {
  nonce: 0xb5_29_7a,
  gasLimit: 0x9e_37_79n,
  fees: { type: "eip1559", maxFee: 0xed_03_a8_b1_93_4cn, tip: 0xd1_b5_4a_32_d1_92n }
} as const

const amount = /^0x[0-9a-fA-F]{64}$/

/** The fee that the contract calculates now. Undefined: the chain has no such contract. */
const asked = Effect.fnUntraced(function* (
  node: EvmNode,
  { chainId }: NetworkNumbers,
  { to, value, data }: Omit<CallFields, "from">
) {
  const request = { value, ...(to === undefined ? {} : { to }), ...(data === undefined ? {} : { data }) }
  const unsigned = yield* EvmBytes.unsignedOf({ ...placeholder, chainId, ...request })
  const answer = yield* node.ask(callOf(unsigned.slice(2)))
  return answer._tag === "Result" && typeof answer.value === "string" && amount.test(answer.value)
    ? BigInt(answer.value)
    : undefined
})

/**
 * Wei that the data of a transaction can cost: a multiple of the fee that the contract calculates, because the price moves.
 * If there is no contract, a multiple of `last`, the fee in the newest receipt of the account. Undefined: neither is known.
 */
export const dataFee = Effect.fnUntraced(function* (
  node: EvmNode,
  numbers: NetworkNumbers,
  call: Omit<CallFields, "from">,
  last?: bigint
): Effect.fn.Return<bigint | undefined, RpcFailure> {
  const now = (numbers.hasDataFeeOracle ? yield* asked(node, numbers, call) : undefined) ?? last
  return now === undefined ? undefined : scaleUp(now, dataFeeFactor)
})
