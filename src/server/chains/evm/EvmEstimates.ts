// What a call needs, and whether it reverts. A call is only said to revert if a second provider says so as well.
import { Effect } from "effect"
import { withoutSecrets } from "../../../domain/chain/Rpc.ts"
import { classify, wordsOf } from "../../../domain/transaction/evm/Refusal.ts"
import type { Estimate } from "../../../domain/transaction/evm/View.ts"
import { estimateGas } from "./EvmCalls.ts"
import type { CallFields } from "./EvmCalls.ts"
import * as RevertReason from "./RevertReason.ts"
import type { Providers } from "../Providers.ts"
import type { RpcAnswer } from "../RpcBatch.ts"
import { rpcCheckCodes, rpcFailure } from "../RpcFailure.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"

/** What one node says. */
export type NodeEstimate =
  | Exclude<Estimate, { readonly _tag: "Reverts" }>
  | { readonly _tag: "Reverts"; readonly reason: string | undefined }

const gas = /^0x[0-9a-fA-F]{1,16}$/

/** JSON-RPC code of an internal error: Besu, anvil and others answer so if the EVM stops a call. */
const internalError = -32_603

/** Undefined: the error speaks about the call. Otherwise it only says that the provider has too much to do, or lags behind. */
const busy = (answer: RpcAnswer): RpcFailure | undefined => {
  if (answer._tag !== "RpcError" || answer.code === internalError || RevertReason.failsIn(answer)) return undefined
  const known = classify(answer)
  const code = rpcCheckCodes[answer.code] ?? "unreachable"
  const isBusy = known === "provider" || (known === "unknown" && rpcCheckCodes[answer.code] !== undefined)
  return isBusy ? rpcFailure(code, `JSON-RPC error ${answer.code}`) : undefined
}

const read = (answer: RpcAnswer): NodeEstimate => {
  switch (answer._tag) {
    case "Result":
      return typeof answer.value === "string" && gas.test(answer.value)
        ? { _tag: "Gas", gas: BigInt(answer.value) }
        : { _tag: "Unknown" }
    case "RpcError":
      if (RevertReason.failsIn(answer)) return { _tag: "Reverts", reason: RevertReason.ofError(answer) }
      return classify(answer) === "funds"
        ? { _tag: "Unaffordable" }
        : { _tag: "Refused", words: wordsOf(answer.message) }
  }
}

/** Fails if the provider only says that it has too much to do. */
export const at = (node: RpcNode, call: CallFields): Effect.Effect<NodeEstimate, RpcFailure> =>
  Effect.flatMap(node.ask(estimateGas(call)), (given) => {
    const answer = given._tag === "RpcError" ? { ...given, message: withoutSecrets(node.url, given.message) } : given
    const failure = busy(answer)
    return failure === undefined ? Effect.succeed(read(answer)) : Effect.fail(failure.of("eth_estimateGas"))
  })

const opinionOf = (second: NodeEstimate | undefined | "not_configured"): "agrees" | "differs" | "not_configured" => {
  if (second === "not_configured") return second
  return second?._tag === "Reverts" ? "agrees" : "differs"
}

/** Never cached: state moves with each block. What one provider refuses to estimate, another one may estimate. */
export const estimate = Effect.fnUntraced(function* (
  providers: Providers,
  node: RpcNode,
  call: CallFields
): Effect.fn.Return<Estimate, RpcFailure> {
  const first = yield* at(node, call)
  if (first._tag === "Refused") {
    const other = yield* providers.second(
      node,
      (one) => at(one, call),
      ({ _tag }) => _tag === "Gas"
    )
    return other !== undefined && other !== "not_configured" && other._tag === "Gas" ? other : first
  }
  if (first._tag !== "Reverts") return first
  const second = opinionOf(yield* providers.second(node, (other) => at(other, call)))
  return { _tag: "Reverts", second, ...(first.reason === undefined ? {} : { reason: first.reason }) }
})
