// Clients that read slowly or not at all, in real time, with a short patience. Processes run by the clock of the machine.
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createServer } from "node:http"
import type { Server } from "node:http"
import * as net from "node:net"
import { closeStalled } from "../../../src/process/http/NodeServer.ts"

/** Milliseconds. */
const patience = 400

/** More than the buffers of the kernel take. */
const large = Buffer.alloc(32 * 1_048_576)

/** `/slow` takes longer than the patience; every other response is large. */
const serve = (limit = patience) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((request, response) => {
        if (request.url === "/slow") setTimeout(() => response.end("done"), limit * 4)
        else response.end(large)
      })
      closeStalled(server, limit).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Sends one request. Nothing is read before there is a listener for data. */
const request = (server: Server, path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = net.connect(portOf(server), "127.0.0.1").on("error", () => undefined)
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** Counts the bytes until the connection ends, with a pause of so many milliseconds after each chunk. */
const readAll = (socket: net.Socket, pause: number) =>
  Effect.callback<number>((resume) => {
    let bytes = 0
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      socket.pause()
      setTimeout(() => socket.resume(), pause)
    })
    socket.once("close", () => resume(Effect.succeed(bytes)))
  })

it.live("a client that reads nothing is disconnected", () =>
  Effect.gen(function* () {
    const server = yield* serve()
    const disconnected = yield* Effect.forkChild(
      Effect.callback<void>((resume) => {
        server.once("connection", (socket: net.Socket) => socket.once("close", () => resume(Effect.void)))
      }),
      { startImmediately: true }
    )
    yield* request(server, "/")
    yield* Effect.timeout(Fiber.join(disconnected), "30 seconds")
  })
)

it.live("a client that reads slowly gets its response", () =>
  Effect.gen(function* () {
    // About 500 chunks with a pause each take longer than the patience. On a busy machine, both sides can wait for a second.
    const bytes = yield* readAll(yield* request(yield* serve(3000), "/"), 8)
    assert.isAbove(bytes, large.length)
  })
)

it.live("a request that takes longer than the patience gets its response", () =>
  Effect.gen(function* () {
    assert.isAbove(yield* readAll(yield* request(yield* serve(), "/slow"), 0), 0)
  })
)
