// Passes JSON-RPC calls of callers on to a provider of the relayer, as far as the network allows the methods.
import { Context, Effect, Layer } from "effect"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { BadGateway, NotImplemented } from "../../domain/request/Request.ts"
import { readingMethods } from "../../domain/transaction/NodeCall.ts"
import type { NodeCall, NodeCalls, NodeReplies, NodeReply } from "../../domain/transaction/NodeCall.ts"
import type { RpcAnswer } from "../chains/evm/RpcBatch.ts"
import { OutboundWork } from "../limits/OutboundWork.ts"
import * as RelayerNodes from "./RelayerNodes.ts"
import * as Senders from "./Senders.ts"

/** Codes of JSON-RPC 2.0 and of EIP-1474. */
const codes = { methodNotFound: -32_601, invalidParams: -32_602, internal: -32_603 } as const

/** Texts of providers can repeat the URL, and with it the key of the account at the provider. */
const isRevealing = (message: string): boolean => /:\/\/|api[_-]?key|[0-9a-z_-]{24,}\.[a-z]{2,}/i.test(message)

const safe = (message: string): string => (isRevealing(message) ? "the node refused the call" : message)

const replyOf = ({ id = 1 }: NodeCall, answer: RpcAnswer): NodeReply => {
  const head = { jsonrpc: "2.0" as const, id }
  switch (answer._tag) {
    case "Result":
      return { ...head, result: answer.value }
    case "Missing":
      return { ...head, error: { code: codes.internal, message: "the node did not answer this call of the batch" } }
    case "RpcError": {
      const { code, message, data } = answer
      return {
        ...head,
        error: { code: Math.trunc(code), message: safe(message), ...(data === undefined ? {} : { data }) }
      }
    }
  }
}

const notAllowed = ({ id = 1, method }: NodeCall): NodeReply => ({
  jsonrpc: "2.0",
  id,
  error: { code: codes.methodNotFound, message: `the method ${method} is not in rpc_methods of the network` }
})

const notPositional = ({ id = 1 }: NodeCall): NodeReply => ({
  jsonrpc: "2.0",
  id,
  error: { code: codes.invalidParams, message: "params must be a list" }
})

export class NodePassing extends Context.Service<
  NodePassing,
  {
    /** A method that is not allowed gets a JSON-RPC error; the other calls of its batch are made. */
    call(
      id: RelayerId,
      calls: NodeCalls
    ): Effect.Effect<NodeReplies, RelayerNotFound | NotImplemented | BadGateway | TooManyRequests>
  }
>()("effect-relayer/server/transactions/NodePassing") {
  static readonly layer = Layer.effect(
    NodePassing,
    Effect.gen(function* () {
      const senders = yield* Senders.make
      const ask = yield* RelayerNodes.make
      const outboundWork = yield* OutboundWork

      const call = Effect.fn("NodePassing.call")(function* (id: RelayerId, calls: NodeCalls) {
        const { network, numbers } = yield* senders.get(id)
        const allowed = network.rpc_methods === undefined ? readingMethods : new Set(network.rpc_methods)
        const one = (call: NodeCall) => {
          if (!allowed.has(call.method)) return Effect.succeed(notAllowed(call))
          const { method, params = [] } = call
          if (!Array.isArray(params)) return Effect.succeed(notPositional(call))
          return ask(id, numbers.chainId, (node) =>
            Effect.map(node.ask({ method, params }), (answer) => replyOf(call, answer))
          )
        }
        const many = (batch: ReadonlyArray<NodeCall>) => Effect.forEach(batch, one, { concurrency: "unbounded" })
        return yield* outboundWork.run<NodeReplies, BadGateway | RelayerNotFound, never>(
          "method" in calls ? one(calls) : many(calls)
        )
      })

      return NodePassing.of({ call })
    })
  )
}
