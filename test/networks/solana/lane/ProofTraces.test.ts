// Traces of proofs: bytes that may still land are never followed by others, whatever providers say. The numbers are those of the
// table in README.md of this folder.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import type { Node } from "../../../../testkit/solana/Node.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { heldBack, hideStatuses, isConfirmedOnce, release, untilDead } from "./Ends.ts"
import * as World from "./World.ts"

const { memo } = World

type World = Effect.Success<ReturnType<typeof World.make>>

const shown = Effect.fnUntraced(function* (world: World, id: Parameters<World["transaction"]>[0]) {
  const { attempts, cause, state } = yield* world.transaction(id)
  return [state, cause?.code, attempts.length]
})

const failing = (code: number) => () => ({ error: { code, message: "does not answer" } })

layerEach(memory)("no proof follows from", (it) => {
  /** What the explanation says about the node. */
  const unproven: ReadonlyArray<readonly [string, string, (node: Node) => void]> = [
    ["11: a node without history", "history has none", (node) => void (node.hasHistory = false)],
    [
      "12: statuses that do not arrive",
      "history has none",
      (node) => void node.lies.set("getSignatureStatuses", failing(-32_005))
    ],
    [
      "13: a node that is pruned above the signature",
      "does not have the blocks since the signature any more",
      (node) => void (node.firstAvailable = 10 ** 6)
    ],
    [
      "13b: a list that does not arrive",
      "complete list",
      (node) => void node.lies.set("getSignaturesForAddress", failing(-32_016))
    ],
    [
      "13c: a list that lags",
      "complete list",
      (node) => void node.lies.set("getSignaturesForAddress", () => ({ result: [] }))
    ],
    [
      "13d: a blockhash that is called valid",
      "blockhash is dead",
      (node) => void node.lies.set("isBlockhashValid", () => ({ result: { context: { slot: 10 ** 9 }, value: true } }))
    ]
  ]
  for (const [name, text, spoil] of unproven) {
    it.effect(`${name}; when it is mended, new bytes follow`, () =>
      Effect.gen(function* () {
        const { id, world } = yield* heldBack({ providers: 2 })
        for (const node of world.nodes.slice(1)) spoil(node)
        yield* world.poll(untilDead)
        const [state, code, attempts] = yield* shown(world, id)
        assert.deepStrictEqual([state, code, attempts], ["submitted", "landing_unproven", 1])
        const { figures } = (yield* world.transaction(id)).cause ?? assert.fail("no cause")
        assert.deepStrictEqual([figures.host, figures.error?.includes(text)], ["http://node-1.example", true])
        for (const node of world.nodes) {
          node.lies.clear()
          Object.assign(node, { hasHistory: true, firstAvailable: 0 })
        }
        yield* world.poll(2)
        assert.lengthOf((yield* world.transaction(id)).attempts, 2)
      })
    )
  }

  it.effect("10: a finalized height that is 200 too high", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 2 })
      const [node] = world.nodes
      node?.lies.set("getEpochInfo", () => {
        const { height, slot } = world.cluster.blocks.at(-33) ?? assert.fail("no block")
        return { result: { absoluteSlot: slot, blockHeight: height + 200 } }
      })
      yield* world.poll(10)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
      node?.lies.clear()
      release(world)
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("14: statuses of a back end on another fork, because the list of the address has the signature", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 2 })
      release(world)
      for (const node of world.nodes) hideStatuses(world, node)
      yield* world.poll(untilDead)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
      for (const node of world.nodes) node.lies.clear()
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("15: one of two providers that denies what the other one shows; both have to agree", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 2 })
      release(world)
      const [, liar] = world.nodes
      if (liar === undefined) return assert.fail("no node")
      hideStatuses(world, liar)
      liar.lies.set("getSignaturesForAddress", () => {
        const [first] = world.cluster.blocks.flatMap(({ transactions, slot }) =>
          transactions.map(({ signature }) => ({ signature, slot }))
        )
        return { result: [first] }
      })
      yield* world.poll(untilDead)
      const [state, code] = yield* shown(world, id)
      assert.deepStrictEqual([state, code], ["mined", "providers_disagree"])
      liar.lies.clear()
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("15b: one of three providers, which cannot keep the two others from a verdict", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 3 })
      release(world)
      for (const node of world.nodes.slice(2)) hideStatuses(world, node)
      yield* isConfirmedOnce(world, id)
    })
  )
})

layerEach(memory)("a second provider that is silent", (it) => {
  it.effect("42: keeps the verdict open for an hour; then the one that is left decides in two looks", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept(memo("alone"))
      for (const node of world.nodes.slice(1)) node.isAway = true
      yield* world.poll(20)
      const [state, code] = yield* shown(world, id)
      assert.deepStrictEqual([state, code], ["mined", "second_provider_missing"])
      yield* TestClock.adjust("59 minutes")
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      yield* TestClock.adjust("2 minutes")
      yield* world.poll(8)
      const { state: end, confirmedBy } = yield* world.transaction(id)
      assert.deepStrictEqual([end, confirmedBy], ["confirmed", 1])
    })
  )

  const ends = { "10m": "confirmed", never: "mined" }
  for (const [finalityByOne, end] of Object.entries(ends)) {
    it.effect(`makes a verdict wait as finality_by_one of the network says: ${finalityByOne}`, () =>
      Effect.gen(function* () {
        const world = yield* World.make({ providers: 2, finalityByOne })
        const [id] = yield* world.accept(memo(finalityByOne))
        for (const node of world.nodes.slice(1)) node.isAway = true
        yield* world.poll(20)
        assert.strictEqual((yield* world.transaction(id)).state, "mined")
        yield* TestClock.adjust("11 minutes")
        yield* world.poll(8)
        assert.strictEqual((yield* world.transaction(id)).state, end)
      })
    )
  }

  it.effect("42c: was silent for as long as the ledger says, also for a process that has just taken the lane", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept(memo("taken"))
      for (const node of world.nodes.slice(1)) node.isAway = true
      yield* world.poll(20)
      yield* TestClock.adjust("59 minutes")
      yield* world.claim
      yield* world.poll()
      assert.deepStrictEqual(yield* shown(world, id), ["mined", "second_provider_missing", 1])
      yield* TestClock.adjust("2 minutes")
      yield* world.poll(8)
      const { state, confirmedBy } = yield* world.transaction(id)
      assert.deepStrictEqual([state, confirmedBy], ["confirmed", 1])
    })
  )

  it.effect("42b: does not keep new rows from their signatures; one opinion of it starts the time anew", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept(memo("again"))
      const away = (isAway: boolean) => {
        for (const node of world.nodes.slice(1)) node.isAway = isAway
      }
      away(true)
      yield* world.poll(3)
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
      for (const node of world.nodes.slice(1)) hideStatuses(world, node, 0)
      away(false)
      yield* TestClock.adjust("59 minutes")
      yield* world.poll()
      away(true)
      yield* TestClock.adjust("2 minutes")
      yield* world.poll(8)
      assert.notStrictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})

layerEach(memory)("answers to a send", (it) => {
  it.effect("2: that fail although the bytes were forwarded change nothing: the signature is found", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      node?.lies.set("sendTransaction", ([raw]) => {
        world.cluster.take(bytesOf(String(raw)))
        return { error: { code: -32_603, message: "internal error" } }
      })
      const [id] = yield* world.accept()
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("38: of a provider that preflights and refuses do not matter if another one takes the bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      world.nodes[0]?.lies.set("sendTransaction", () => ({
        error: { code: -32_002, message: "Transaction simulation failed", data: { err: "AccountNotFound" } }
      }))
      const [id] = yield* world.accept()
      yield* isConfirmedOnce(world, id)
    })
  )
})
