// Passes calls on to a provider of the relayer, as far as the network allows the methods.
import { Effect } from "effect"
import type { RelayerNotFound } from "../../../../domain/relayer/Relayer.ts"
import type { BadGateway } from "../../../../domain/request/Request.ts"
import { readingMethods } from "../../../../domain/transaction/evm/RpcMethods.ts"
import * as RelayerNodes from "../RelayerNodes.ts"
import type { EvmSender } from "../EvmSenders.ts"
import * as LedgerReads from "./LedgerReads.ts"
import type { NodeCall } from "../../../../domain/transaction/NodeCall.ts"
import { answerReply, errorReply, isPassed, notAllowed, paramsList } from "../../NodePassing.ts"
import type { Reply } from "../../NodePassing.ts"

export const make = Effect.gen(function* () {
  const { first: ask } = yield* RelayerNodes.make
  const reads = yield* LedgerReads.make

  return (sender: EvmSender, call: NodeCall): Effect.Effect<Reply, BadGateway | RelayerNotFound> =>
    Effect.gen(function* () {
      const { relayer, numbers } = sender
      const { method } = call
      if (!isPassed({ standard: readingMethods }, method, sender.network.rpc_methods))
        return errorReply(call, notAllowed(method))
      const params = yield* paramsList(call)
      const read = reads.get(method)
      const answer = yield* ask(relayer.id, numbers.chainId, (node) =>
        read === undefined ? node.ask({ method, params }) : read(node, sender, { method, params })
      )
      return answerReply(call, answer)
    }).pipe(Effect.catchTag("RpcError", (error) => Effect.succeed(errorReply(call, error))))
})
