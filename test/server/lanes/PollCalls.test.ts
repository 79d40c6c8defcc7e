// What polls of a lane ask a provider, and what they do not ask again.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert } from "../../../testkit/LedgerRows.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { ledger } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"

/** How often each query of the ledger ran so far. */
const queries = Effect.map(
  Metric.snapshot,
  (all) =>
    new Map(
      all.flatMap((one) => {
        const name = one.attributes?.["query"]
        const isOfLedger = name !== undefined && /^(Lane|Transactions|Attempts|Shared)/.test(name)
        return one.type === "Histogram" && isOfLedger ? [[name, one.state.count] as const] : []
      })
    )
)

/** How often an effect runs each query of the ledger. */
const countsOf = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* queries
    yield* run
    const counts = [...(yield* queries)].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
    return new Map(counts.filter(([, count]) => count > 0))
  })

/** The queries of the ledger that an effect runs, by name. */
const queriesOf = <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.map(countsOf(run), (counts) => [...counts.keys()])

layerEach(ledger)("lanes that begin a step together", (it) => {
  it.effect("are read by one statement about what they contain, and one about rows that they do not know", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [first] = yield* insert(account(1), 1)
      const [second] = yield* insert(account(2), 2)
      const held = yield* lanes.claim(["evm"], 2)
      const reading = Effect.forEach(held, ({ hold }) => lanes.read(hold), { concurrency: "unbounded" })
      const counts = yield* countsOf(
        Effect.map(reading, (all) => {
          assert.sameDeepMembers(
            all.map(({ pending, pendingCount }) => [pending[0]?.id, pendingCount]),
            [
              [first, 1],
              [second, 2]
            ]
          )
        })
      )
      assert.deepStrictEqual([...counts.values()], [1, 1])
      assert.sameMembers([...counts.keys()], ["LaneReading.readAll", "TransactionsRepo.find"])
    })
  )
})

layerEach(ledger)("a poll of a lane", (it) => {
  it.effect("that changes nothing reads and saves the lane, and opens no transaction of the database", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      yield* world.poll()
      assert.sameMembers(yield* queriesOf(world.poll()), ["LaneReading.readAll", "LanesRepo.save"])
    })
  )

  it.effect("after one that confirmed a transaction does not ask the ledger what used its nonce", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      yield* world.accept(1, { notBefore: 3_600_000 })
      assert.notInclude(yield* queriesOf(world.poll()), "LaneContentsRepo.minedFrom")
    })
  )

  it.effect("that finds a receipt writes the transaction and its attempt in one statement", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.mine()
      assert.sameMembers(yield* queriesOf(world.poll()), [
        "LaneReading.readAll",
        "LanesRepo.save",
        "SharedWrites.write"
      ])
      assert.isDefined((yield* world.transaction(id)).mined)
    })
  )

  it.effect("after the first one of a lane does not ask a node for its chain again", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      const [node] = world.nodes
      yield* world.poll(2)
      assert.isDefined((yield* world.contents).stored.genesis)
      assert.strictEqual(node?.count("eth_chainId"), 1)
    })
  )

  it.effect("reads an ample balance every 12 seconds while nothing is pending", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      const [node] = world.nodes
      // The first poll also counts at the final height.
      const polls = () => [(node?.count("eth_getTransactionCount") ?? 0) - 1, node?.count("eth_getBalance")]
      yield* world.poll(11)
      assert.deepStrictEqual(polls(), [12, 1])
      yield* world.poll()
      assert.deepStrictEqual(polls(), [13, 2])
    })
  )

  it.effect("reads an ample balance no more often while a mined transaction waits for its confirmations", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ network: { required_confirmations: 6 } })
      const [node] = world.nodes
      for (let block = 0; block < 5; block++) {
        world.chain.mine()
        yield* world.poll()
        assert.strictEqual((yield* world.transaction(id)).state, "mined")
      }
      assert.strictEqual(node?.count("eth_getBalance"), 1)
    })
  )

  it.effect("reads the balance if a transaction is pending", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      yield* world.poll(2)
      world.chain.balance = 0n
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "insufficient_funds")
    })
  )

  it.effect("reads a balance that is not ample", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      world.chain.balance = 10n ** 15n
      yield* world.accept()
      yield* world.poll()
      const before = world.nodes[0]?.count("eth_getBalance") ?? 0
      yield* world.poll(3)
      assert.strictEqual(world.nodes[0]?.count("eth_getBalance"), before + 3)
    })
  )

  it.effect("with a head that is a block older than its other answers only ends a transaction later", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ network: { required_confirmations: 1 } })
      const [node] = world.nodes
      const older = () => {
        const { number, hash } = world.chain.blocks.at(-2) ?? assert.fail("there is no block")
        return { _tag: "Result", value: { number: `0x${number.toString(16)}`, hash } } as const
      }
      node?.lies.set("eth_getBlockByNumber", ([tag]) => (tag === "latest" ? older() : undefined))
      for (const state of ["mined", "mined", "confirmed"]) {
        world.chain.mine()
        yield* world.poll()
        assert.strictEqual((yield* world.transaction(id)).state, state)
      }
      assert.strictEqual((yield* world.lane).chainNonce, 1)
    })
  )
})
