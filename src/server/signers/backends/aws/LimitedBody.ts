// Limits the bytes of a response of AWS, because the SDK reads a response into memory whatever its length.
import type { KMSClient } from "@aws-sdk/client-kms"
import { Predicate } from "effect"

/** Bytes. Responses of AWS KMS have less than ten thousand. */
const longest = 1_048_576

async function* limited(parts: AsyncIterable<Uint8Array>) {
  let length = 0
  for await (const part of parts) {
    length += part.length
    if (length > longest) throw new Error("the response is too long")
    yield part
  }
}

const toStream = (parts: AsyncGenerator<Uint8Array>) =>
  new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    }
  })

const isBody = (value: unknown): value is AsyncIterable<Uint8Array> =>
  Predicate.hasProperty(value, Symbol.asyncIterator)

/** The client fails if a response is too long, and closes the connection. */
export const use = ({ middlewareStack }: KMSClient): void =>
  middlewareStack.add(
    (next) => async (call) => {
      const answered = await next(call)
      const { response } = answered
      if (Predicate.hasProperty(response, "body") && isBody(response.body)) {
        response.body = toStream(limited(response.body))
      }
      return answered
    },
    { step: "deserialize", priority: "low", name: "limitedBody" }
  )
