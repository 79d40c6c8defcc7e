// Pages of the list of an address: a page that does not continue the page above it is not the end of the list.
import { Effect, Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as ExactJson from "../../../../src/domain/request/ExactJson.ts"
import { readList } from "../../../../src/networks/solana/chain/SolanaLooks.ts"
import type { KeptLists } from "../../../../src/networks/solana/chain/SolanaLooks.ts"
import { listPage } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import { nodeWith } from "../../../../testkit/RpcNodes.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import * as Node from "../../../../testkit/solana/Node.ts"

const address = "5".repeat(43)
const sol = 1_000_000_000n

/** An account with one entry more than a page has, at a URL with two back ends. The second one has dropped all but the newest blocks. */
const make = (version: string) => {
  const cluster = Cluster.make()
  for (let entry = 0; entry <= listPage.entries; entry++) cluster.fund(address, sol)
  cluster.produce(Cluster.finality)
  const nodes = [Node.make(cluster, ""), Node.make(cluster, "")]
  for (const node of nodes) node.version = version
  const [, second = assert.fail("no node")] = nodes
  const backend = Node.balanced(nodes)
  const rpc = nodeWith("http://node.example", ({ method, params }) => {
    const answer = backend.answer(method, Array.isArray(params) ? JSON.parse(JSON.stringify(params)) : [])
    if (answer === undefined) return Effect.die(new Error("the node is away"))
    return Effect.succeed(
      "result" in answer
        ? { _tag: "Result", value: ExactJson.parse(JSON.stringify(answer.result)) }
        : { _tag: "RpcError", ...answer.error }
    )
  })
  const lists: KeptLists = new Map()
  const read = (now: number) => Effect.result(readList(rpc, { address, slot: 1, until: 0 }, lists, now))
  return { cluster, lists, read, second }
}

describe("the list of an address", () => {
  for (const version of ["3.1.0", "4.1.2"]) {
    it.effect(`is read to its end through back ends that have it; version ${version}`, () =>
      Effect.gen(function* () {
        const { read } = make(version)
        const { isWhole, signatures } = Result.getOrThrow(yield* read(0)).listed
        assert.deepStrictEqual([isWhole, signatures.size], [true, listPage.entries + 1])
      })
    )

    it.effect(`does not end where a back end does not know the entry above a page; version ${version}`, () =>
      Effect.gen(function* () {
        const { lists, read, second } = make(version)
        second.keeps = 10
        const found = yield* read(0)
        assert.isTrue(Result.isFailure(found))
        assert.strictEqual(lists.size, 0, "nothing of it is kept")
        second.keeps = undefined
        assert.strictEqual(Result.getOrThrow(yield* read(1)).listed.signatures.size, listPage.entries + 1)
      })
    )
  }
})
