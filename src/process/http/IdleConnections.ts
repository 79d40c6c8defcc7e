// Delays the closing of idle connections when the server closes: Node closes them at once, also one on which a request is
// arriving, which would get no response.
import type { Server } from "node:http"

/** Milliseconds in which such a request is read, and answered with `connection: close`. */
const grace = 250

export const keep = (server: Server): Server => {
  const cut = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void setTimeout(cut, grace)
  return server
}
