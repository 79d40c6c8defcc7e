// A provider in memory, as the service calls it.
import { Effect, Schema } from "effect"
import { Unanswered } from "../src/server/chains/RpcBatch.ts"
import * as RpcFailure from "../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../src/server/chains/RpcNode.ts"

export const nodeWith = (url: string, ask: RpcNode["ask"]): RpcNode => ({
  url,
  ask,
  call: (call) =>
    Effect.flatMap(ask(call), (given) =>
      given._tag === "Result"
        ? Effect.mapError(Schema.decodeUnknownEffect(call.result)(given.value), () =>
            RpcFailure.failure("invalid_answer")
          )
        : Effect.fail(
            new RpcFailure.RpcFailure({
              ...RpcFailure.answered("refused"),
              ...(given._tag === "RpcError" ? { rpcCode: given.code } : {})
            })
          )
    ),
  send: (call) => Effect.mapError(ask(call), (failure) => new Unanswered({ failure })),
  breaker: Effect.succeed("closed"),
  batchSize: Effect.succeed(1)
})
