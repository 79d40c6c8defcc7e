// Reads an HTTP response completely, so that it holds no connection.
import { ByteSize, Effect, Result } from "effect"
import { HttpIncomingMessage } from "effect/http"
import type { HttpClientResponse } from "effect/http"

const withoutBody = new Set([204, 205, 304])

const failing = (cause: unknown) => new ReadableStream({ start: (controller) => controller.error(cause) })

/**
 * A response whose body exceeds `maxBytes`, or breaks off, is still a response: only reading its body fails. Fails with the cause if
 * Node accepts a response that the Fetch standard does not, such as the status 999.
 */
export const read = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, maxBytes: number) {
  const { headers, status } = response
  const body = yield* response.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)),
    Effect.result
  )
  const content = Result.isSuccess(body) ? body.success : failing(body.failure.reason.cause)
  return yield* Effect.try(() => new Response(withoutBody.has(status) ? null : content, { headers, status }))
})
