// A server with the parts of a key service that signers need. The contract suite runs against every one of them.
import { Context, Deferred, Effect, Queue } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"
import type { Curve } from "../../src/domain/signer/Signer.ts"

/** `sign` and `describe` are calls for a key; `login` is one for a token, if the key service has such calls. */
export type Operation = "describe" | "sign" | "login"

/** What is wrong with an answer. */
export type Fault =
  | "high s"
  | "other key"
  | "other message"
  | "truncated"
  | "html"
  | "html of a proxy"
  | "throttled"
  | "throttled for a second"
  | "throttled for a minute"
  | "silent"
  | "clock skew"
  | "expired login"
  | "disabled key"
  | "no such key"
  | "refused"
  | "broken"

/** A part of every error that a stand-in answers with. No message of the service contains it. */
export const secretText = "text of the stand-in"

export interface Controls {
  /** The hosts of the key service are below it: `URL/kms.example.com/path`. */
  readonly url: string
  /** The next `times` calls of the operation have the fault. */
  fail(operation: Operation, fault: Fault, times?: number): void
  /** All calls of the operation get what this function writes. Undefined: the usual answers. */
  reply(operation: Operation, write: ((response: ServerResponse) => void) | undefined): void
  /** The number of calls that arrived. */
  count(operation: Operation): number
  /** Takes the next call that is left without an answer. */
  readonly silent: Effect.Effect<void>
}

export class StandIn extends Context.Service<
  StandIn,
  Controls & {
    readonly curves: ReadonlyArray<Curve>
    /** The request for a signer with a key on the curve, as it is on the wire. */
    request(curve: Curve): { readonly type: CreateSigner["type"]; readonly config: object }
    /** The alias, or the request without a version, names another key from now on. Absent: a request always names one key. */
    readonly moveAlias?: (curve: Curve) => void
  }
>()("effect-relayer/testkit/signers/StandIn") {}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json: unknown
}

const bodyOf = async (request: IncomingMessage) => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

const html = (response: ServerResponse, status: number) =>
  void response.writeHead(status, { "content-type": "text/html" }).end(`<html>${secretText}</html>`)

/**
 * `operationOf` says what a request asks for. `answer` handles it; it gets the fault, unless this function knows how to answer
 * with it.
 */
export const serve = Effect.fnUntraced(function* (
  operationOf: (request: IncomingMessage, body: string) => Operation | undefined,
  answer: (request: IncomingMessage, body: string, fault: Fault | undefined) => Answer
): Effect.fn.Return<Controls, never, Scope.Scope> {
  const faults = new Map<Operation, { readonly fault: Fault; times: number }>()
  const replies = new Map<Operation, ((response: ServerResponse) => void) | undefined>()
  const counts = new Map<Operation, number>()
  const left = yield* Queue.unbounded<void>()

  const take = (operation: Operation) => {
    const planned = faults.get(operation)
    if (planned === undefined || planned.times === 0) return undefined
    planned.times--
    return planned.fault
  }

  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const operation = operationOf(request, body)
    if (operation === undefined) return void response.writeHead(404).end(secretText)
    counts.set(operation, (counts.get(operation) ?? 0) + 1)
    const reply = replies.get(operation)
    if (reply !== undefined) return reply(response)
    const fault = take(operation)
    if (fault === "silent") return void Queue.offerUnsafe(left, undefined)
    if (fault === "html") return html(response, 200)
    if (fault === "html of a proxy") return html(response, 502)
    const { status, headers, json } = answer(request, body, fault)
    const text = JSON.stringify(json)
    response.writeHead(status, { "content-type": "application/json", "content-length": text.length, ...headers })
    if (fault !== "truncated") return void response.end(text)
    return void response.write(text.slice(0, text.length / 2), () => response.destroy())
  })

  const opened = yield* Deferred.make<void>()
  yield* Effect.acquireRelease(
    Effect.andThen(
      Effect.sync(() => server.listen(0, "127.0.0.1", () => Deferred.doneUnsafe(opened, Effect.void))),
      Deferred.await(opened)
    ),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail: (operation, fault, times = Number.POSITIVE_INFINITY) => void faults.set(operation, { fault, times }),
    reply: (operation, write) => void replies.set(operation, write),
    count: (operation) => counts.get(operation) ?? 0,
    silent: Queue.take(left)
  }
})
