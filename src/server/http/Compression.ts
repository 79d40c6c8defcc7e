// Compression of responses for the clients that accept it.
import { Context, Effect } from "effect"
import { HttpMiddleware, HttpPlatform, HttpServerRequest, HttpServerResponse } from "effect/http"

type Response = HttpServerResponse.HttpServerResponse

/** Bytes below which a response is sent as it is. */
const minSize = 1024

/** A stream of events is not held back for a compressor. */
const compressible = (contentType: string): boolean =>
  /^(text\/(?!event-stream)|application\/(json|yaml))/.test(contentType)

const compression = HttpMiddleware.compression({ algorithms: ["br", "gzip"], minSize, compressible })

/**
 * The entity tag of a compressed response is weak, and `If-Match` takes no weak tag. So a response with a strong tag, which
 * is a single resource, is sent as it is: `identity` is what the middleware leaves alone.
 */
const keepStrongTag = (response: Response): Response =>
  response.headers["etag"]?.startsWith('"')
    ? HttpServerResponse.setHeader(response, "content-encoding", "identity")
    : response

export const make = Effect.map(HttpPlatform.HttpPlatform, (platform) => <E, R>(self: Effect.Effect<Response, E, R>) => {
  const compressed = Effect.provideService(
    compression(Effect.map(self, keepStrongTag)),
    HttpPlatform.HttpPlatform,
    platform
  )
  return Effect.withFiber<Response, E, R | HttpServerRequest.HttpServerRequest>(({ context }) =>
    Context.getUnsafe(context, HttpServerRequest.HttpServerRequest).headers["accept-encoding"] === undefined
      ? self
      : compressed
  )
})
