// When each block of the node arrived, as a subscriber sees it.
import { Effect } from "effect"
import * as Machine from "../harness/Machine.ts"

export interface Heads {
  /** Milliseconds since 1970. Undefined: the block has not come. */
  arrivalOf(block: number): number | undefined
  /** Waits for the next block and then for this many seconds. */
  after(seconds: number): Effect.Effect<void>
}

const subscription = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] })

/** Follows the node until the scope closes. */
export const follow = Effect.fnUntraced(function* (url: string) {
  const arrivals = new Map<number, number>()
  yield* Effect.acquireRelease(
    Effect.callback<WebSocket>((resume) => {
      const socket = new WebSocket(url.replace("http:", "ws:"))
      socket.addEventListener("open", () => socket.send(subscription))
      socket.addEventListener("message", ({ data }) => {
        const { params } = JSON.parse(String(data))
        if (params === undefined) resume(Effect.succeed(socket))
        else arrivals.set(Number(params.result.number), Machine.now())
      })
      socket.addEventListener("error", () => resume(Effect.die(new Error("the node takes no subscription"))))
    }),
    (socket) => Effect.sync(() => socket.close())
  )
  const next = Effect.suspend(() => {
    const known = arrivals.size
    return Effect.repeat(Effect.sleep("2 millis"), { until: () => arrivals.size > known })
  })
  const heads: Heads = {
    arrivalOf: (block) => arrivals.get(block),
    after: (seconds) => Effect.andThen(next, Effect.sleep(seconds * 1000))
  }
  return heads
})
