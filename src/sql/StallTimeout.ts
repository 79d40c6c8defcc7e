// Closes connections to a database server that is frozen or unreachable. Such a server neither answers nor refuses, so a statement, or a
// COMMIT, which cannot be interrupted, would wait for ever. `statement_timeout` ends slow statements, so a connection that is silent
// for longer has no working server at its other end.
import { Effect } from "effect"
import type { Scope } from "effect"
import * as net from "node:net"
import type { Duplex } from "node:stream"
import type { Address } from "./Address.ts"

/** Knows whether an answer is due. TLS uses the handle directly: then no answer is ever due. */
class WatchedSocket extends net.Socket {
  /** Timer ticks since the last unanswered write. `undefined`: no answer is due. */
  ticks: number | undefined

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.ticks ??= 0
    super._write(chunk, encoding, callback)
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.ticks = undefined
    return super.push(chunk, encoding)
  }
}

/** Ticks are counted instead of time, because no time counts while this process is stopped. */
const maxTicks = 10

/** Opens connections to `address`, and closes those that are silent for longer than `longest` milliseconds. */
export const connector = (address: Address, longest: number): Effect.Effect<() => Duplex, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const open = new Set<WatchedSocket>()
      const tick = () => {
        for (const socket of open) {
          if (socket.ticks === undefined || ++socket.ticks <= maxTicks) continue
          socket.destroy(new Error(`the database has been silent for ${longest} ms`))
        }
      }
      const timer = setInterval(tick, longest / maxTicks).unref()
      const connect = (): Duplex => {
        const socket = new WatchedSocket()
        open.add(socket)
        return socket
          .once("close", () => open.delete(socket))
          .setNoDelay(true)
          .setKeepAlive(true, 30_000)
          .connect(address)
      }
      return { connect, timer }
    }),
    ({ timer }) => Effect.sync(() => clearInterval(timer))
  ).pipe(Effect.map(({ connect }) => connect))
