// How traces begin and end: a transaction that nodes have, one that is confirmed, and polls until nothing is open.
import { Effect } from "effect"
import type { Node } from "./Node.ts"
import * as World from "./World.ts"

type Scene = Effect.Success<ReturnType<typeof World.make>>

/** A transaction at nonce 0 that is in the pool. */
export const sent = Effect.fnUntraced(function* (given: World.Given = {}) {
  const world = yield* World.make(given)
  const [id] = yield* world.accept()
  yield* world.poll()
  return { id, world }
})

/** Blocks and polls, until at most `open` transactions of the lane are open. */
export const finish = Effect.fnUntraced(function* (world: Scene, open = 0) {
  for (let round = 0; round < 30; round++) {
    const { inFlight, pendingCount } = yield* world.contents
    if (inFlight.length + pendingCount <= open) return
    world.chain.mine()
    yield* world.poll()
  }
})

export const confirmed = Effect.fnUntraced(function* (given: World.Given = {}) {
  const scene = yield* sent(given)
  yield* finish(scene.world)
  return scene
})

const failed = { _tag: "RpcError", code: -32000, message: "missing trie node" } as const
const nothing = { _tag: "Result", value: null } as const

/** Heights of which a node without old states still has the state, from its head on. */
const recent = 4

/** The node neither knows transactions of blocks nor has old states: it is silent about what used a nonce. */
export const hideTransactions = (node: Node | undefined, head: number): void => {
  node?.lies.set("eth_getTransactionReceipt", () => nothing)
  node?.lies.set("eth_getTransactionByHash", () => nothing)
  node?.lies.set("eth_getTransactionBySenderAndNonce", () => failed)
  node?.lies.set("eth_getTransactionCount", ([, tag]) =>
    tag === "latest" || Number(tag) > head - recent ? undefined : failed
  )
}
