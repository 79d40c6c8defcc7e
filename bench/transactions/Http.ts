// An HTTP client that keeps its connections: the requests of a burst must cost little beside the server under measurement.
import { Effect, Schema } from "effect"
import * as http from "node:http"

export class HttpFailed extends Schema.TaggedError<HttpFailed>()("HttpFailed", { message: Schema.String }) {}

export interface Http {
  /** Sends JSON text and returns the text of the response. Fails if its status is not 2xx. */
  post(path: string, body: string): Effect.Effect<string, HttpFailed>
  get(path: string): Effect.Effect<string, HttpFailed>
  patch(path: string, body: string): Effect.Effect<string, HttpFailed>
  put(path: string, body: string): Effect.Effect<string, HttpFailed>
  delete(path: string): Effect.Effect<string, HttpFailed>
}

const failed = (method: string, url: URL, reason: string) =>
  new HttpFailed({ message: `${method} ${url.pathname}: ${reason}` })

/** Milliseconds without traffic after which a connection is closed: well before the service closes it, after 65 seconds. */
const idle = 30_000

/** `connections` at most are open at once. They close with the scope. */
export const make = Effect.fnUntraced(function* (base: string, connections: number, key?: string) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new http.Agent({ keepAlive: true, maxSockets: connections, timeout: idle })),
    (agent) => Effect.sync(() => agent.destroy())
  )
  const headers = {
    "content-type": "application/json",
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` })
  }

  const send = (method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE", path: string, body: string) =>
    Effect.callback<string, HttpFailed>((resume) => {
      const url = new URL(path, base)
      const fail = (reason: string) => resume(Effect.fail(failed(method, url, reason)))
      const request = http.request(url, { agent, method, headers }, (response) => {
        let text = ""
        const { statusCode = 0 } = response
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (text += chunk))
        response.on("end", () => (statusCode < 300 ? resume(Effect.succeed(text)) : fail(`${statusCode} ${text}`)))
        response.on("error", (error) => fail(error.message))
      })
      request.on("error", (error) => fail(error.message))
      request.end(body)
      return Effect.sync(() => request.destroy())
    })

  const client: Http = {
    post: (path, body) => send("POST", path, body),
    get: (path) => send("GET", path, ""),
    patch: (path, body) => send("PATCH", path, body),
    put: (path, body) => send("PUT", path, body),
    delete: (path) => send("DELETE", path, "")
  }
  return client
})
