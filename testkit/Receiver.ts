// A receiver of webhooks: it keeps all requests and answers as a test says.
import { Deferred, Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A response, or a fault of the connection. */
export type Fault =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | "hang"
  | "reset"
  | "cut off"
  | "huge"
  | "redirect"

export interface Seen {
  readonly method: string | undefined
  readonly headers: IncomingMessage["headers"]
  readonly body: string
  readonly json: {
    readonly id: string
    readonly event: string
    readonly timestamp: string
    readonly payload: {
      readonly payload_type: string
      readonly disable_reason?: string
      readonly relayer?: { readonly id: string; readonly name: string }
    }
  }
}

export const webhookId = ({ headers }: Seen): string => String(headers["webhook-id"])

export interface Receiver {
  readonly url: string
  readonly seen: ReadonlyArray<Seen>
  /** The highest number of concurrent requests so far. */
  readonly mostAtOnce: () => number
  /** The number of requests that followed the redirect. */
  readonly redirected: () => number
  /** Chooses the response to a request. `undefined` is status 200. */
  answer: (seen: Seen) => Fault | undefined
  /** Waits until `count` requests have arrived in total. */
  readonly arrived: (count: number) => Effect.Effect<void>
  /** Answers all hanging requests with status 200. */
  readonly letGo: () => void
}

const hugeBytes = 50_000_000

const read = async (request: IncomingMessage): Promise<Seen> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  return { method: request.method, headers: request.headers, body, json: JSON.parse(body) }
}

const pour = (response: ServerResponse) => {
  response.writeHead(200, { "content-length": hugeBytes })
  const chunk = Buffer.alloc(65_536, "x")
  const more = () => {
    while (!response.destroyed && response.write(chunk));
    response.once("drain", more)
  }
  more()
}

/** Listens on a free port of 127.0.0.1 until the scope closes. */
export const make = Effect.gen(function* () {
  const seen: Array<Seen> = []
  const waiting: Array<{ readonly count: number; readonly done: Deferred.Deferred<void> }> = []
  const hanging = new Set<ServerResponse>()
  let atOnce = 0
  let most = 0
  let redirected = 0

  const fail = (response: ServerResponse, fault: Fault) => {
    if (typeof fault === "object") return response.writeHead(fault.status, fault.headers).end(fault.body)
    if (fault === "hang") return hanging.add(response)
    if (fault === "reset") return response.destroy()
    if (fault === "cut off") {
      return response.writeHead(200, { "content-length": 100 }).write("half", () => response.destroy())
    }
    if (fault === "huge") return pour(response)
    return response.writeHead(307, { location: "/elsewhere" }).end()
  }

  const server = createServer(async (request, response) => {
    if (request.url === "/elsewhere") redirected++
    most = Math.max(most, ++atOnce)
    response.on("close", () => atOnce--)
    const one = await read(request)
    seen.push(one)
    fail(response, receiver.answer(one) ?? { status: 200, body: "thanks" })
    for (const { count, done } of waiting) if (seen.length >= count) Deferred.doneUnsafe(done, Effect.void)
  })

  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    seen,
    mostAtOnce: () => most,
    redirected: () => redirected,
    answer: () => undefined,
    arrived: (count) => {
      const done = Deferred.makeUnsafe<void>()
      waiting.push({ count, done })
      return seen.length >= count ? Effect.void : Deferred.await(done)
    },
    letGo: () => {
      for (const response of hanging) response.end("late")
      hanging.clear()
    }
  }
  return receiver
})
