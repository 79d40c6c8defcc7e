// An answer that has been read, so that it holds no connection.
import { ByteSize, Effect, Result } from "effect"
import { HttpIncomingMessage } from "effect/http"
import type { HttpClientResponse } from "effect/http"

const withoutBody = new Set([204, 205, 304])

const failing = (cause: unknown) => new ReadableStream({ start: (controller) => controller.error(cause) })

/**
 * One whose body is larger than `maxBytes`, or breaks off, is an answer still: only reading its body fails. What is no
 * answer, such as a status of 999 or a change of the protocol, fails with its cause.
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
