// Connections without a request. Node closes them by the clock of the machine.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import * as net from "node:net"
import { keepIdle } from "../../../src/process/http/NodeServer.ts"

const request = "GET / HTTP/1.1\r\nhost: test\r\n\r\n"

it.live("a request that arrives as the server closes is answered, and then its connection ends", () =>
  Effect.promise(async () => {
    let served = 0
    const server = keepIdle(
      createServer((_, response) => {
        served += 1
        response.setHeader("connection", served === 1 ? "keep-alive" : "close").end(`answer ${served}`)
      })
    )
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const socket = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1")
    let received = ""
    const first = new Promise((resolve) =>
      socket.setEncoding("utf8").on("data", (text) => {
        received += String(text)
        resolve(undefined)
      })
    )
    const ended = new Promise((resolve) =>
      socket.on("close", resolve).on("error", (error) => (received += error.message))
    )
    socket.write(request)
    await first
    const closed = new Promise((resolve) => server.close(resolve))
    socket.write(request)
    await ended
    assert.match(received, /answer 1[^]*answer 2$/)
    await closed
  })
)

it.live("a connection that nothing arrives on is cut all the same", () =>
  Effect.promise(async () => {
    const server = keepIdle(createServer((_, response) => response.end()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const socket = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1")
    const ended = new Promise((resolve) => socket.on("close", resolve).on("error", () => undefined))
    await new Promise((resolve) => socket.once("data", resolve).write(request))
    server.close()
    await ended
  })
)
