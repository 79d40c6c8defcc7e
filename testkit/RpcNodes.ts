// A provider in memory, as the service calls it.
import { Effect, Schema } from "effect"
import { Unanswered } from "../src/server/chains/RpcBatch.ts"
import { answeredFailure, rpcFailure, RpcFailure } from "../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../src/server/chains/RpcNode.ts"

export const nodeWith = (url: string, ask: RpcNode["ask"]): RpcNode => ({
  url,
  ask,
  call: (call) =>
    Effect.flatMap(ask(call), (given) =>
      given._tag === "Result"
        ? Effect.mapError(Schema.decodeUnknownEffect(call.result)(given.value), () => rpcFailure("invalid_answer"))
        : Effect.fail(
            new RpcFailure({
              ...answeredFailure("refused"),
              ...(given._tag === "RpcError" ? { rpcCode: given.code } : {})
            })
          )
    ),
  send: (call) => Effect.mapError(ask(call), (failure) => new Unanswered({ failure })),
  breaker: Effect.succeed("closed"),
  batchSize: Effect.succeed(1)
})
