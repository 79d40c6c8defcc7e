// Replies to JSON-RPC calls.
import { Effect } from "effect"
import type { NodeCall, NodeReply } from "../../domain/transaction/NodeCall.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { carried } from "../../domain/request/ExactJson.ts"
import type { BadGateway } from "../../domain/request/Request.ts"
import { codes, invalidParams, RpcError } from "../../domain/transaction/RpcError.ts"
import type { RpcAnswer } from "../chains/RpcBatch.ts"

export type Reply = NodeReply

/** Parameters as a list. Absent ones are an empty list. */
export const listOf = ({ params = [] }: NodeCall): Effect.Effect<ReadonlyArray<unknown>, RpcError> =>
  Array.isArray(params) ? Effect.succeed(params) : Effect.fail(invalidParams("params must be a list"))

const headOf = ({ id = 1 }: NodeCall) => ({ jsonrpc: "2.0" as const, id })

export const ofError = (call: NodeCall, { code, message, data }: RpcError): Reply => ({
  ...headOf(call),
  error: { code, message, ...(data === undefined ? {} : { data }) }
})

export const ofResult = <R>(call: NodeCall, end: Effect.Effect<unknown, RpcError, R>): Effect.Effect<Reply, never, R> =>
  end.pipe(
    Effect.map((result): Reply => ({ ...headOf(call), result })),
    Effect.catch((error) => Effect.succeed(ofError(call, error)))
  )

/** A call of a batch that no provider answered; alone, it would fail with a status of HTTP. */
export const ofUnreached = (call: NodeCall, error: RelayerNotFound | BadGateway | TooManyRequests): Reply => {
  switch (error._tag) {
    case "BadGateway":
      return ofError(call, new RpcError({ code: codes.internal, message: error.error }))
    case "RelayerNotFound":
      return ofError(call, new RpcError({ code: codes.internal, message: "Relayer not found" }))
    case "TooManyRequests":
      return ofError(call, new RpcError({ code: codes.limitExceeded, message: "too many calls at the same time" }))
  }
}

/** Texts of providers can repeat the URL, and with it the key of the account at the provider. */
const isRevealing = (message: string): boolean => /:\/\/|api[_-]?key|[0-9a-z_-]{24,}\.[a-z]{2,}/i.test(message)

const safe = (message: string): string => (isRevealing(message) ? "the node refused the call" : message)

export const ofAnswer = (call: NodeCall, answer: RpcAnswer): Reply => {
  switch (answer._tag) {
    case "Result":
      return { ...headOf(call), result: carried(answer.value) }
    case "RpcError": {
      const { code, message, data } = answer
      const known = { code: Math.trunc(code), message: safe(message) }
      return ofError(call, new RpcError({ ...known, ...(data === undefined ? {} : { data: carried(data) }) }))
    }
  }
}
