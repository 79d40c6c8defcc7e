// Raw TCP connections: requests that are not sent completely, and ports that are in use.
import { Effect } from "effect"
import { randomInt } from "node:crypto"
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

const listen = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<net.Server, Error>((resume) => {
      const made = net.createServer()
      made.once("error", (error) => resume(Effect.fail(error)))
      made.listen(port, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.callback<void>((resume) => void made.close(() => resume(Effect.void)))
  )

/** A port of 127.0.0.1 that is in use until the scope closes. */
export const takenPort = Effect.map(Effect.orDie(listen(0)), (made) => (made.address() as net.AddressInfo).port)

/**
 * No system gives one of these to a server that listens on port 0, or to an outgoing connection: Linux takes those from 32,768 to 60,999
 * (`ip_local_port_range`), macOS and Windows those from 49,152. Many tests do both at the same time.
 */
const [firstPort, endPort] = [20_000, 32_768]

/** A free port of 127.0.0.1. It stays free until the test lets a process listen on it, also between two of these processes. */
export const freePort = Effect.gen(function* () {
  const port = randomInt(firstPort, endPort)
  yield* Effect.scoped(listen(port))
  return port
}).pipe(Effect.retry({ times: 100 }), Effect.orDie)
