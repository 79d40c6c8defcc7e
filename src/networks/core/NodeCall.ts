// JSON-RPC calls to a relayer, their replies, and their errors.
import { Schema } from "effect"
import { Value } from "../../domain/request/ExactJson.ts"
import { field } from "../../domain/request/Field.ts"
import * as Shown from "../../domain/request/Shown.ts"

/** Calls in one batch. Providers commonly limit batches to 100 and more. */
const maxCalls = 100

const Id = Schema.NullOr(Schema.Union([Schema.String, Schema.Int]))

export const NodeCall = Schema.Struct({
  jsonrpc: Schema.optionalKey(field(Schema.Literal("2.0"), "Version of JSON-RPC.", "2.0")),
  id: Schema.optionalKey(
    field(
      Id,
      "Identifier that the response repeats. If absent, it is 1; in a batch, a call without one gets no response.",
      1
    )
  ),
  method: field(Schema.String.check(Schema.isMaxLength(128)), "Method to call.", "eth_blockNumber"),
  params: Schema.optionalKey(field(Value, "Parameters of the method.", []))
}).annotate({ identifier: "JsonRpcRequest", description: "A JSON-RPC 2.0 call." })
export type NodeCall = typeof NodeCall.Type

export const NodeCalls = Schema.Union([
  NodeCall,
  Schema.Array(NodeCall).check(Schema.isBetweenLength(1, maxCalls))
]).annotate({ identifier: "JsonRpcCalls", description: "A JSON-RPC 2.0 call, or a batch of up to 100." })
export type NodeCalls = typeof NodeCalls.Type

const NodeError = Schema.Struct({
  code: field(Schema.Int, "Code of JSON-RPC or of the node.", -32_601),
  message: field(Shown.Words, "What is wrong.", "the method eth_sign is not in rpc_methods of the network"),
  data: Schema.optionalKey(field(Value, "Further data of the node, such as revert data.", "0x"))
}).annotate({ identifier: "JsonRpcError", description: "Why a call failed." })
type NodeError = typeof NodeError.Type

export const NodeReply = Schema.Struct({
  jsonrpc: field(Schema.Literal("2.0"), "Version of JSON-RPC.", "2.0"),
  id: field(Id, "Identifier of the call.", 1),
  result: Schema.optionalKey(field(Value, "What the method returned.", "0x121eac0")),
  error: Schema.optionalKey(field(NodeError, "Why the call failed."))
}).annotate({ identifier: "JsonRpcResponse", description: "The answer to a JSON-RPC 2.0 call." })
export type NodeReply = typeof NodeReply.Type

export const NodeReplies = Schema.Union([NodeReply, Schema.Array(NodeReply)]).annotate({
  identifier: "JsonRpcReplies",
  description: "The answer, or the answers to a batch in the order of its calls."
})
export type NodeReplies = typeof NodeReplies.Type

// Errors of JSON-RPC calls. Clients react to the codes, and parse some of the texts.

/**
 * Codes of JSON-RPC 2.0, EIP-1193 (4200) and EIP-1474; 3 is geth's code of a revert. -32006 is the service's own: a transaction of
 * solana was accepted, and waits for its signature.
 */
export const rpcCodes = {
  reverted: 3,
  unsupportedMethod: 4200,
  notExecuted: -32_000,
  refused: -32_003,
  limitExceeded: -32_005,
  notSignedYet: -32_006,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603
} as const

/** The answer to one call of a batch; the other calls have their own answers. */
export class RpcError extends Schema.TaggedError<RpcError>()("RpcError", {
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
}) {}

export const invalidParams = (message: string): RpcError => new RpcError({ code: rpcCodes.invalidParams, message })

export const refused = (message: string): RpcError => new RpcError({ code: rpcCodes.refused, message })

export const notExecuted = (message: string, data?: unknown): RpcError =>
  new RpcError({ code: rpcCodes.notExecuted, message, ...(data === undefined ? {} : { data }) })

export const limitExceeded = (message: string): RpcError => new RpcError({ code: rpcCodes.limitExceeded, message })

interface Refusal {
  readonly _tag: string
  readonly error?: string | undefined
}

/** What an endpoint refuses, as an error of JSON-RPC. */
export const toRpcError = ({ _tag, error }: Refusal): RpcError => {
  switch (_tag) {
    case "BadRequest":
      return invalidParams(error ?? "the parameters are not valid")
    case "TransactionLimitExceeded":
    case "TransactionConflict":
      return refused(error ?? "is refused")
    case "RelayerPaused":
      return refused("Relayer paused")
    case "TooManyRequests":
      return limitExceeded("too many calls at the same time")
    case "BadGateway":
      return new RpcError({ code: rpcCodes.internal, message: error ?? "no provider of the relayer answers" })
    default:
      return notExecuted(error ?? "Relayer not found")
  }
}
