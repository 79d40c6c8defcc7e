// How a cluster finds signatures and blockhashes among its blocks, and among those of a fork that it dropped.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Cluster from "../../../testkit/solana/Cluster.ts"
import * as Node from "../../../testkit/solana/Node.ts"
import { addressOf, sol, transferOf } from "./World.ts"

const payer = addressOf(1)

const make = () => {
  const cluster = Cluster.make()
  cluster.fund(payer, 10n * sol)
  cluster.produce(5)
  return cluster
}

/** The signature of a transfer of `lamports`, which is in the pool. */
const send = (cluster: Cluster.Cluster, lamports: bigint): string =>
  Result.getOrThrow(cluster.take(transferOf(cluster, 1, addressOf(2), lamports)))

describe("a cluster", () => {
  it("finds a signature in the blocks that have it, and not in those of another fork", () => {
    const cluster = make()
    const signature = send(cluster, sol)
    cluster.produce()
    const dropped = cluster.blocks
    cluster.reorg(2)
    assert.strictEqual(cluster.landed(dropped, signature)?.block, dropped.at(-1))
    assert.isUndefined(cluster.landed(cluster.blocks, signature))
    assert.isUndefined(cluster.landed(dropped.slice(0, -1), signature))
  })

  it("executes bytes once in each fork, also if they are sent again", () => {
    const cluster = make()
    const raw = transferOf(cluster, 1, addressOf(2), sol)
    const sendBoth = () => {
      const taken = [cluster.take(raw), cluster.take(raw)].map(Result.getOrThrow)
      cluster.produce()
      return taken
    }
    const [one, other] = sendBoth()
    assert.strictEqual(one, other)
    sendBoth()
    assert.strictEqual(cluster.balanceOf(addressOf(2)), sol)
    cluster.reorg(2)
    assert.strictEqual(cluster.balanceOf(addressOf(2)), 0n)
    sendBoth()
    assert.strictEqual(cluster.balanceOf(addressOf(2)), sol)
    assert.strictEqual(cluster.successes(payer), 1)
  })

  it("knows a blockhash for as long as its life lasts, and only in the fork that has it", () => {
    const cluster = make()
    const blockhash = cluster.blocks.at(-1)?.blockhash ?? ""
    const dropped = cluster.blocks
    cluster.produce(Cluster.life)
    assert.isTrue(cluster.isValid(cluster.blocks, blockhash))
    cluster.produce()
    assert.isFalse(cluster.isValid(cluster.blocks, blockhash))
    cluster.reorg(Cluster.life + 2)
    assert.isFalse(cluster.isValid(cluster.blocks, blockhash))
    assert.isTrue(cluster.isValid(dropped, blockhash))
  })

  it("lists the signatures of an address from the newest to the oldest, page by page", () => {
    const cluster = make()
    const sent = [1n, 2n, 3n, 4n].map((more, index) => {
      const signature = send(cluster, sol + more)
      if (index % 2 === 1) cluster.produce()
      return signature
    })
    cluster.produce(Cluster.finality)
    const node = Node.make(cluster, "")
    const page = (options: object): ReadonlyArray<string> => {
      const answer = node.answer("getSignaturesForAddress", [addressOf(2), options])
      if (answer === undefined || !("result" in answer) || !Array.isArray(answer.result)) return []
      return answer.result.map(({ signature }: { readonly signature: string }) => signature)
    }
    const [first = "", second = "", third = "", fourth = ""] = sent
    assert.deepStrictEqual(page({ limit: 3 }), [fourth, third, second])
    assert.deepStrictEqual(page({ limit: 3, before: second }), [first])
    assert.deepStrictEqual(page({ limit: 1, before: fourth }), [third])
    node.indexLag = 1
    assert.deepStrictEqual(page({}), sent.slice(0, 2).toReversed())
  })
})
