// Raw TCP connections: requests that are not sent completely.
import { Effect } from "effect"
import * as net from "node:net"
import { until } from "./Folder.ts"
import { apiKey, collect } from "./Service.ts"

/** A connection for bytes that `fetch` cannot send, or not in this timing. */
export const connect = Effect.fnUntraced(function* (baseUrl: string) {
  const { hostname, port } = new URL(baseUrl)
  const socket = yield* Effect.acquireRelease(
    Effect.callback<net.Socket, Error>((resume) => {
      const made = net.connect(Number(port), hostname)
      made.once("error", (error) => resume(Effect.fail(error)))
      made.once("connect", () => resume(Effect.succeed(made)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  const received = collect(socket)
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()).on("error", () => undefined))
  return {
    received,
    write: (text: string) => Effect.sync(() => void socket.write(text)),
    ended: Effect.promise(() => ended)
  }
})

const body = JSON.stringify({ id: "slow", type: "plain" })

/** The part of the body that `beginRequest` does not send. */
export const requestRest = body.slice(10)

/** Sends the first half of a POST and waits until the service reads the body. */
export const beginRequest = Effect.fnUntraced(function* (baseUrl: string) {
  const connection = yield* connect(baseUrl)
  yield* connection.write(
    [
      "POST /api/v1/signers HTTP/1.1",
      "host: test",
      `authorization: Bearer ${apiKey}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
      "expect: 100-continue",
      "",
      body.slice(0, 10)
    ].join("\r\n")
  )
  yield* until(
    "the service to read the body",
    Effect.sync(() => connection.received().startsWith("HTTP/1.1 100 Continue") || undefined)
  )
  return connection
})
