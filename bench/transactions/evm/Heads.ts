// When each block of the node arrived, as a subscriber sees it.
import { Effect } from "effect"
import * as Machine from "../../harness/Machine.ts"
import * as Heads from "../Heads.ts"

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
  return Heads.make(arrivals)
})
