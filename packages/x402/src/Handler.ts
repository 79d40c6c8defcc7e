// The HTTP interface of a facilitator, for every framework that takes a handler of `Request`, and for `node:http` and express.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Facilitator } from "./Facilitator.ts"

/** Bytes. A payment with a signature of a contract has less than a tenth of it. */
const maxBody = 65_536

const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })

const refused = (status: number, error: string): Response => json(status, { error })

const bodyOf = async (request: Request): Promise<unknown> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > maxBody) throw new RangeError(`the body must have at most ${maxBody} bytes`)
    chunks.push(chunk)
  }
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
  return value
}

/**
 * Answers `POST /verify`, `POST /settle`, `GET /supported` and `GET /settlements/{name}`, below any prefix. Sellers send their key as a
 * bearer token. When the signal of the request is aborted, a payment is not answered as settled any more.
 */
export const createHandler =
  (facilitator: Facilitator) =>
  async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname
    const [, end = "", name = ""] = /\/(verify|settle|supported|settlements(?=\/))(?:\/([^/]*))?$/.exec(path) ?? []
    const method = end === "verify" || end === "settle" ? "POST" : "GET"
    if (end === "") return refused(404, "there are /verify, /settle, /supported and /settlements/{name}")
    if (request.method !== method) return refused(405, `${path} takes ${method}`)
    if (end === "supported") return json(200, await facilitator.supported())
    const key = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1]
    const seller = key === undefined ? undefined : await facilitator.sellerOf(key)
    if (seller === undefined) return refused(401, "authorization: must be Bearer and the key of a seller")
    if (end === "settlements") {
      const found = await facilitator.settlement(name, seller)
      return found === undefined ? refused(404, "nothing was sent by this name") : json(200, found)
    }
    let body: unknown
    try {
      body = await bodyOf(request)
    } catch (error) {
      if (error instanceof RangeError) return refused(413, error.message)
      return refused(400, "the body must be JSON")
    }
    return end === "verify"
      ? json(200, await facilitator.verify(body, seller))
      : json(200, await facilitator.settle(body, seller, request.signal))
  }

const requestOf = (incoming: IncomingMessage, signal: AbortSignal): Request => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const { method = "GET", url = "/" } = incoming
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = hasBody ? new ReadableStream<Uint8Array>({
    start: async (controller) => {
      try {
        for await (const chunk of incoming) controller.enqueue(chunk)
        controller.close()
      } catch (error) {
        controller.error(error)
      }
    }
  }) : null
  return new Request(new URL(url, "http://facilitator"), { method, headers, body, signal, duplex: "half" })
}

/** For `http.createServer`, and for `app.use` of express before other readers of bodies. */
export const createListener = (facilitator: Facilitator) => {
  const handle = createHandler(facilitator)
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const gone = new AbortController()
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) gone.abort()
    })
    const reply = async () => {
      const response = await handle(requestOf(incoming, gone.signal)).catch(() => refused(500, "internal error"))
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(await response.text())
    }
    void reply()
  }
}
