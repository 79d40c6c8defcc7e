// A provider of the stand-in ledger as the service calls it, in memory.
import { Effect } from "effect"
import * as ExactJson from "../../src/domain/request/ExactJson.ts"
import type { RpcAnswer, RpcCall } from "../../src/server/chains/RpcBatch.ts"
import { rpcFailure } from "../../src/server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../src/server/chains/RpcNode.ts"
import { nodeWith } from "../RpcNodes.ts"
import { RpcError } from "./Methods.ts"
import { Lost, Throttled } from "./Provider.ts"
import type { Provider } from "./Provider.ts"

const answerOf = (provider: Provider, { method, params = {} }: RpcCall): RpcAnswer => {
  try {
    const result = provider.call(method, { ...params })
    return { _tag: "Result", value: ExactJson.parse(JSON.stringify(result)) }
  } catch (error) {
    if (error instanceof RpcError) return { _tag: "RpcError", code: error.code, message: error.message }
    throw error
  }
}

const failureOf = (error: unknown): RpcFailure => {
  if (error instanceof Throttled) return rpcFailure("rate_limited")
  if (error instanceof Lost) return rpcFailure("unreachable")
  throw error
}

/** `isAway`: it does not answer. */
export const node = (provider: Provider, url: string, isAway: () => boolean = () => false): RpcNode => {
  const ask = (call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure> =>
    // A node answers later, so that questions of one moment overlap.
    Effect.andThen(Effect.yieldNow, () =>
      isAway()
        ? Effect.fail(rpcFailure("unreachable"))
        : Effect.try({ try: () => answerOf(provider, call), catch: failureOf })
    )
  return nodeWith(url, ask)
}
