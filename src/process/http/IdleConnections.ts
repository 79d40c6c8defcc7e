// Connections between two requests, when the server closes: Node cuts them at once, also one that a request is just
// arriving on, which nobody would answer.
import type { Server } from "node:http"

/** Milliseconds for such a request to be read, and answered with `connection: close`. */
const grace = 250

export const keep = (server: Server): Server => {
  const cut = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void setTimeout(cut, grace)
  return server
}
