// Failures of requests, and the envelope in which they are sent.
import type { FastifyReply, FastifyRequest } from "fastify"

export class Failure extends Error {
  readonly statusCode: number
  readonly error: string | undefined

  constructor(statusCode: number, message: string, error?: string) {
    super(message)
    this.statusCode = statusCode
    this.error = error
  }
}

const hasValidation = (error: unknown): error is { readonly message: string } =>
  error instanceof Error && ("validation" in error || ("statusCode" in error && error.statusCode === 400))

const failureOf = (error: unknown): Failure | undefined => {
  if (error instanceof Failure) return error
  return hasValidation(error) ? new Failure(400, "Bad Request", error.message) : undefined
}

export const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  const failure = failureOf(error) ?? new Failure(500, "Internal Server Error")
  if (failure.statusCode === 500) request.log.error(error)
  const { statusCode, message, error: text } = failure
  return reply
    .code(statusCode)
    .serializer(JSON.stringify)
    .send({ data: null, message, success: false, ...(text === undefined ? {} : { error: text }) })
}
