// A provider in memory that treats JSON-RPC batches as users report of real ones, and counts what it is asked.
import { Effect } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpClientRequest } from "effect/http"

interface Asked {
  readonly id: number
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

/** What a client gets. `undefined`: the connection is closed. `never`: no answer. */
type Response =
  | { readonly status?: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | undefined
  | "never"

type Behaviour = (calls: ReadonlyArray<Asked>, limit: number) => Response

export const result = ({ id, params }: Asked) => ({ jsonrpc: "2.0", id, result: params[0] })

const error = (id: number | null, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })

const refused = {
  jsonrpc: "2.0",
  id: null,
  error: { code: 31, message: "Batch of more than 3 requests are not allowed" }
}

/** The first calls are answered, and each other one gets this. */
const withRest = (rest: (call: Asked) => ReadonlyArray<unknown>) => (calls: ReadonlyArray<Asked>, limit: number) => ({
  body: calls.flatMap((call, index) => (index < limit ? [result(call)] : rest(call)))
})

const status =
  (code: number, body: unknown = refused) =>
  () => ({ status: code, body })

/** What a provider does with a batch of more than `limit` calls. */
export const behaviours: Readonly<Record<string, Behaviour>> = {
  "HTTP 400": status(400),
  "HTTP 403": status(403),
  "HTTP 404 with a page": status(404, "<html>not found</html>"),
  "HTTP 413": status(413, "Payload Too Large"),
  "HTTP 429": status(429),
  "HTTP 500 (drpc, 1rpc)": status(500),
  "HTTP 501": status(501),
  "HTTP 502 with a page": status(502, "<html>bad gateway</html>"),
  "HTTP 503": status(503, ""),
  "a page with HTTP 200": status(200, "<html>hello</html>"),
  "a closed connection (Erigon)": () => undefined,
  "no answer in time": () => "never",
  "one error object for the array": status(200),
  "one rate error object for the array": status(200, error(null, -32005, "daily request count exceeded, rate limited")),
  "an empty array": status(200, []),
  "the error of the first call alone (geth)": (calls) => ({
    body: calls.slice(0, 1).map(({ id }) => error(id, -32600, "batch too large"))
  }),
  "an error for each call": (calls) => ({
    body: calls.map(({ id }) => error(id, 31, "Batch of more than 3 requests"))
  }),
  "an error for each call (Besu)": (calls) => ({
    body: calls.map(({ id }) => error(id, -32602, "Number of requests in batch exceeds --rpc-max-batch-size"))
  }),
  "one error object for the array (Erigon)": (calls, limit) => ({
    body: error(null, -32000, `batch limit ${limit} exceeded: ${calls.length} requests given`)
  }),
  "a batch limit with a code of rate limits (QuickNode)": (calls) => ({
    body: calls.map(({ id }) => error(id, -32007, "batch limit exceeded"))
  }),
  "an invalid request for each call": (calls) => ({ body: calls.map(({ id }) => error(id, -32600, "invalid")) }),
  "answers to the first calls": withRest(() => []),
  "answers without result to the other calls": withRest(({ id }) => [{ jsonrpc: "2.0", id }]),
  "null for the other calls": withRest(() => [null]),
  "a response that is too large for the other calls (geth)": withRest(({ id }) => [
    error(id, -32003, "response too large")
  ]),
  "429 for the other calls (Alchemy)": withRest(({ id }) => [
    error(id, 429, "Your app has exceeded its compute units per second capacity.")
  ]),
  "-32005 for the other calls": withRest(({ id }) => [error(id, -32005, "limit exceeded")]),
  "-32016 for the other calls": withRest(({ id }) => [error(id, -32016, "over rate limit")]),
  "-32029 for the other calls": withRest(({ id }) => [error(id, -32029, "slow down")]),
  "compute units in words for the other calls": withRest(({ id }) => [error(id, -32000, "out of compute units")]),
  "capacity in words for the other calls": withRest(({ id }) => [error(id, -32000, "exceeded its capacity")]),
  "another order of the answers": (calls) => ({ body: calls.map(result).toReversed() })
}

export interface Options {
  /** Calls in a batch that the provider takes. */
  readonly limit: number
  readonly behaviour: keyof typeof behaviours | Behaviour
  /** Bytes of a request that the provider takes. Absent: any number. */
  readonly maxBytes?: number
}

/** Calls of this method get HTTP 500 from it, alone and in a batch. */
export const broken = "eth_broken"

/** A call is answered with its first parameter. */
export const make = ({ behaviour, limit, maxBytes = Infinity }: Options) => {
  const state = { limit, requests: 0, sizes: new Array<number>(), isDead: false, diesAfter: Infinity }

  const treat = typeof behaviour === "function" ? behaviour : behaviours[behaviour]

  const respond = (text: string): Response => {
    const json: Asked | ReadonlyArray<Asked> = JSON.parse(text)
    const calls = "method" in json ? [json] : json
    state.requests += 1
    state.sizes.push(calls.length)
    if (state.isDead || state.sizes.length > state.diesAfter) return undefined
    if (text.length > maxBytes) return { status: 500, body: "http: request body too large" }
    if (calls.some(({ method }) => method === broken)) return { status: 500, body: "internal error" }
    if (calls.length > state.limit) return treat?.(calls, state.limit)
    return { body: "method" in json ? result(json) : json.map(result) }
  }

  const client = HttpClient.make((request: HttpClientRequest.HttpClientRequest) =>
    Effect.suspend(() => {
      const { body } = request
      const given = respond(body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : "")
      if (given === "never") return Effect.never
      if (given === undefined) {
        const reason = new HttpClientError.TransportError({ request })
        return Effect.fail(new HttpClientError.HttpClientError({ reason }))
      }
      const text = typeof given.body === "string" ? given.body : JSON.stringify(given.body)
      const { headers = {}, status = 200 } = given
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(text, { headers, status })))
    })
  )
  return Object.assign(state, { client })
}
