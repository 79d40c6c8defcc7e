// A server that is frozen, or cut off without a word, refuses nothing and answers nothing, and what waits for it would wait
// for ever: also a COMMIT, which nobody can interrupt. `statement_timeout` ends what is only slow, so a connection that owes
// an answer for longer has nobody at its other end, and is broken off.
import { Effect } from "effect"
import type { Scope } from "effect"
import * as net from "node:net"
import type { Duplex } from "node:stream"
import type { Address } from "./Address.ts"

/** Knows whether an answer is due. TLS takes the handle from under it: then, no answer ever is. */
class Asking extends net.Socket {
  /** Looks since it has asked; undefined: nothing is due. */
  looks: number | undefined

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.looks ??= 0
    super._write(chunk, encoding, callback)
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.looks = undefined
    return super.push(chunk, encoding)
  }
}

/** Looks are counted, not time: while this process is stopped, nobody is silent. */
const mostLooks = 10

/** What opens connections to `address`, none of which stays silent for longer than `longest` milliseconds. */
export const connector = (address: Address, longest: number): Effect.Effect<() => Duplex, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const open = new Set<Asking>()
      const look = () => {
        for (const socket of open) {
          if (socket.looks === undefined || ++socket.looks <= mostLooks) continue
          socket.destroy(new Error(`the database has been silent for ${longest} ms`))
        }
      }
      const timer = setInterval(look, longest / mostLooks).unref()
      const connect = (): Duplex => {
        const socket = new Asking()
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
