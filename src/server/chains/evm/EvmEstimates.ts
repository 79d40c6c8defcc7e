// What a call needs, and whether it reverts. A call is only said to revert if a second provider says so as well.
import { Effect } from "effect"
import { classify } from "../../../domain/transaction/evm/Refusal.ts"
import type { Estimate } from "../../../domain/transaction/evm/View.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import { estimateGas } from "./EvmCalls.ts"
import type { CallFields } from "./EvmCalls.ts"
import type { RpcNode } from "../RpcNode.ts"
import type { Providers } from "../Providers.ts"
import * as RevertReason from "./RevertReason.ts"
import type { RpcAnswer } from "../RpcBatch.ts"

/** What one node says. */
export type NodeEstimate =
  | Exclude<Estimate, { readonly _tag: "Reverts" }>
  | { readonly _tag: "Reverts"; readonly reason: string | undefined }

const gas = /^0x[0-9a-fA-F]{1,16}$/

const read = (answer: RpcAnswer): NodeEstimate => {
  switch (answer._tag) {
    case "Result":
      return typeof answer.value === "string" && gas.test(answer.value)
        ? { _tag: "Gas", gas: BigInt(answer.value) }
        : { _tag: "Unknown" }
    case "Missing":
      return { _tag: "Unknown" }
    case "RpcError":
      if (RevertReason.failsIn(answer)) return { _tag: "Reverts", reason: RevertReason.ofError(answer) }
      return { _tag: classify(answer) === "funds" ? "Unaffordable" : "Unknown" }
  }
}

export const at = (node: RpcNode, call: CallFields): Effect.Effect<NodeEstimate, RpcFailure> =>
  Effect.map(node.ask(estimateGas(call)), read)

const opinionOf = (second: NodeEstimate | undefined | "not_configured"): "agrees" | "differs" | "not_configured" => {
  if (second === "not_configured") return second
  return second?._tag === "Reverts" ? "agrees" : "differs"
}

/** Never cached: state moves with each block. */
export const estimate = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  call: CallFields
): Effect.fn.Return<Estimate, RpcFailure> {
  const first = yield* at(node, call)
  if (first._tag !== "Reverts") return first
  const second = opinionOf(yield* providers.second(node, (other) => at(other, call)))
  return { _tag: "Reverts", second, ...(first.reason === undefined ? {} : { reason: first.reason }) }
})
