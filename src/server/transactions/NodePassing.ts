// Answers the JSON-RPC calls of `/rpc`: by the network of the relayer, as far as it has methods of its own, and otherwise by a provider of
// the relayer.
import { Context, Effect, Layer } from "effect"
import type { NodeCall, NodeCalls, NodeReplies } from "../../domain/transaction/NodeCall.ts"
import { codes, RpcError } from "../../domain/transaction/RpcError.ts"
import { current, Forbidden, hasScope } from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { jsonBytesOf, NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway } from "../../domain/request/Request.ts"
import { maxPageBytes } from "../../sql/Rows.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import type { Sender } from "./Intake.ts"
import type { NodeNetwork } from "./NodeNetwork.ts"
import * as Replies from "./NodeReplies.ts"
import * as Senders from "./Senders.ts"

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
>()("effect-relayer/server/transactions/NodePassing") {
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<NodeNetwork>, E, R>) =>
    Layer.effect(
      NodePassing,
      Effect.gen(function* () {
        const senders = yield* Senders.make
        const byType = new Map<string, NodeNetwork>((yield* networks).map((network) => [network.type, network]))
        const outboundWork = yield* OutboundWork

        /** Before any call is made, so that a refused request has no effect. */
        const checkScopes = Effect.fnUntraced(function* ({ scopeOf }: NodeNetwork, calls: ReadonlyArray<NodeCall>) {
          const caller = yield* current
          const needed = calls.flatMap(({ method }) => scopeOf(method) ?? [])
          if (needed.some((scope) => !hasScope(caller, scope))) return yield* new Forbidden({})
        })

        const single = Effect.fnUntraced(function* (network: NodeNetwork, sender: Sender, call: NodeCall) {
          const begun = yield* network.begin(sender, call)
          return yield* begun ?? outboundWork.run<Replies.Reply, Unreached, never>(network.pass(sender, call))
        }, Effect.scoped)

        /** The first reply is always given: a provider's answer to one call has at most 1 MiB. */
        const passAll = (network: NodeNetwork, sender: Sender, calls: ReadonlyArray<NodeCall>) => {
          let bytes = 0
          const one = Effect.fnUntraced(function* (call: NodeCall) {
            if (bytes > maxReplyBytes) return Replies.ofError(call, tooLarge)
            const reply = yield* Effect.catch(network.pass(sender, call), (error) =>
              Effect.succeed(Replies.ofUnreached(call, error))
            )
            const size = jsonBytesOf(reply)
            const fits = bytes === 0 || bytes + size <= maxReplyBytes
            bytes += size
            return fits ? reply : Replies.ofError(call, tooLarge)
          })
          const all = Effect.forEach(calls, one, { concurrency: concurrentCalls })
          return Effect.catch(outboundWork.run<ReadonlyArray<Replies.Reply>, never, never>(all), (error) =>
            Effect.succeed(calls.map((call) => Replies.ofUnreached(call, error)))
          )
        }

        const batch = Effect.fnUntraced(function* (
          network: NodeNetwork,
          sender: Sender,
          calls: ReadonlyArray<NodeCall>
        ) {
          const begun = yield* Effect.forEach(calls, (call) => network.begin(sender, call))
          const passed = calls.filter((_, index) => begun[index] === undefined)
          const [ended, answered] = yield* Effect.all(
            [
              Effect.forEach(begun, (end) => end ?? Effect.undefined, { concurrency: "unbounded" }),
              passed.length === 0 ? Effect.succeed([]) : passAll(network, sender, passed)
            ],
            { concurrency: 2 }
          )
          const replies = new Map(passed.map((call, index) => [call, answered[index]]))
          return calls.flatMap((call, index) =>
            call.id === undefined ? [] : (ended[index] ?? replies.get(call) ?? [])
          )
        }, Effect.scoped)

        const networkOf = Effect.fnUntraced(function* ({ relayer }: Sender) {
          const found = byType.get(relayer.network_type)
          if (found !== undefined) return found
          const error = `relayers of ${relayer.network_type} do not have what this endpoint does`
          return yield* new NotImplemented({ error })
        })

        const call = Effect.fn("NodePassing.call")(function* (id: RelayerId, calls: NodeCalls) {
          const { sender } = yield* senders.get(id)
          const network = yield* networkOf(sender)
          yield* checkScopes(network, "method" in calls ? [calls] : calls)
          const replies: NodeReplies = yield* "method" in calls
            ? single(network, sender, calls)
            : batch(network, sender, calls)
          return replies
        })

        return NodePassing.of({ call })
      })
    )
}
