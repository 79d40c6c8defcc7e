// Looks at nodes whose index of signatures lags behind the slot that they name: what they show of their index, and what follows.
import { Effect } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as ExactJson from "../../../../src/domain/request/ExactJson.ts"
import * as SolanaLooks from "../../../../src/networks/solana/chain/SolanaLooks.ts"
import { conclude, openQuestionOf } from "../../../../src/networks/solana/rules/SolanaSeen.ts"
import type { AttemptToProve } from "../../../../src/networks/solana/rules/SolanaSeen.ts"
import { nodeWith } from "../../../../testkit/RpcNodes.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import * as Node from "../../../../testkit/solana/Node.ts"

const address = "5".repeat(43)
const sol = 1_000_000_000n

const rpcOf = (backend: Pick<Node.Backend, "answer">) =>
  nodeWith("http://node.example", ({ method, params }) => {
    const answer = backend.answer(method, Array.isArray(params) ? JSON.parse(JSON.stringify(params)) : [])
    if (answer === undefined) return Effect.die(new Error("the node is away"))
    return Effect.succeed(
      "result" in answer
        ? { _tag: "Result", value: ExactJson.parse(JSON.stringify(answer.result)) }
        : { _tag: "RpcError", ...answer.error }
    )
  })

/** A node of a cluster in which an account was funded twice, and the second transfer is the last thing that the account did. */
const make = (before = 10) => {
  const cluster = Cluster.make()
  cluster.fund(address, sol)
  cluster.produce(before)
  const hash = cluster.fund(address, sol)
  const node = Node.make(cluster, "http://node.example")
  return { cluster, hash, node, rpc: rpcOf(node) }
}

/** Bytes whose last block is that of the second transfer. */
const attemptOf = ({ cluster, hash }: ReturnType<typeof make>, signature = hash): AttemptToProve => {
  const { height } = cluster.blocks.findLast(({ transactions }) => transactions.length > 0) ?? assert.fail("no block")
  return { hash: signature, offer: { blockhash: "1".repeat(44), bound: height, signedSlot: 1 } }
}

const look = ({ rpc }: Pick<ReturnType<typeof make>, "rpc">, attempts: ReadonlyArray<AttemptToProve>) =>
  SolanaLooks.proof(rpc, { address, attempts, lists: new Map(), now: 0 })

describe("a look for a proof", () => {
  for (const hasVotes of [true, false]) {
    const blocks = hasVotes ? "votes in each block" : "empty blocks"
    for (let lag = 1; lag <= 10; lag++) {
      it.effect(`does not take bytes for dead that an index ${lag} blocks behind lacks, with ${blocks}`, () =>
        Effect.gen(function* () {
          const scene = make()
          const attempt = attemptOf(scene)
          Object.assign(scene.node, { hasVotes, indexLag: lag })
          // From the first block in which the bound is final, to the one in which the index shows the bytes.
          scene.cluster.produce(Cluster.finality + 1)
          for (let block = 0; block <= lag; block++) {
            const conclusion = conclude(yield* look(scene, [attempt]), [attempt], [])
            assert.notStrictEqual(conclusion?._tag, "Dead")
            scene.cluster.produce()
          }
          const shown = conclude(yield* look(scene, [attempt]), [attempt], [])
          assert.strictEqual(shown?._tag, "Landed")
        })
      )
    }

    it.effect(`takes bytes for dead that never landed, through an index that lags for ever, with ${blocks}`, () =>
      Effect.gen(function* () {
        const scene = make()
        const attempt = attemptOf(scene, "4".repeat(88))
        Object.assign(scene.node, { hasVotes, indexLag: 10 })
        scene.cluster.produce(Cluster.finality + 1)
        const questions = new Array<string | undefined>()
        for (let block = 0; block < 20; block++) {
          questions.push(openQuestionOf(yield* look(scene, [attempt]), [attempt], []))
          scene.cluster.produce()
        }
        assert.notInclude(questions.slice(0, 9), undefined)
        assert.isUndefined(questions.at(-1))
      })
    )
  }

  it.effect("proves the lowest bound although the index does not show the highest one yet", () =>
    Effect.gen(function* () {
      const scene = make()
      const low = attemptOf(scene, "4".repeat(88))
      scene.cluster.produce(Cluster.finality + 20)
      const height = (scene.cluster.blocks.at(-Cluster.finality - 1)?.height ?? 0) - 1
      const high = { ...low, hash: "3".repeat(88), offer: { ...low.offer, bound: height } }
      scene.node.indexLag = 5
      const found = yield* look(scene, [low, high])
      assert.deepStrictEqual(
        [openQuestionOf(found, [low], []), openQuestionOf(found, [high], [])],
        [undefined, "index"]
      )
    })
  )

  it.effect("shows nothing of an index if the node has no blocks", () =>
    Effect.gen(function* () {
      const scene = make()
      const attempt = attemptOf(scene, "4".repeat(88))
      scene.cluster.produce(Cluster.finality + 5)
      scene.node.lies.set("getBlock", () => ({ error: { code: -32_601, message: "Method not found" } }))
      assert.strictEqual(openQuestionOf(yield* look(scene, [attempt]), [attempt], []), "index")
      scene.node.lies.clear()
      assert.isUndefined(openQuestionOf(yield* look(scene, [attempt]), [attempt], []))
    })
  )
})

describe("a look of a poll", () => {
  it.effect("reads what was paid from a node that takes no version that no message can name", () =>
    Effect.gen(function* () {
      const { cluster, hash, node, rpc } = make()
      cluster.produce(Cluster.finality + 1)
      node.highestAsked = 127
      const { landings } = yield* SolanaLooks.poll(rpc, [hash], new Map())
      assert.isDefined(landings.get(hash)?.paid)
    })
  )
})

describe("a look after a restore", () => {
  it.effect("has no list before the index shows a block above the bound", () =>
    Effect.gen(function* () {
      const scene = make()
      const { bound } = attemptOf(scene).offer
      const read = SolanaLooks.history(scene.rpc, { address, bound, until: 0, lists: new Map(), now: 0 })
      assert.isUndefined(yield* read)
      scene.cluster.produce(Cluster.finality + 1)
      scene.node.indexLag = 3
      assert.isUndefined(yield* read)
      // A slot may have no block, so the block that is asked about may be some blocks above the bound.
      scene.cluster.produce(6)
      const found = (yield* read) ?? assert.fail("no list")
      assert.isTrue(found.listed.signatures.has(scene.hash))
    })
  )
})

/** Slots before and after the second transfer, and blocks since then. */
const ages = { before: 120, after: 60 }

/** Back ends of one URL, by the slots that they have kept since before the transfer, or since after it, and by the lag of their index. */
const backEnds = (cluster: Cluster.Cluster) => {
  const made = (keeps: number | undefined, indexLag = 0) => Object.assign(Node.make(cluster, ""), { keeps, indexLag })
  const since = ages.after + 20
  return {
    archive: made(undefined),
    behind: made(undefined, ages.after),
    kept: made(since),
    keptBehind: made(since, ages.after),
    younger: made(Math.floor(ages.after / 2))
  }
}

/** A number of 32 bits for each call, which depends on nothing but the seed (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    const more = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed))
    return (more ^ (more >>> 14)) >>> 0
  }
}

const sequences = 400

describe("back ends of different ages behind one URL", () => {
  const scene = () => {
    const made = make(ages.before)
    made.cluster.produce(ages.after)
    const { bound } = attemptOf(made).offer
    const slot = made.cluster.blocks[bound]?.slot ?? assert.fail("no block")
    const offer = { blockhash: "1".repeat(44), bound, signedSlot: slot - 5 }
    return { ...made, bound, nodes: backEnds(made.cluster), offer }
  }

  it.effect("never prove together that bytes are dead which have landed, in whatever order they answer", () =>
    Effect.gen(function* () {
      const { hash, nodes, offer } = scene()
      const attempt = { hash, offer }
      const shown = new Set<string>()
      for (let seed = 0; seed < sequences; seed++) {
        const found = yield* look({ rpc: rpcOf(Node.balanced(Object.values(nodes), randomOf(seed))) }, [attempt])
        const conclusion = conclude(found, [attempt], [])
        assert.notStrictEqual(conclusion?._tag, "Dead", `sequence ${seed}`)
        shown.add(conclusion?._tag ?? openQuestionOf(found, [attempt], []) ?? "none")
      }
      assert.includeMembers([...shown], ["Landed", "index", "list"])
    })
  )

  it.effect(
    "prove it of bytes that have not landed, each alone if it has kept the blocks, and together sometimes",
    () =>
      Effect.gen(function* () {
        const { nodes, offer } = scene()
        const attempt = { hash: "4".repeat(88), offer }
        const questionOf = (backend: Pick<Node.Backend, "answer">) =>
          Effect.map(look({ rpc: rpcOf(backend) }, [attempt]), (found) => openQuestionOf(found, [attempt], []))
        const { archive, kept, younger } = nodes
        assert.deepStrictEqual(
          [yield* questionOf(archive), yield* questionOf(kept), yield* questionOf(younger)],
          [undefined, undefined, "history"]
        )
        let proofs = 0
        for (let seed = 0; seed < sequences; seed++) {
          const question = yield* questionOf(Node.balanced([archive, kept], randomOf(seed)))
          if (question === undefined) proofs++
        }
        assert.isAbove(proofs, sequences / 10)
      })
  )

  it.effect("never show a restore a list that ends before a transaction below its bound", () =>
    Effect.gen(function* () {
      const { bound, hash, nodes } = scene()
      let lists = 0
      for (let seed = 0; seed < sequences; seed++) {
        const { archive, behind } = nodes
        const rpc = rpcOf(Node.balanced([archive, behind], randomOf(seed)))
        const read = SolanaLooks.history(rpc, { address, bound, until: 0, lists: new Map(), now: 0 })
        const found = yield* Effect.orElseSucceed(read, () => undefined)
        if (found === undefined) continue
        lists++
        assert.isTrue(found.listed.signatures.has(hash), `sequence ${seed}`)
      }
      assert.isAbove(lists, sequences / 10)
    })
  )
})
