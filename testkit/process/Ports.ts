// Ports of 127.0.0.1 that a test chooses itself: for a program that does not say where it listens, or that is started again.
import { Effect } from "effect"
import * as net from "node:net"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"

/** It is in use until the scope closes. */
export const takenPort = Effect.map(
  Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const made = net.createServer()
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.callback<void>((resume) => void made.close(() => resume(Effect.void)))
  ),
  (made) => (made.address() as net.AddressInfo).port
)

const given = new Set<number>()

/** Nothing listens on it, and no other caller in this process gets it. Another process gets the same one once in 12,768 times. */
export const freePort: Effect.Effect<number> = Effect.orDie(EmbeddedPostgres.freePort).pipe(
  Effect.repeat({ until: (port) => !given.has(port) }),
  Effect.tap((port) => Effect.sync(() => given.add(port)))
)
