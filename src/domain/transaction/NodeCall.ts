// JSON-RPC calls to a relayer, and their replies.
import { Schema } from "effect"
import { Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"

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
