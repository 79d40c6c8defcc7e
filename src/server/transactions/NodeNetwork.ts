// What a network type makes of the JSON-RPC calls of `/rpc`.
import { Effect } from "effect"
import type { Scope as Lifetime } from "effect"
import type { Scope } from "../../domain/access/ApiKey.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { BadGateway } from "../../domain/request/Request.ts"
import type { NodeCall } from "../../domain/transaction/NodeCall.ts"
import { codes, invalidParams, RpcError } from "../../domain/transaction/RpcError.ts"
import type { RpcAnswer, RpcCall } from "../chains/RpcBatch.ts"
import type { Sender } from "./Intake.ts"
import * as Replies from "./NodeReplies.ts"

type Unreached = RelayerNotFound | BadGateway | TooManyRequests

export interface NodeNetwork {
  readonly type: string
  /** Needed for the method in addition to `rpc:call`. Undefined: no other scope is needed. */
  scopeOf(method: string): Scope | undefined
  /** The calls of a batch begin one after the other, and end together. Undefined: a provider answers the call. */
  begin(
    sender: Sender,
    call: NodeCall
  ): Effect.Effect<Effect.Effect<Replies.Reply, Unreached> | undefined, Unreached, Lifetime.Scope>
  pass(sender: Sender, call: NodeCall): Effect.Effect<Replies.Reply, RelayerNotFound | BadGateway>
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
  new RpcError({ code: codes.methodNotFound, message: `the method ${method} is not in rpc_methods of the network` })

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
  /** `rpc_methods` of the network. */
  listed(sender: Sender): ReadonlyArray<string> | undefined
}

/** A network type whose calls are all answered by providers. */
export const passing = ({ type, methods, ask, listed }: Passing): NodeNetwork => ({
  type,
  scopeOf: () => undefined,
  begin: () => Effect.undefined,
  pass: Effect.fnUntraced(
    function* (sender: Sender, call: NodeCall) {
      const { method } = call
      if (!isPassed(methods, method, listed(sender))) return Replies.ofError(call, notAllowed(method))
      const params = yield* paramsOf(call)
      const answer = yield* ask(sender, params === undefined ? { method } : { method, params })
      return Replies.ofAnswer(call, answer)
    },
    (effect, _, call) => Effect.catchTag(effect, "RpcError", (error) => Effect.succeed(Replies.ofError(call, error)))
  )
})
