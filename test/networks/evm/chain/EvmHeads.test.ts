// Which readings of a head are shared, and when a provider is asked again.
import { Effect, Fiber, Latch, Schema } from "effect"
import { TestClock } from "effect/testing"
import { assert, it } from "@effect/vitest"
import { makeHeads } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import type { Finality } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import { rpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import { paramsOf } from "../../../server/lanes/fake/Node.ts"

const numbers = (finality: Finality) => ({ finality, blockTime: 1000 })

const hash = (height: number) => `0x${String(height).padStart(64, "0")}`

/** A provider whose chain has `height` blocks. Answers wait for the latch. */
const provider = (url = "http://a.example") => {
  const latch = Latch.makeUnsafe(true)
  const state = { height: 100, isAway: false, asked: new Array<string>() }
  const node: RpcNode = {
    url,
    call: (call) =>
      Effect.gen(function* () {
        const tag = String(paramsOf(call)[0])
        state.asked.push(tag)
        yield* latch.await
        if (state.isAway) return yield* rpcFailure("unreachable")
        const height = tag.startsWith("0x") ? Number(tag) : state.height - (tag === "finalized" ? 10 : 0)
        const block: unknown = { number: `0x${height.toString(16)}`, hash: hash(height), parentHash: hash(height - 1) }
        return yield* Effect.orDie(Schema.decodeUnknownEffect(call.result)(block))
      }),
    ask: () => Effect.die("not used"),
    send: () => Effect.die("not used"),
    breaker: Effect.succeed("closed"),
    batchSize: Effect.succeed(1)
  }
  return Object.assign(state, { node, latch })
}

/** A test at a moment that is later than 0, which stands for no former poll. */
const test = (name: string, body: Effect.Effect<void, unknown>) =>
  it.effect(name, () => Effect.andThen(TestClock.adjust("1 second"), body))

test(
  "lanes that poll at the same time share one reading of a head",
  Effect.gen(function* () {
    const a = provider()
    const heads = makeHeads()
    yield* a.latch.close
    const polls = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(heads.at(a.node, numbers("finalized"), 0)))
    yield* TestClock.adjust(100)
    yield* a.latch.open
    const found = yield* Effect.forEach(polls, Fiber.join)
    assert.deepStrictEqual(
      found.map(({ head, finalHeight }) => [head.number, finalHeight]),
      [
        [100, 90],
        [100, 90],
        [100, 90]
      ]
    )
    assert.deepStrictEqual(a.asked, ["latest", "finalized"])
  })
)

test(
  "a lane never polls twice with one reading",
  Effect.gen(function* () {
    const a = provider()
    const heads = makeHeads()
    const first = yield* heads.at(a.node, numbers(1), 0)
    a.height = 101
    const second = yield* heads.at(a.node, numbers(1), first.askedAt)
    assert.deepStrictEqual([first.head.number, second.head.number], [100, 101])
  })
)

test(
  "a reading is shared for 250 milliseconds, with lanes that have the same provider and finality",
  Effect.gen(function* () {
    const a = provider()
    const b = provider("http://b.example")
    const heads = makeHeads()
    yield* heads.at(a.node, numbers(1), 0)
    yield* TestClock.adjust(249)
    yield* heads.at(a.node, numbers(1), 0)
    assert.strictEqual(a.asked.length, 1)
    yield* heads.at(b.node, numbers(1), 0)
    assert.strictEqual((yield* heads.at(a.node, numbers(2), 0)).finalHeight, 98)
    yield* TestClock.adjust(1)
    yield* heads.at(a.node, numbers(1), 0)
    assert.deepStrictEqual([a.asked.length, b.asked.length], [3, 1])
  })
)

test(
  "a failure is not shared with later polls, and the end of one poll does not end the others",
  Effect.gen(function* () {
    const a = provider()
    const heads = makeHeads()
    a.isAway = true
    assert.strictEqual((yield* Effect.flip(heads.at(a.node, numbers(1), 0))).code, "unreachable")
    a.isAway = false
    yield* a.latch.close
    const first = yield* Effect.forkChild(heads.at(a.node, numbers(1), 0))
    const second = yield* Effect.forkChild(heads.at(a.node, numbers(1), 0))
    yield* TestClock.adjust(10)
    yield* Fiber.interrupt(first)
    yield* a.latch.open
    assert.strictEqual((yield* Fiber.join(second)).head.number, 100)
    assert.strictEqual(a.asked.length, 2)
  })
)

test(
  "a head knows the hashes of itself and its parent, and asks once for others",
  Effect.gen(function* () {
    const a = provider()
    const { hashesAt } = yield* makeHeads().at(a.node, numbers(1), 0)
    assert.deepStrictEqual(
      [...(yield* hashesAt([100, 99, 101]))],
      [100, 99].map((height) => [height, hash(height)])
    )
    assert.strictEqual(a.asked.length, 1)
    yield* Effect.all([hashesAt([98, 97]), hashesAt([98])], { concurrency: 2 })
    assert.deepStrictEqual(a.asked, ["latest", "0x62", "0x61"])
  })
)
