// Errors of JSON-RPC calls. Clients react to the codes, and parse some of the texts.
import { Schema } from "effect"

/**
 * Codes of JSON-RPC 2.0, EIP-1193 (4200) and EIP-1474; 3 is geth's code of a revert. -32006 is the service's own: a transaction of
 * solana was accepted, and waits for its signature.
 */
export const codes = {
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

export const invalidParams = (message: string): RpcError => new RpcError({ code: codes.invalidParams, message })

export const refused = (message: string): RpcError => new RpcError({ code: codes.refused, message })

export const notExecuted = (message: string, data?: unknown): RpcError =>
  new RpcError({ code: codes.notExecuted, message, ...(data === undefined ? {} : { data }) })
