// Nodes: an honest one, which may be late or lose things, and one that lies about everything but what is in a block.
import type { NodeAnswer } from "../../../../src/domain/transaction/Refusal.ts"
import type { Fees } from "../../../../src/domain/transaction/Fees.ts"
import { maxFeeOf, tipOf } from "../../../../src/domain/transaction/Fees.ts"
import type { Effect } from "../../../../src/domain/transaction/Taker.ts"
import { countOf } from "./Chain.ts"
import type { World } from "./World.ts"

/** Signed bytes, as anybody who has seen them can read them. */
export interface Bytes {
  readonly hash: string
  readonly nonce: number
  readonly fees: Fees
  readonly cost: bigint
  /** Of its fees. */
  readonly maxFees: bigint
  /** Undefined: a no-op. */
  readonly effect: Effect | undefined
  /** Number of the request. Undefined: a no-op, or a foreign transaction. */
  readonly request: number | undefined
}

export type Pool = ReadonlyMap<number, Bytes>

const error = (message: string): NodeAnswer => ({ _tag: "RpcError", code: -32000, message })
const accepted: NodeAnswer = { _tag: "Hash" }

/** geth's rule for two transactions with one nonce. */
const replaces = (bytes: Bytes, former: Bytes): boolean =>
  [maxFeeOf, tipOf].every(
    (fee) => fee(bytes.fees) > fee(former.fees) && fee(bytes.fees) * 10n >= fee(former.fees) * 11n
  )

const overCap = "tx fee (9.99 ether) exceeds the configured cap (1.00 ether)"

/** What geth does with bytes, and its pool afterwards. */
export const offer = (
  { chain, pool, balance, nodeCap }: Pick<World, "chain" | "pool" | "balance" | "nodeCap">,
  bytes: Bytes
): readonly [NodeAnswer, Pool] => {
  const former = pool.get(bytes.nonce)
  if (nodeCap !== undefined && bytes.maxFees > nodeCap) return [error(overCap), pool]
  if (bytes.nonce < countOf(chain)) return [error("nonce too low: next nonce 9, tx nonce 0"), pool]
  if (former?.hash === bytes.hash) return [error("already known"), pool]
  if (former !== undefined && !replaces(bytes, former)) return [error("replacement transaction underpriced"), pool]
  if (bytes.cost > balance) return [error("insufficient funds for gas * price + value"), pool]
  return [accepted, new Map([...pool, [bytes.nonce, bytes]])]
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
