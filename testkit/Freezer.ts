// A proxy in front of the database that a test can freeze: connections stay open and pass no bytes.
import { Effect } from "effect"
import * as net from "node:net"
import type { DatabaseAddress } from "../src/sql/Connection.ts"

export const make = (target: DatabaseAddress) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly port: number
      readonly freeze: Effect.Effect<void>
      readonly thaw: Effect.Effect<void>
      readonly close: Effect.Effect<void>
    }>((resume) => {
      const sockets = new Set<net.Socket>()
      let frozen = false
      const server = net.createServer((client) => {
        const upstream = net.connect(target)
        for (const [from, to] of [
          [client, upstream],
          [upstream, client]
        ] as const) {
          sockets.add(from)
          from.on("data", (chunk) => to.write(chunk))
          from.on("error", () => undefined)
          from.on("close", () => {
            sockets.delete(from)
            to.destroy()
          })
          if (frozen) from.pause()
        }
      })
      server.listen(0, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            port: (server.address() as net.AddressInfo).port,
            freeze: Effect.sync(() => {
              frozen = true
              for (const socket of sockets) socket.pause()
            }),
            thaw: Effect.sync(() => {
              frozen = false
              for (const socket of sockets) socket.resume()
            }),
            close: Effect.sync(() => {
              server.close()
              for (const socket of sockets) socket.destroy()
            })
          })
        )
      )
    }),
    ({ close }) => close
  )
