// How traces begin and end: a transaction that nodes have, one that is confirmed, and polls until nothing is open.
import { Effect } from "effect"
import type { Chain } from "./Chain.ts"
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

/** Blocks below the head of which a node without old states still has the state: those that become final. */
const recent = { from: 2, to: 4 } as const

/** The node has the states of its newest block and of those that become final, and no method that finds what used a nonce. */
export const forgetStates = (node: Node | undefined): void => {
  node?.lies.set("eth_getTransactionBySenderAndNonce", () => failed)
  node?.lies.set("eth_getTransactionCount", ([, tag]) => {
    const depth = node.head() - Number(tag)
    return tag === "latest" || (depth >= recent.from && depth <= recent.to) ? undefined : failed
  })
}

/**
 * The node has lost the transactions of the account, and has no old states: it is silent about what used a nonce. Its index has
 * the transactions of others, so that it does not lag.
 */
export const hideTransactions = (node: Node | undefined, chain: Chain): void => {
  chain.isBusy = true
  for (const method of ["eth_getTransactionReceipt", "eth_getTransactionByHash"]) {
    node?.lies.set(method, ([hash]) => (chain.sent.has(String(hash)) ? nothing : undefined))
  }
  forgetStates(node)
}
