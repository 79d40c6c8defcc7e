// Answers the JSON-RPC calls of `/rpc`: by the network of the relayer, as far as it has methods of its own, otherwise by a provider of the
// relayer.
import { Context, Effect, Layer, Schedule } from "effect"
import type { Scope as Lifetime } from "effect"
import type { Scope } from "../../domain/access/ApiKey.ts"
import { current, Forbidden, hasScope } from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { carried } from "../../domain/request/ExactJson.ts"
import { jsonBytesOf, NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway } from "../../domain/request/Request.ts"
import { invalidParams, rpcCodes, RpcError } from "../../networks/core/NodeCall.ts"
import type { NodeCall, NodeCalls, NodeReplies, NodeReply } from "../../networks/core/NodeCall.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import { maxPageBytes } from "../../sql/Rows.ts"
import type { RpcAnswer, RpcCall } from "../chains/RpcBatch.ts"
import type { StoredTransaction } from "../ledger/LedgerEntries.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { makeSenders } from "./Intake.ts"
import type { Sender } from "./Intake.ts"

// Replies to JSON-RPC calls.

export type Reply = NodeReply

/** Parameters as a list. Absent ones are an empty list. */
export const paramsList = ({ params = [] }: NodeCall): Effect.Effect<ReadonlyArray<unknown>, RpcError> =>
  Array.isArray(params) ? Effect.succeed(params) : Effect.fail(invalidParams("params must be a list"))

const headOf = ({ id = 1 }: NodeCall) => ({ jsonrpc: "2.0" as const, id })

export const errorReply = (call: NodeCall, { code, message, data }: RpcError): Reply => ({
  ...headOf(call),
  error: { code, message, ...(data === undefined ? {} : { data }) }
})

export const resultReply = <R>(
  call: NodeCall,
  end: Effect.Effect<unknown, RpcError, R>
): Effect.Effect<Reply, never, R> =>
  end.pipe(
    Effect.map((result): Reply => ({ ...headOf(call), result })),
    Effect.catch((error) => Effect.succeed(errorReply(call, error)))
  )

/** A call of a batch that no provider answered; alone, it would fail with a status of HTTP. */
const unreachedReply = (call: NodeCall, error: RelayerNotFound | BadGateway | TooManyRequests): Reply => {
  switch (error._tag) {
    case "BadGateway":
      return errorReply(call, new RpcError({ code: rpcCodes.internal, message: error.error }))
    case "RelayerNotFound":
      return errorReply(call, new RpcError({ code: rpcCodes.internal, message: "Relayer not found" }))
    case "TooManyRequests":
      return errorReply(
        call,
        new RpcError({ code: rpcCodes.limitExceeded, message: "too many calls at the same time" })
      )
  }
}

/** Texts of providers can repeat the URL, and with it the key of the account at the provider. */
const isRevealing = (message: string): boolean => /:\/\/|api[_-]?key|[0-9a-z_-]{24,}\.[a-z]{2,}/i.test(message)

const safe = (message: string): string => (isRevealing(message) ? "the node refused the call" : message)

export const answerReply = (call: NodeCall, answer: RpcAnswer): Reply => {
  switch (answer._tag) {
    case "Result":
      return { ...headOf(call), result: carried(answer.value) }
    case "RpcError": {
      const { code, message, data } = answer
      const known = { code: Math.trunc(code), message: safe(message) }
      return errorReply(call, new RpcError({ ...known, ...(data === undefined ? {} : { data: carried(data) }) }))
    }
  }
}

// What callers wait for that send by JSON-RPC: the hash of the first bytes.

/** Another instance may sign, so the ledger is asked. */
const polls = Schedule.min([Schedule.exponential("10 millis", 1.5), Schedule.spaced("250 millis")])

/** `row`: reads the transaction. It is read until it has bytes, or will never have any. */
export const settled = (row: Effect.Effect<StoredTransaction>) =>
  Effect.repeat(row, {
    schedule: polls,
    until: ({ transaction }) => transaction.attempts.length > 0 || isFinal(transaction)
  })

// What a network type makes of the JSON-RPC calls of `/rpc`.

type NetworkUnreached = RelayerNotFound | BadGateway | TooManyRequests

export interface NodeNetwork {
  readonly type: string
  /** Needed for the method in addition to `rpc:call`. Undefined: no other scope is needed. */
  scopeOf(method: string): Scope | undefined
  /** The calls of a batch begin one after the other, and end together. Undefined: a provider answers the call. */
  begin(
    sender: Sender,
    call: NodeCall
  ): Effect.Effect<Effect.Effect<Reply, NetworkUnreached> | undefined, NetworkUnreached, Lifetime.Scope>
  pass(sender: Sender, call: NodeCall): Effect.Effect<Reply, RelayerNotFound | BadGateway>
}

/** Methods that a network type passes on. */
export interface PassedMethods {
  /** If the network sets no `rpc_methods`. */
  readonly standard: ReadonlySet<string>
  /** What no `rpc_methods` of a network allows. Absent: nothing. */
  readonly never?: ReadonlySet<string>
}

/** Whether a provider may be asked. `listed`: `rpc_methods` of the network. */
export const isPassed = (
  { standard, never }: PassedMethods,
  method: string,
  listed: ReadonlyArray<string> | undefined
): boolean => never?.has(method) !== true && (listed === undefined ? standard.has(method) : listed.includes(method))

export const notAllowed = (method: string): RpcError =>
  new RpcError({ code: rpcCodes.methodNotFound, message: `the method ${method} is not in rpc_methods of the network` })

type Params = NonNullable<RpcCall["params"]>

const isObject = (params: unknown): params is Readonly<Record<string, unknown>> =>
  typeof params === "object" && params !== null

const paramsOf = ({ params }: NodeCall): Effect.Effect<Params | undefined, RpcError> =>
  params === undefined || Array.isArray(params) || isObject(params)
    ? Effect.succeed(params)
    : Effect.fail(invalidParams("params must be a list or an object"))

interface Passing {
  readonly type: string
  readonly methods: PassedMethods
  /** Asks a provider of the relayer, and the next one if it fails. */
  ask(sender: Sender, call: RpcCall): Effect.Effect<RpcAnswer, RelayerNotFound | BadGateway>
}

/** A network type whose calls are all answered by providers. */
export const passing = ({ type, methods, ask }: Passing): NodeNetwork => ({
  type,
  scopeOf: () => undefined,
  begin: () => Effect.undefined,
  pass: Effect.fnUntraced(
    function* (sender: Sender, call: NodeCall) {
      const { method } = call
      if (!isPassed(methods, method, sender.network.rpc_methods)) return errorReply(call, notAllowed(method))
      const params = yield* paramsOf(call)
      const answer = yield* ask(sender, params === undefined ? { method } : { method, params })
      return answerReply(call, answer)
    },
    (effect, _, call) => Effect.catchTag(effect, "RpcError", (error) => Effect.succeed(errorReply(call, error)))
  )
})

/** Limit for all replies of providers to one batch, in bytes. */
const maxReplyBytes = maxPageBytes

/** Calls of a batch that are passed on at the same time: the whole of each answer is in memory. */
const concurrentCalls = 10

const tooLarge = new RpcError({
  code: rpcCodes.limitExceeded,
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
  /** @internal */
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<NodeNetwork>, E, R>) =>
    Layer.effect(
      NodePassing,
      Effect.gen(function* () {
        const senders = yield* makeSenders
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
          return yield* begun ?? outboundWork.run<Reply, Unreached, never>(network.pass(sender, call))
        }, Effect.scoped)

        /** The first reply is always given: a provider's answer to one call has at most 1 MiB. */
        const passAll = (network: NodeNetwork, sender: Sender, calls: ReadonlyArray<NodeCall>) => {
          let bytes = 0
          const one = Effect.fnUntraced(function* (call: NodeCall) {
            if (bytes > maxReplyBytes) return errorReply(call, tooLarge)
            const reply = yield* Effect.catch(network.pass(sender, call), (error) =>
              Effect.succeed(unreachedReply(call, error))
            )
            const size = jsonBytesOf(reply)
            const fits = bytes === 0 || bytes + size <= maxReplyBytes
            bytes += size
            return fits ? reply : errorReply(call, tooLarge)
          })
          const all = Effect.forEach(calls, one, { concurrency: concurrentCalls })
          return Effect.catch(outboundWork.run<ReadonlyArray<Reply>, never, never>(all), (error) =>
            Effect.succeed(calls.map((call) => unreachedReply(call, error)))
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
