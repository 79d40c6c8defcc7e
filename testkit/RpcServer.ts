// A JSON-RPC server over HTTP whose results and faults a test sets.
import { Clock, Effect } from "effect"
import * as http from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Target from "./Target.ts"
import { freePort } from "./process/Ports.ts"

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

export interface RpcServer {
  readonly url: string
  /** `at` is a time of the test clock, in milliseconds. */
  readonly seen: Array<{ readonly method: string; readonly params: unknown; readonly at: number }>
  /** The results by method. A method without a result gets an error. */
  readonly results: Map<string, (params: ReadonlyArray<unknown>) => unknown>
  /**
   * Applies to `method`, or to all methods if it is absent, for as many calls as `times` says, or for all. What is no error of
   * one call applies to the whole batch.
   */
  fail(fault: Fault, given?: { readonly method?: string; readonly times?: number }): void
  recover(): void
  /** JSON text stands in its responses instead of a string. */
  replace(text: string, by: string): void
  /** From now on, a batch gets one error. */
  refuseBatches(): void
  count(method?: string): number
  /** The number of batches, refused ones included. */
  batches(): number
}

const bodyOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return JSON.parse(text)
}

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

/** True: the response is ended, or never comes. */
const misbehave = (response: ServerResponse, fault: Fault): boolean => {
  if (fault === "hang") return true
  if (fault === "html") response.writeHead(200).end(`<html>${secret}</html>`)
  else if (fault === "huge") response.writeHead(200).end(`{"result":"${"x".repeat(3_000_000)}"}`)
  else if (fault === "cut off") response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy())
  else if (typeof fault === "object" && "status" in fault) response.writeHead(fault.status, fault.headers).end(secret)
  else return false
  return true
}

const wrongAnswer = (id: unknown, fault: Fault) => {
  const head = { jsonrpc: "2.0", id }
  if (fault === "wrong id") return { ...head, id: "other", result: "0x1" }
  return typeof fault === "object" && "error" in fault
    ? { ...head, error: { code: fault.error, message: secret } }
    : head
}

export const make = (results: Record<string, (params: ReadonlyArray<unknown>) => unknown> = {}) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const seen: RpcServer["seen"] = []
    const faults = new Map<string, { readonly fault: Fault; left: number }>()
    const known = new Map(Object.entries(results))
    const replaced = new Map<string, string>()
    let refusesBatches = false
    let batches = 0

    const faultOf = (method: string) => {
      const found = faults.get(method) ?? faults.get("*")
      return found !== undefined && found.left-- > 0 ? found.fault : undefined
    }

    const answerOf = ({ id, method, params }: Asked, fault: Fault | undefined) => {
      const result = known.get(method)
      if (fault !== undefined) return wrongAnswer(id, fault)
      return result === undefined ? wrongAnswer(id, { error: -32601 }) : { jsonrpc: "2.0", id, result: result(params) }
    }

    const server = http.createServer(async (request, response) => {
      const body: Asked | ReadonlyArray<Asked> = await bodyOf(request)
      const calls = Array.isArray(body) ? body : [body]
      batches += Array.isArray(body) ? 1 : 0
      if (Array.isArray(body) && refusesBatches)
        return void response.end(JSON.stringify(wrongAnswer(null, { error: -32600 })))
      for (const { method, params } of calls) seen.push({ method, params, at: clock.currentTimeMillisUnsafe() })
      const given = calls.map(({ method }) => faultOf(method))
      if (given.some((fault) => fault !== undefined && misbehave(response, fault))) return
      const answers = calls.map((call, index) => answerOf(call, given[index]))
      const text = JSON.stringify(Array.isArray(body) ? answers : answers[0])
      response.end([...replaced].reduce((shown, [from, by]) => shown.replaceAll(JSON.stringify(from), by), text))
    })
    const { url } = yield* Target.listen(server)

    const rpc: RpcServer = {
      url: url(`/v2/${secret}`),
      seen,
      results: known,
      fail: (fault, { method = "*", times = Infinity } = {}) => void faults.set(method, { fault, left: times }),
      recover: () => faults.clear(),
      replace: (text, by) => void replaced.set(text, by),
      refuseBatches: () => void (refusesBatches = true),
      batches: () => batches,
      count: (method) => seen.filter((call) => method === undefined || call.method === method).length
    }
    return rpc
  })

/** A URL on which no server listens. */
export const dead = Effect.map(freePort, (port) => `http://127.0.0.1:${port}/v2/${secret}`)
