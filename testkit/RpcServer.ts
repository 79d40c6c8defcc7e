// A JSON-RPC server over HTTP whose results and faults a test sets.
import { Clock, Effect } from "effect"
import * as http from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Target from "./Target.ts"

/** A part of each URL and of each text of the server, which no response, log or span may contain. */
export const secret = "s3cr3t-key-of-a-provider"

export type Fault =
  | "hang"
  | "html"
  | "huge"
  | "wrong id"
  | "cut off"
  | "no result"
  | { readonly status: number; readonly headers?: Record<string, string> }
  | { readonly error: number }

interface RpcServer {
  readonly url: string
  /** `at` is a time of the test clock, in milliseconds. */
  readonly seen: Array<{ readonly method: string; readonly params: unknown; readonly at: number }>
  /** The results by method. A method without a result gets an error. */
  readonly results: Map<string, (params: ReadonlyArray<unknown>) => unknown>
  /** Applies to `method`, or to all methods if it is absent, for as many calls as `times` says, or for all. */
  fail(fault: Fault, given?: { readonly method?: string; readonly times?: number }): void
  recover(): void
  count(method?: string): number
}

const bodyOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return JSON.parse(text)
}

const misbehave = (response: ServerResponse, id: unknown, fault: Fault) => {
  if (fault === "hang") return
  if (fault === "html") return response.writeHead(200).end(`<html>${secret}</html>`)
  if (fault === "huge") return response.writeHead(200).end(`{"result":"${"x".repeat(3_000_000)}"}`)
  if (fault === "cut off") return response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy())
  if (typeof fault === "object" && "status" in fault) return response.writeHead(fault.status, fault.headers).end(secret)
  const error = typeof fault === "object" ? { error: { code: fault.error, message: secret } } : {}
  const answer = { jsonrpc: "2.0", id: fault === "wrong id" ? "other" : id, ...error }
  return response.end(JSON.stringify(fault === "wrong id" ? { ...answer, result: "0x1" } : answer))
}

export const make = (results: Record<string, (params: ReadonlyArray<unknown>) => unknown> = {}) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const seen: RpcServer["seen"] = []
    const faults = new Map<string, { readonly fault: Fault; left: number }>()
    const known = new Map(Object.entries(results))

    const faultOf = (method: string) => {
      const found = faults.get(method) ?? faults.get("*")
      return found !== undefined && found.left-- > 0 ? found.fault : undefined
    }

    const server = http.createServer(async (request, response) => {
      const { id, method, params } = await bodyOf(request)
      seen.push({ method, params, at: clock.currentTimeMillisUnsafe() })
      const fault = faultOf(method)
      const result = known.get(method)
      if (fault !== undefined) return void misbehave(response, id, fault)
      if (result === undefined) return void misbehave(response, id, { error: -32601 })
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: result(params) }))
    })
    const { url } = yield* Target.listen(server)

    const rpc: RpcServer = {
      url: url(`/v2/${secret}`),
      seen,
      results: known,
      fail: (fault, { method = "*", times = Infinity } = {}) => void faults.set(method, { fault, left: times }),
      recover: () => faults.clear(),
      count: (method) => seen.filter((call) => method === undefined || call.method === method).length
    }
    return rpc
  })

/** A URL on which no server listens. */
export const dead = Effect.map(Effect.scoped(Target.listen(http.createServer())), ({ url }) => url(`/v2/${secret}`))
