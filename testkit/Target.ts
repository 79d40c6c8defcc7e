// Servers on loopback for outbound requests, with their connections.
import { Effect } from "effect"
import { once } from "node:events"
import * as http from "node:http"
import * as net from "node:net"

/** Listens on a free port of 127.0.0.1 only. Open connections end with the scope. */
export const listen = (server: net.Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets: Array<net.Socket> = []
      server.on("connection", (socket: net.Socket) => {
        // The test checks the other side of the connection.
        socket.on("error", () => {})
        sockets.push(socket)
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port } = server.address() as net.AddressInfo
      return {
        port,
        sockets,
        url: (path = "/", host = "127.0.0.1") => `http://${host}:${port}${path}`
      }
    }),
    ({ sockets }) =>
      Effect.promise(async () => {
        for (const socket of sockets) socket.destroy()
        server.close()
        await once(server, "close")
      })
  )

/** Listens on the port of 127.0.0.1, or on a free one if another program has it. */
export const listenAt = (server: net.Server, usualPort: number, listening: (port: number) => void): void => {
  server.once("listening", () => listening((server.address() as net.AddressInfo).port))
  server.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error
    server.listen(0, "127.0.0.1")
  })
  server.listen(usualPort, "127.0.0.1")
}

/** Waits until all connections are closed. */
export const closed = ({ sockets }: { readonly sockets: ReadonlyArray<net.Socket> }) =>
  Effect.promise(() =>
    Promise.all(
      sockets.map((socket) => socket.destroyed || new Promise<void>((resolve) => socket.once("close", () => resolve())))
    )
  )

/** Responds with the URL and the headers of the request. */
export const echo = () =>
  http.createServer((request, response) => {
    response.end(JSON.stringify({ url: request.url, headers: request.headers }))
  })

/** Sends `text` unchanged when a request arrives. */
export const raw = (text: string, then?: (socket: net.Socket) => void) => {
  const server = net.createServer((socket) => {
    socket.once("data", () => {
      socket.write(text, "latin1")
      then?.(socket)
      server.emit("answered")
    })
  })
  return server
}

/** Self-signed for `hook.example`, valid from 2020 to 2120. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBaTCCARCgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxob29rLmV4
YW1wbGUwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBcxFTATBgNV
BAMMDGhvb2suZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO/fSq3G
+ChUqGULK6UQtacVAsOoT+MAROgUaPKrWNiuZvLp695csMQFJvoCFXulLz9trhkp
vzZcioBIASVuF4ejSzBJMBcGA1UdEQQQMA6CDGhvb2suZXhhbXBsZTAPBgNVHRMB
Af8EBTADAQH/MB0GA1UdDgQWBBTvrroVXAbYU+Ngh/PJkIu6RFMAEzAKBggqhkjO
PQQDAgNHADBEAiB5Pu/wjmMcJY0WQIAR16+4Rt04YTjuicUvqFvZcIRBcQIgAYu3
JR2zWWJbJiVMu2r8eqEIte9B9LBG47S8hTkVopc=
-----END CERTIFICATE-----`

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNHkueZdZqtfjaBPV
FoGCdxrCnKOhJGCQD7PLr9IsMFWhRANCAATv30qtxvgoVKhlCyulELWnFQLDqE/j
AEToFGjyq1jYrmby6eveXLDEBSb6AhV7pS8/ba4ZKb82XIqASAElbheH
-----END PRIVATE KEY-----`
