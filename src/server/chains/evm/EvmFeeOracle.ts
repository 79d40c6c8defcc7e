// The contract GasPriceOracle, which chains of the OP stack have at a fixed address: what they charge besides gas.
import { Effect } from "effect"
import type { RpcCall } from "../RpcBatch.ts"
import type { RpcNode } from "../RpcNode.ts"

const address = "0x420000000000000000000000000000000000000f"

/** One argument of the contract's ABI: 64 hex digits. */
export const word = (value: number | bigint): string => value.toString(16).padStart(64, "0")

/** `input`: the selector and the arguments, in hex digits without `0x`. */
export const callOf = (input: string): RpcCall => ({
  method: "eth_call",
  params: [{ to: address, data: `0x${input}` }, "latest"]
})

const amount = /^0x[0-9a-fA-F]{64}$/

/** Undefined: the chain has no such contract or function, or the answer is no amount. */
export const ask = Effect.fnUntraced(function* (node: RpcNode, input: string) {
  const answer = yield* node.ask(callOf(input))
  return answer._tag === "Result" && typeof answer.value === "string" && amount.test(answer.value)
    ? BigInt(answer.value)
    : undefined
})
