// Nodes: an honest one, which may be late or lose things, and one that lies about everything but what is in a block.
import type { NodeAnswer } from "../../../../../src/networks/evm/rules/Refusal.ts"
import { countOf } from "../../../../../src/testkit/chain/Blocks.ts"
import * as Pool from "../../../../../src/testkit/chain/Pool.ts"
import type { Bytes, World } from "./World.ts"

const error = (message: string): NodeAnswer => ({ _tag: "RpcError", code: -32000, message })
const accepted: NodeAnswer = { _tag: "Hash" }

const overCap = "tx fee (9.99 ether) exceeds the configured cap (1.00 ether)"

/** What geth does with bytes, and its pool afterwards. Its RPC server looks at the fee before its pool does. */
export const offer = (
  { chain, pool, balance, nodeCap }: Pick<World, "chain" | "pool" | "balance" | "nodeCap">,
  bytes: Bytes
): readonly [NodeAnswer, Pool.Pool<Bytes>] => {
  if (nodeCap !== undefined && bytes.maxFees > nodeCap) return [error(overCap), pool]
  const offered = Pool.offer({ pool, count: countOf(chain), balance }, bytes)
  return typeof offered === "string" ? [error(offered), pool] : [accepted, offered]
}

/** What happens to a broadcast on its way. `lost` and `silent` both look like a time-out. */
export type Delivery = "taken" | "swallowed" | "lost" | "silent" | "refused"

export const answerOf = (delivery: Delivery, honest: NodeAnswer, lie: string): NodeAnswer => {
  if (delivery === "swallowed") return accepted
  if (delivery === "refused") return error(lie)
  return delivery === "taken" ? honest : { _tag: "NoAnswer" }
}

/** Texts with which a lying node refuses what it should take. */
export const lies = [
  "nonce too low",
  "intrinsic gas too low",
  "replacement transaction underpriced",
  "insufficient funds",
  "txpool is full",
  "nonce too high",
  "what is this"
] as const
