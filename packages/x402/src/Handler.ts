// The HTTP interface of a facilitator: for every framework that takes a handler of `Request`, for `node:http` and for express.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Facilitator } from "./Facilitator.ts"

/** Bytes. A payment with the longest signature has less than a quarter of it. */
const maxBody = 65_536

interface Asked {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: AsyncIterable<Uint8Array> | null
  /** Aborted when the seller does not wait any more. */
  readonly closed: AbortSignal
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

const refused = (status: number, error: string): Reply => ({ status, body: { error } })

const bodyOf = async ({ body }: Asked): Promise<unknown> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBody) throw new RangeError(`the body must have at most ${maxBody} bytes`)
    chunks.push(chunk)
  }
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
  return value
}

/** The paths may have any prefix. */
const paths = /\/(verify|settle|supported|settlements(?=\/))(?:\/([^/]*))?$/

const replyOf = async (facilitator: Facilitator, asked: Asked): Promise<Reply> => {
  const { path, method, authorization = "", closed } = asked
  const [, end = "", name = ""] = paths.exec(path) ?? []
  const expected = end === "verify" || end === "settle" ? "POST" : "GET"
  if (end === "") return refused(404, "there are /verify, /settle, /supported and /settlements/{name}")
  if (method !== expected) return refused(405, `${path} takes ${expected}`)
  if (end === "supported") return { status: 200, body: await facilitator.supported() }
  const key = /^Bearer (.+)$/i.exec(authorization)?.[1]
  const seller = key === undefined ? undefined : await facilitator.sellerOf(key)
  if (seller === undefined) return refused(401, "authorization: must be Bearer and the key of a seller")
  if (end === "settlements") {
    const found = await facilitator.settlement(name, seller)
    return found === undefined ? refused(404, "nothing was sent by this name") : { status: 200, body: found }
  }
  let body: unknown
  try {
    body = await bodyOf(asked)
  } catch (error) {
    return error instanceof RangeError ? refused(413, error.message) : refused(400, "the body must be JSON")
  }
  if (end === "verify") return { status: 200, body: await facilitator.verify(body, seller) }
  return { status: 200, body: await facilitator.settle(body, seller, closed) }
}

/** A service that does not answer is no fault of the request: it may be repeated. */
const replied = (facilitator: Facilitator, asked: Asked): Promise<Reply> =>
  replyOf(facilitator, asked).catch(() => refused(503, "the service behind the facilitator has not answered"))

/**
 * Answers `POST /verify`, `POST /settle`, `GET /supported` and `GET /settlements/{name}`. Sellers send their key as a bearer token. After
 * the signal of the request is aborted, its payment is not answered as settled.
 */
export const createHandler =
  (facilitator: Facilitator) =>
  async (request: Request): Promise<Response> => {
    const { status, body } = await replied(facilitator, {
      method: request.method,
      path: new URL(request.url).pathname,
      authorization: request.headers.get("authorization") ?? undefined,
      body: request.body,
      closed: request.signal
    })
    return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })
  }

/** For `http.createServer`, and for `app.use` of express before readers of bodies. */
export const createListener =
  (facilitator: Facilitator) =>
  (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const gone = new AbortController()
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) gone.abort()
    })
    const { method = "GET", url = "/", headers } = incoming
    const asked = { method, path: url.split("?")[0] ?? url, authorization: headers.authorization, body: incoming }
    void replied(facilitator, { ...asked, closed: gone.signal }).then(({ status, body }) => {
      outgoing.writeHead(status, { "content-type": "application/json" })
      outgoing.end(JSON.stringify(body))
    })
  }
