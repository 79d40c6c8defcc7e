// The chain of the cases about solana: a cluster in memory, with a node for each provider of the service, in this process.
import { Array, Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import * as Bank from "../../testkit/solana/Bank.ts"
import * as Cluster from "../../testkit/solana/Cluster.ts"
import type { WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import * as Serving from "../../testkit/solana/Serving.ts"

/** Milliseconds between two blocks, unless a case has others: a blockhash lives for 22 seconds instead of 60. */
const usualMillis = 150

/** Selects `percent` of all signatures by a hash, so that the answer for one signature is always the same. */
export const isAmong = (percent: number, signature: string): boolean =>
  (createHash("sha256").update(signature).digest()[0] ?? 0) < percent * 2.56

export const start = Effect.fnUntraced(function* (
  providers: number,
  run: Bank.Run = Bank.run,
  blockMillis: number = usualMillis
) {
  const cluster = Cluster.make({ run })
  const nodes = yield* Effect.forEach(Array.range(1, providers), () => Serving.node(cluster))
  /** `beforeBlock` runs just before each block is made. A case may replace it. */
  const chain = { cluster, nodes, blockMillis, beforeBlock: () => {} }
  yield* Effect.sync(() => {
    chain.beforeBlock()
    cluster.produce()
  }).pipe(Effect.repeat(Schedule.spaced(blockMillis)), Effect.forkScoped)
  return chain
})

export type Chain = Effect.Success<ReturnType<typeof start>>

/** The age of a blockhash in the next block. Undefined: no block has it. */
const ageOf = ({ cluster: { blocks } }: Chain, blockhash: string): number | undefined => {
  const height = blocks.findLastIndex((block) => block.blockhash === blockhash)
  return height < 0 ? undefined : blocks.length - height
}

/** Holds back `percent` of the transactions, and releases each in the last block in which its blockhash is valid. */
export const holdBack = (chain: Chain, percent: number) => {
  const held = new Map<string, WireTransaction>()
  const counts = { held: 0, released: 0 }
  chain.cluster.keepsBack = (signature) => {
    const isHeld = isAmong(percent, signature)
    const wire = chain.cluster.sent.get(signature)
    if (isHeld && wire !== undefined && !held.has(signature)) {
      held.set(signature, wire)
      counts.held += 1
    }
    return isHeld
  }
  chain.beforeBlock = () => {
    for (const [signature, wire] of held) {
      const age = ageOf(chain, wire.message.blockhash)
      if (age !== undefined && age < Cluster.life + 1) continue
      held.delete(signature)
      if (age !== Cluster.life + 1) continue
      chain.cluster.pool.set(signature, wire)
      counts.released += 1
    }
  }
  return counts
}

/** Drops the newest `depth` blocks with their transactions, but never the first two blocks. */
export const fork = ({ cluster }: Chain, depth: number) =>
  Effect.sync(() => cluster.reorg(Math.min(depth, cluster.blocks.length - 2)))
