// Words the failure of a request that got no response.
import { HttpClientError } from "effect/http"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"

export const isUnreachable = (error: unknown): error is HttpClientError.HttpClientError =>
  HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"

/** The innermost cause is the most specific one: `connect ECONNREFUSED 127.0.0.1:8080`. */
const deepest = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  return inner === undefined ? cause.message : deepest(inner)
}

export const failed = (baseUrl: string, { reason }: HttpClientError.HttpClientError): CommandFailed =>
  new CommandFailed({
    message: `cannot reach ${baseUrl}: ${deepest(reason.cause)}`,
    exitCode: exitCodes.unreachable
  })
