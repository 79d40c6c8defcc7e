// Traces of equal bytes, and of what keeps a transaction from its signature. The numbers are those of the table in README.md of this
// folder.
import { Array, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { assert } from "@effect/vitest"
import { SolanaRelayer } from "../../../../src/domain/relayer/Relayer.ts"
import { maxSignaturesPerCommit } from "../../../../src/networks/core/TransactionValues.ts"
import { computeBudgetProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import * as LedgerRows from "../../../../testkit/LedgerRows.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { ledger, memory } from "../../../server/ledger/Fixtures.ts"
import { endsAs, prebuilt, pruned, shown, signedMemo, untilDead } from "./Ends.ts"
import * as World from "./World.ts"

const { memo, receiver, sol, transfer } = World

layerEach(memory)("equal bytes", (it) => {
  it.effect("44: of requests with their own compute budget wait for the next blockhash, and both are executed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const budget = {
        program_id: computeBudgetProgram,
        accounts: [],
        data: base64Of(Uint8Array.from([2, 64, 13, 3, 0]))
      }
      const request = { instructions: [budget, ...(transfer(world.address, sol).instructions ?? [])] }
      const ids = yield* world.accept(request, 2)
      yield* world.poll()
      const signed = yield* Effect.forEach(ids, (id) => world.transaction(id))
      assert.strictEqual(signed.filter(({ attempts }) => attempts.length === 1).length, 1)
      yield* world.finish
      for (const id of ids) assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.cluster.balanceOf(receiver), 2n * sol)
    })
  )

  it.effect("25: of a prebuilt request and another transaction end as `already_accepted`, and are executed once", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { request } = yield* signedMemo(world, "same")
      const [one, other] = yield* world.accept(request, 2, prebuilt)
      yield* world.finish
      const states = yield* Effect.forEach([one, other ?? one], (id) => shown(world, id))
      assert.deepStrictEqual(states, [
        ["confirmed", "confirmed", 1],
        ["failed", "already_accepted", 0]
      ])
      assert.strictEqual(world.cluster.successes(world.address), 1)
    })
  )

  it.effect("40: that the relayer has signed and that have landed are confirmed by that signature", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { hash, raw, request } = yield* signedMemo(world, "given")
      world.cluster.take(raw)
      world.cluster.produce(2)
      const [id] = yield* world.accept(request, 1, { facts: { ...prebuilt.facts, given: { hash } } })
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual((yield* world.transaction(id)).attempts[0]?.hash, hash)
      assert.strictEqual(world.cluster.successes(world.address), 1)
      assert.strictEqual(world.signatures(), 0)
    })
  )

  it.effect("40b: that the relayer has signed and that are canceled at once are never `canceled` if they land", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { hash, raw, request } = yield* signedMemo(world, "given")
      const [id] = yield* world.accept(request, 1, { facts: { ...prebuilt.facts, given: { hash } } })
      assert.strictEqual((yield* world.cancel(id)).transaction.state, "pending")
      world.cluster.take(raw)
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual((yield* world.transaction(id)).intent, "cancel")
      assert.strictEqual(world.signatures(), 0)
    })
  )

  it.effect("40c: that the relayer has signed, and whose blockhash died, expire after the proof", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { hash, request } = yield* signedMemo(world, "given")
      world.cluster.swallows = true
      world.cluster.produce(160)
      const facts = { isPrebuilt: true, isRefreshable: true, given: { hash } }
      const [id] = yield* world.accept(request, 1, { facts })
      yield* world.poll(6)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "in_pool", 1])
      yield* endsAs(world, id, "expired", "blockhash_expired", 1)
      assert.deepStrictEqual([...world.cluster.sent.keys()], [hash])
      assert.strictEqual(world.signatures(), 0)
    })
  )
})

layerEach(memory)("bytes that a caller has, that landed and that nodes forget", (it) => {
  for (const [name, blocks] of [
    ["40d: are not dead for a node that has lost the blocks of their whole life", 2],
    ["40e: the same if their blockhash was dead when they arrived", 160]
  ] as const) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const world = yield* World.make({ providers: 2 })
        const { hash, raw, request } = yield* signedMemo(world, "given")
        world.cluster.take(raw)
        world.cluster.produce(blocks)
        const facts = { isPrebuilt: true, isRefreshable: true, given: { hash } }
        const younger = yield* signedMemo(world, "younger")
        for (const node of world.nodes) pruned(world, node, younger.hash)
        const [id] = yield* world.accept(request, 1, { facts })
        yield* world.poll(2 * untilDead)
        assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
        for (const node of world.nodes) node.lies.clear()
        yield* endsAs(world, id, "confirmed", "confirmed", 1)
        assert.strictEqual(world.signatures(), 0)
      })
    )
  }
})

layerEach(memory)("what waits", (it) => {
  it.effect("29: a provider of another cluster is not believed: nothing is sent to it", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [first] = yield* world.accept(memo("first"))
      yield* world.finish
      assert.strictEqual((yield* world.transaction(first)).state, "confirmed")
      const [id] = yield* world.accept(memo("second"))
      const sent = world.cluster.sent.size
      world.nodes[0]?.lies.set("getGenesisHash", () => ({ result: receiver }))
      yield* world.claim
      yield* world.poll(3)
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "chain_changed", 0])
      assert.strictEqual(world.cluster.sent.size, sent)
    })
  )

  it.effect("36: a balance below the reserve holds the rest, so that the chain refuses none of those in flight", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ funds: 2n * sol })
      const ids = yield* world.accept(transfer(world.address, sol), 3)
      yield* world.poll()
      const codes = yield* Effect.forEach(ids, (id) => Effect.map(world.transaction(id), ({ cause }) => cause?.code))
      assert.deepStrictEqual(codes.toSorted(), ["in_pool", "insufficient_funds", "queued"].toSorted())
      yield* world.poll(20)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("37: the 65th waits for a place in the window; rows that are seen on the chain free theirs", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.cluster.swallows = true
      const ids = yield* world.accept(memo("many"), 70)
      yield* world.poll(2)
      const rows = yield* Effect.forEach(ids, (id) => world.transaction(id))
      assert.strictEqual(rows.filter(({ attempts }) => attempts.length > 0).length, 64)
      assert.isTrue(rows.some(({ cause }) => cause?.code === "lane_window_full"))
      world.cluster.swallows = false
      yield* world.poll(4)
      const later = yield* Effect.forEach(ids, (id) => world.transaction(id))
      assert.isTrue(later.every(({ attempts }) => attempts.length === 1))
    })
  )

  it.effect("37b: 1,000 are in flight if the network allows it, and new bytes for all of them land once", () =>
    Effect.gen(function* () {
      const [groups, window] = [10, 1000]
      const world = yield* World.make({ providers: 2, window })
      world.cluster.swallows = true
      const accepted = yield* Effect.forEach(Array.range(1, groups), (group) =>
        world.accept(memo(`group ${group}`), window / groups + 1)
      )
      const ids = accepted.flat()
      const rows = Effect.forEach(ids, (id) => world.transaction(id))
      // A step signs as many as one commit takes.
      yield* world.poll(Math.ceil(ids.length / maxSignaturesPerCommit) + 1)
      const waiting = (yield* rows).filter(({ attempts }) => attempts.length === 0)
      assert.strictEqual(waiting.length, groups)
      assert.isTrue(waiting.every(({ state }) => state === "pending"))
      assert.isTrue(waiting.some(({ cause }) => cause?.code === "lane_window_full"))
      // Few steps, because each of them sends 1,000 transactions again.
      yield* world.poll(3, 100)
      world.cluster.swallows = false
      yield* world.poll(3, 40)
      yield* world.finish
      const ended = yield* rows
      assert.strictEqual(ended.filter(({ state }) => state === "confirmed").length, ids.length)
      assert.strictEqual(ended.filter(({ attempts }) => attempts.length === 2).length, window)
      assert.strictEqual(world.cluster.successes(world.address), ids.length)
    })
  )

  it.effect("is not what a simulation shows if another transaction landed after the accounts were read", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("beside others"))
      const [node = assert.fail("there is no node")] = world.nodes
      const own = "getMultipleAccounts"
      // It shows the accounts as they were before the blocks of the step.
      const behind: NonNullable<ReturnType<typeof node.lies.get>> = (params) => {
        node.lies.delete(own)
        node.lag = 6
        const answer = node.answer(own, params)
        node.lag = 0
        node.lies.set(own, behind)
        return answer
      }
      node.lies.set(own, behind)
      for (let step = 0; step < 4; step++) {
        const account = world.cluster.accountOf(world.address) ?? assert.fail("the relayer has no account")
        world.cluster.put({ [world.address]: { ...account, lamports: account.lamports - sol } })
        yield* world.poll()
      }
      assert.strictEqual((yield* world.transaction(id)).state, "pending")
      node.lies.clear()
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )

  it.effect("39: a paused relayer finishes what is alive and signs no new bytes; resumed, it does", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("paused"))
      world.cluster.swallows = true
      yield* world.poll()
      const pause = (paused: boolean) => {
        world.relayer = SolanaRelayer.make({ ...world.relayer, paused })
      }
      pause(true)
      yield* world.poll(untilDead + 2)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "relayer_paused", 1])
      pause(false)
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "confirmed", 2)
    })
  )

  it.effect("31: a policy that no longer allows the transaction ends it after the proof, not before", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("narrowed"))
      world.cluster.swallows = true
      yield* world.poll()
      world.relayer = world.relayerOf({ allowed_programs: [computeBudgetProgram] })
      yield* world.poll(20)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      yield* endsAs(world, id, "failed", "program_not_allowed", 1)
    })
  )
})

layerEach(memory)("41: a lane of solana", (it) => {
  it.effect(
    "is not claimed by a process that does not know solana, which goes on with evm; a newer process sends",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [id] = yield* world.accept()
        yield* LedgerRows.accept(LedgerRows.account(2), 1)
        const lanes = yield* LaneLedger
        const older = yield* lanes.claim(["evm"], 10)
        assert.deepStrictEqual(
          older.map(({ stored }) => stored.chain),
          ["evm:11155111"]
        )
        assert.isFalse(yield* lanes.hasWork(["evm"]))
        assert.isTrue(yield* lanes.hasWork(["solana"]))
        yield* endsAs(world, id, "confirmed", "confirmed", 1)
      })
  )
})

layerEach(ledger)("41: a lane of solana in a database", (it) => {
  it.effect("continues without a change of its transactions if an earlier version wrote its rows", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(2)
      const before = yield* world.transaction(id)
      // What the first version with solana stored: no counters, and no facts but these two.
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE lanes SET counters = NULL`
      yield* sql`UPDATE transactions SET facts = '{"isPrebuilt":false,"isRefreshable":true}' WHERE id = ${id}`
      yield* world.claim
      assert.deepStrictEqual(yield* world.transaction(id), before)
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )
})

layerEach(memory)("a new lane", (it) => {
  it.effect("asks a node for the hash of its first block once", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept()
      yield* world.poll(3)
      assert.isDefined((yield* world.contents).stored.genesis)
      assert.strictEqual(world.nodes[0]?.count("getGenesisHash"), 1)
    })
  )
})
