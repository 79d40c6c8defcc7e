// Nodes whose indexes of transactions lag behind the height and the counts that they name. That a node does not find a transaction
// proves nothing there; what the chain executed decides whether a test passes.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

type Scene = Effect.Success<ReturnType<typeof World.make>>

const transfers = 12

/** Lags from 1 to `most` that look random and are the same in every run. */
const lags = (most: number) => {
  let state = 7
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return 1 + (state % most)
  }
}

/** How nodes show what used a nonce, besides their index: each kind is what some nodes and gateways are like. */
const kinds: Readonly<Record<string, (world: Scene) => void>> = {
  "show blocks with their transactions": () => {},
  "show such blocks only when their index has them": ({ nodes }: Scene) => {
    for (const node of nodes) node.hidesBlocks = true
  },
  "have neither old states nor the method for a nonce": ({ nodes }: Scene) => {
    for (const node of nodes) {
      node.hidesBlocks = true
      Scenes.forgetStates(node)
    }
  }
}

/** A block and a poll in turn, while each block gets one more transfer, until all are final. */
const pay = Effect.fnUntraced(function* (world: Scene, lagOf: () => number) {
  const ids: Array<Effect.Success<ReturnType<Scene["accept"]>>[0]> = []
  for (let round = 0; round < 200; round++) {
    if (ids.length < transfers) ids.push(...(yield* world.accept()))
    for (const node of world.nodes) node.indexLag = lagOf()
    yield* world.poll()
    const { inFlight, pendingCount } = yield* world.contents
    if (ids.length === transfers && inFlight.length + pendingCount === 0) break
    world.chain.mine()
  }
  return yield* Effect.forEach(ids, (id) => world.transaction(id))
})

for (const [kind, prepare] of Object.entries(kinds)) {
  layerEach(memory)(`twelve transfers through nodes that ${kind}`, (it) => {
    for (const providers of [1, 2]) {
      for (const [name, lagOf] of [
        ["three blocks behind", () => () => 3],
        ["ten blocks behind", () => () => 10],
        ["one to eight blocks behind at random", () => lags(8)]
      ] as const) {
        it.effect(`are received and confirmed, each once, by ${providers} with an index ${name}`, () =>
          Effect.gen(function* () {
            const world = yield* World.make({ providers })
            prepare(world)
            const ended = yield* pay(world, lagOf())
            assert.deepStrictEqual(
              ended.map(({ state }) => state),
              Array(transfers).fill("confirmed")
            )
            assert.strictEqual(world.chain.effects(receiver), transfers)
            assert.strictEqual(
              ended.reduce((sum, { requeues }) => sum + requeues, 0),
              0
            )
          })
        )
      }
    }
  })
}

/** A transaction that is mined and final, through nodes whose indexes lack its block. */
const hidden = Effect.fnUntraced(function* (kind: string, providers = 2) {
  const scene = yield* Scenes.sent({ providers })
  const { world } = scene
  for (const node of world.nodes) node.indexLag = 10
  kinds[kind]?.(world)
  world.chain.mine(6)
  return scene
})

layerEach(memory)("a transaction whose block the index of every node lacks", (it) => {
  it.effect("is confirmed although it was canceled meanwhile", () =>
    Effect.gen(function* () {
      const { id, world } = yield* hidden("have neither old states nor the method for a nonce")
      yield* (yield* Ledger).cancel(1, id)
      yield* world.poll(3)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("is confirmed although its deadline passed meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept(1, { validUntil: 5000 })
      yield* world.poll()
      for (const node of world.nodes) Object.assign(node, { indexLag: 10, hidesBlocks: true })
      for (const node of world.nodes) Scenes.forgetStates(node)
      world.chain.mine(6)
      yield* TestClock.adjust(6000)
      yield* world.poll(3)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  for (const kind of Object.keys(kinds)) {
    for (const providers of [1, 2]) {
      it.effect(`asks no operator what became of it, by ${providers} that ${kind}`, () =>
        Effect.gen(function* () {
          const { id, world } = yield* hidden(kind, providers)
          yield* world.poll(12)
          const { cause, place, restored, state } = yield* world.transaction(id)
          assert.deepStrictEqual([state, restored, place?.sequence], ["submitted", false, 0n])
          assert.notInclude(["nonce_taken_unproven", "restored_unproven"], cause?.code)
        })
      )
    }
  }

  it.effect("says what it waits for, if no index catches up for long", () =>
    Effect.gen(function* () {
      const { id, world } = yield* hidden("have neither old states nor the method for a nonce")
      yield* world.poll(40)
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["submitted", "providers_unavailable"])
    })
  )

  it.effect("does not make requests that wait count as executed", () =>
    Effect.gen(function* () {
      const { id, world } = yield* hidden("have neither old states nor the method for a nonce", 1)
      const [waiting] = yield* world.accept()
      yield* world.poll(15)
      assert.isFalse((yield* world.transaction(waiting)).restored)
      yield* Scenes.finish(world)
      for (const one of [id, waiting]) assert.strictEqual((yield* world.transaction(one)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})

layerEach(memory)("a nonce that another program has used", (it) => {
  it.effect("gives the request the next one as soon as a block shows it, whatever the index has", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      for (const node of world.nodes) node.indexLag = 10
      world.chain.include([{ bytes: yield* world.foreign(0), isSuccess: true }])
      world.chain.mine(4)
      yield* world.poll(3)
      const moved = yield* world.transaction(id)
      assert.deepStrictEqual([nonceOf(moved), moved.requeues], [1, 1])
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})
