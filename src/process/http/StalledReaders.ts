// Closes connections whose client does not read: what it does not read stays in the memory of the service and of the kernel.
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** Milliseconds without a byte that the client has taken. As long as a stream of events waits for its reader. */
const patience = 30_000

/**
 * Node emits `timeout` if a socket was silent for so long, also while a write makes no progress, and leaves what to do to the
 * listener. A socket is also silent while it is idle, which Node would close, and while a request is being handled, which has a
 * time limit of its own.
 */
export const close = (server: Server, milliseconds: number = patience): Server => {
  const responses = new WeakMap<Socket, number>()
  const count = (socket: Socket, by: number) => void responses.set(socket, (responses.get(socket) ?? 0) + by)
  server.timeout = milliseconds
  return server
    .on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      count(socket, 1)
      response.once("close", () => count(socket, -1))
    })
    .on("timeout", (socket: Socket) => {
      const isHandled = (responses.get(socket) ?? 0) > 0
      if (!isHandled || socket.writableLength > 0) socket.destroy()
    })
}
