// Answers the JSON-RPC calls of `/rpc`: as a node that holds the relayer's key, and otherwise by a provider of the relayer.
import { Context, Effect, Layer } from "effect"
import { current, Forbidden, hasScope } from "../../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { BadGateway, NotImplemented } from "../../../domain/request/Request.ts"
import type { NodeCall, NodeCalls, NodeReplies } from "../../../domain/transaction/evm/NodeCall.ts"
import { bytesOf } from "../../../domain/request/ResourceSize.ts"
import { codes, RpcError } from "../../../domain/transaction/evm/RpcError.ts"
import { maxPageBytes } from "../../../sql/FittingRows.ts"
import { OutboundWork } from "../../limits/OutboundWork.ts"
import * as EvmSenders from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"
import * as AccountMethods from "./wallet/AccountMethods.ts"
import * as PassedCalls from "./wallet/PassedCalls.ts"
import * as Replies from "./wallet/Replies.ts"

/** Limit for all replies of providers to one batch, in bytes. */
const maxReplyBytes = maxPageBytes

/** Calls of a batch that are passed on at the same time: the whole of each answer is in memory. */
const concurrentCalls = 10

const tooLarge = new RpcError({
  code: codes.limitExceeded,
  message: `the replies of the batch exceed ${maxReplyBytes} bytes; send fewer calls`
})

type Unreached = RelayerNotFound | BadGateway | TooManyRequests

export class NodePassing extends Context.Service<
  NodePassing,
  {
    /** Each call of a batch has its own reply: an error of one does not touch the others. */
    call(id: RelayerId, calls: NodeCalls): Effect.Effect<NodeReplies, Unreached | NotImplemented | Forbidden>
  }
>()("effect-relayer/server/transactions/evm/NodePassing") {
  static readonly layer = Layer.effect(
    NodePassing,
    Effect.gen(function* () {
      const senders = yield* EvmSenders.make
      const methods = yield* AccountMethods.make
      const pass = yield* PassedCalls.make
      const outboundWork = yield* OutboundWork

      /** Before any call is made, so that a refused request has no effect. */
      const checkScopes = Effect.fnUntraced(function* (calls: ReadonlyArray<NodeCall>) {
        const caller = yield* current
        const needed = calls.flatMap(({ method }) => methods.get(method)?.scope ?? [])
        if (needed.some((scope) => !hasScope(caller, scope))) return yield* new Forbidden({})
      })

      /** Undefined: a provider answers the call. */
      const begin = (sender: EvmSender, call: NodeCall) => {
        const method = methods.get(call.method)
        if (method === undefined) return Effect.undefined
        return Effect.flatMap(Replies.paramsOf(call), (params) => method.begin(sender, params)).pipe(
          Effect.map((end) => Replies.ofResult(call, end)),
          Effect.catchTag("RpcError", (error) => Effect.succeed(Effect.succeed(Replies.ofError(call, error))))
        )
      }

      const single = Effect.fnUntraced(function* (sender: EvmSender, call: NodeCall) {
        const begun = yield* begin(sender, call)
        return yield* begun ?? outboundWork.run<Replies.Reply, Unreached, never>(pass(sender, call))
      }, Effect.scoped)

      /** The first reply is always given: a provider's answer to one call has at most 1 MiB. */
      const passAll = (sender: EvmSender, calls: ReadonlyArray<NodeCall>) => {
        let bytes = 0
        const one = Effect.fnUntraced(function* (call: NodeCall) {
          if (bytes > maxReplyBytes) return Replies.ofError(call, tooLarge)
          const reply = yield* Effect.catch(pass(sender, call), (error) =>
            Effect.succeed(Replies.ofUnreached(call, error))
          )
          const size = bytesOf(reply)
          const fits = bytes === 0 || bytes + size <= maxReplyBytes
          bytes += size
          return fits ? reply : Replies.ofError(call, tooLarge)
        })
        const all = Effect.forEach(calls, one, { concurrency: concurrentCalls })
        return Effect.catch(outboundWork.run<ReadonlyArray<Replies.Reply>, never, never>(all), (error) =>
          Effect.succeed(calls.map((call) => Replies.ofUnreached(call, error)))
        )
      }

      const batch = Effect.fnUntraced(function* (sender: EvmSender, calls: ReadonlyArray<NodeCall>) {
        const begun = yield* Effect.forEach(calls, (call) => begin(sender, call))
        const passed = calls.filter((_, index) => begun[index] === undefined)
        const [ended, answered] = yield* Effect.all(
          [
            Effect.forEach(begun, (end) => end ?? Effect.undefined, { concurrency: "unbounded" }),
            passed.length === 0 ? Effect.succeed([]) : passAll(sender, passed)
          ],
          { concurrency: 2 }
        )
        const replies = new Map(passed.map((call, index) => [call, answered[index]]))
        return calls.flatMap((call, index) => (call.id === undefined ? [] : (ended[index] ?? replies.get(call) ?? [])))
      }, Effect.scoped)

      const call = Effect.fn("NodePassing.call")(function* (id: RelayerId, calls: NodeCalls) {
        yield* checkScopes("method" in calls ? [calls] : calls)
        const sender = yield* senders.get(id)
        const replies: NodeReplies = yield* "method" in calls ? single(sender, calls) : batch(sender, calls)
        return replies
      })

      return NodePassing.of({ call })
    })
  )
}
