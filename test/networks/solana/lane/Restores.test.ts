// A database that was put back from a copy: what landed is found on the chain, and nothing else is signed before an operator answers.
import { Effect, Predicate, Result } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { listPage } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import { LedgerMemory } from "../../../../src/server/ledger/memory/LedgerMemory.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import type { Node } from "../../../../testkit/solana/Node.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { addressOf, transferOf } from "../../../testkit/solana/World.ts"
import { endsAs, hideStatuses, pruned, release, shown, signedMemo } from "./Ends.ts"
import * as World from "./World.ts"

const { memo, receiver, sol, transfer } = World

/** Steps of five blocks until two lives of a blockhash and the finality of their end are over. */
const untilBound = 75

/** A world in which one transfer has landed and is forgotten, and one memo was never signed. */
const restored = Effect.fnUntraced(function* (given: World.Given = { providers: 2 }) {
  const world = yield* World.make(given)
  const [landed] = yield* world.accept(transfer(world.address, sol))
  yield* world.finish
  assert.strictEqual(world.cluster.balanceOf(receiver), sol)
  yield* world.forget(landed)
  const [never] = yield* world.accept(memo("never"))
  yield* world.restore
  yield* world.claim
  return { world, landed, never }
})

/** A transfer of version 1 to the relayer, by an account that is not the relayer's. Returns its signature. */
const lamportOfStranger = ({ address, cluster }: { readonly address: string; readonly cluster: Cluster.Cluster }) =>
  Effect.sync(() => {
    cluster.fund(addressOf(1), sol)
    const config = { computeUnitLimit: 1000, loadedBytes: 10_000 }
    const taken = cluster.take(transferOf(cluster, 1, address, 1n, config))
    cluster.produce()
    return Result.getOrThrow(taken)
  })

/** The node gives bytes of this transaction that nobody can read. */
const givesGarbage = (node: Node, signature: string) =>
  node.lies.set("getTransaction", ([of, options]) =>
    of === signature && Predicate.hasProperty(options, "encoding") && options.encoding === "base64"
      ? { result: { slot: 1, transaction: ["AQID", "base64"], meta: null } }
      : undefined
  )

layerEach(memory)("after a restore", (it) => {
  it.effect("a transaction that landed is adopted from the list of the address, and is not sent again", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const sent = world.cluster.sent.size
      yield* world.poll(untilBound)
      const { attempts, state } = yield* world.transaction(landed)
      assert.strictEqual(state, "confirmed")
      assert.lengthOf(attempts, 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      assert.strictEqual(world.cluster.sent.size, sent)
    })
  )

  it.effect("what was adopted is not dead for nodes that have lost its block", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const younger = yield* signedMemo(world, "younger")
      for (const node of world.nodes) hideStatuses(world, node)
      for (let step = 0; step < untilBound; step++) {
        if ((yield* world.transaction(landed)).cause?.code === "landing_unproven") break
        yield* world.poll()
      }
      for (const node of world.nodes) pruned(world, node, younger.hash)
      yield* world.poll(4)
      // It would wait for an answer with `restored_unproven` if no block could have it.
      assert.deepStrictEqual(yield* shown(world, landed), ["submitted", "landing_unproven", 1])
      for (const { lies } of world.nodes) lies.clear()
      yield* endsAs(world, landed, "confirmed", "confirmed", 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("nothing is read, sent or answered while bytes of the lost process can land", () =>
    Effect.gen(function* () {
      const { landed, never, world } = yield* restored()
      yield* world.poll(30)
      for (const id of [landed, never]) {
        const { attempts, cause, state } = yield* world.transaction(id)
        assert.deepStrictEqual([state, attempts.length, cause?.code], ["pending", 0, "restored_unproven"])
        const conflict = yield* Effect.flip(world.answer("send", id))
        assert.include(conflict.message, "can land until block height")
      }
    })
  )

  it.effect("what left no trace waits for an operator, whose answer sends it or gives it up", () =>
    Effect.gen(function* () {
      const { never, world } = yield* restored()
      const [other] = yield* world.accept(memo("new"))
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(other)).state, "confirmed", "what is new is sent meanwhile")
      const held = yield* world.transaction(never)
      assert.strictEqual(held.cause?.code, "restored_unproven")
      assert.isAbove(held.cause?.figures.slot ?? 0, 0, "it left no trace up to this slot")
      yield* world.answer("send", never)
      yield* world.finish
      assert.strictEqual((yield* world.transaction(never)).state, "confirmed")
    })
  )

  it.effect("a transaction with bytes that are dead waits as well, and ends if the operator gives it up", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      world.cluster.swallows = true
      const [id] = yield* world.accept(memo("swallowed"))
      yield* world.poll(2)
      yield* world.restore
      yield* world.claim
      yield* world.poll(untilBound)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.cause?.code, held.attempts.length], ["restored_unproven", 1])
      yield* world.answer("give_up", id)
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "failed")
      assert.strictEqual(world.cluster.successes(world.address), 0)
    })
  )

  it.effect("of two equal requests, one transaction on the chain is that of the older one", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const [equal] = yield* world.accept(transfer(world.address, sol))
      yield* world.restore
      yield* world.claim
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
      assert.strictEqual((yield* world.transaction(equal)).state, "pending")
    })
  )

  it.effect("providers whose lists differ hold it until they agree", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      world.nodes[0]?.lies.set("getSignaturesForAddress", () => ({ result: [] }))
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).cause?.code, "restored_unproven")
      world.nodes[0]?.lies.clear()
      yield* world.finish
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
    })
  )

  it.effect("a list that lacks what another one has holds it until they agree", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [landed] = yield* world.accept(transfer(world.address, sol))
      yield* world.accept(memo("listed by both"))
      yield* world.finish
      const [{ hash } = assert.fail("no attempt")] = (yield* world.transaction(landed)).attempts
      yield* world.forget(landed)
      yield* world.restore
      yield* world.claim
      world.nodes[0]?.lies.set("getSignaturesForAddress", () => {
        const finalized = world.cluster.blocks.slice(0, -Cluster.finality)
        const own = finalized.flatMap(({ transactions, slot }) =>
          transactions.map(({ signature }) => ({ signature, slot }))
        )
        return { result: own.filter(({ signature }) => signature !== hash).toReversed() }
      })
      yield* world.poll(untilBound)
      assert.deepStrictEqual(yield* shown(world, landed), ["pending", "restored_unproven", 0])
      world.nodes[0]?.lies.clear()
      yield* world.finish
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
    })
  )

  // Bytes that the copy knows become final in the first look after the restore. What landed before them is not in the copy.
  for (const [what, hasAnchor] of [
    ["no final signature", false],
    ["an older final signature", true]
  ] as const) {
    it.effect(`what landed before bytes of a copy with ${what} is adopted, and is not sent again`, () =>
      Effect.gen(function* () {
        const world = yield* World.make({ providers: 2 })
        yield* world.accept(memo("oldest"))
        yield* world.finish
        const { rows } = yield* LedgerMemory
        const [lane] = rows.tables().accounts.values()
        const { account } = lane ?? assert.fail("there is no lane")
        const { counters, ...withoutCounters } = account
        const [landed] = yield* world.accept(transfer(world.address, sol))
        yield* world.finish
        assert.strictEqual(world.cluster.balanceOf(receiver), sol)
        world.cluster.swallows = true
        const [known] = yield* world.accept(memo("known"))
        yield* world.poll(2)
        yield* world.forget(landed)
        const present = rows.tables().accounts.get(lane?.id ?? assert.fail("there is no lane")) ?? assert.fail("no row")
        rows.setAccount({
          ...present,
          account: hasAnchor && counters !== undefined ? { ...withoutCounters, counters } : withoutCounters
        })
        yield* world.restore
        release(world)
        world.cluster.produce(Cluster.finality + 5)
        yield* world.claim
        // The first page of the list begins with the known bytes and has nothing below them.
        const [{ hash } = assert.fail("no attempt")] = (yield* world.transaction(known)).attempts
        const slot = world.cluster.landed(world.cluster.blocks, hash)?.block.slot
        for (const { lies } of world.nodes) {
          lies.set("getSignaturesForAddress", ([, options]) =>
            Predicate.hasProperty(options, "before") && options.before === hash
              ? undefined
              : { result: Array.from({ length: listPage.entries }, () => ({ signature: hash, slot })) }
          )
        }
        yield* world.poll(untilBound)
        for (const { lies } of world.nodes) lies.clear()
        yield* world.finish
        assert.strictEqual((yield* world.transaction(known)).state, "confirmed")
        assert.deepStrictEqual(yield* shown(world, landed), ["confirmed", "confirmed", 1])
        assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      })
    )
  }

  it.effect("two equal requests that have both landed are adopted, one transaction each", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const ids = yield* world.accept(transfer(world.address, sol), 2)
      yield* world.finish
      assert.strictEqual(world.cluster.balanceOf(receiver), 2n * sol)
      for (const id of ids) yield* world.forget(id)
      yield* world.restore
      yield* world.claim
      const sent = world.cluster.sent.size
      yield* world.poll(untilBound)
      for (const id of ids) assert.deepStrictEqual(yield* shown(world, id), ["confirmed", "confirmed", 1])
      assert.strictEqual(world.cluster.sent.size, sent)
      assert.strictEqual(world.cluster.balanceOf(receiver), 2n * sol)
    })
  )

  it.effect("a list without its end is not believed to be read, although all providers agree", () =>
    Effect.gen(function* () {
      const { landed, never, world } = yield* restored()
      // The list of an account has an entry: somebody has funded it.
      for (const { lies } of world.nodes) lies.set("getSignaturesForAddress", () => ({ result: [] }))
      yield* world.poll(untilBound)
      for (const id of [landed, never]) {
        assert.strictEqual((yield* world.transaction(id)).cause?.code, "restored_unproven")
        yield* Effect.flip(world.answer("send", id))
      }
      for (const { lies } of world.nodes) lies.clear()
      yield* world.finish
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("what landed is found although newer own transactions fill the first page of the list", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const sent = Effect.fnUntraced(function* (text: string) {
        const [id] = yield* world.accept(memo(text))
        yield* world.poll(12)
        const { attempts, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed")
        return attempts[0]?.hash ?? ""
      })
      const [first, second] = [yield* sent("first"), yield* sent("second")]
      for (const node of world.nodes) {
        node.lies.set("getSignaturesForAddress", ([, options]) => {
          const before = Predicate.hasProperty(options, "before") ? options.before : undefined
          if (before === second) return undefined
          const slotOf = (hash: string) => world.cluster.landed(world.cluster.blocks, hash)?.block.slot
          const page = [second, ...Array.from({ length: listPage.entries - 1 }, () => first)]
          return { result: page.map((signature) => ({ signature, slot: slotOf(signature) })) }
        })
      }
      yield* world.poll(untilBound)
      for (const { lies } of world.nodes) lies.clear()
      yield* endsAs(world, landed, "confirmed", "confirmed", 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("a list that ends above what the copy knows is not believed before ten minutes", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 1 })
      yield* world.accept(memo("known"))
      yield* world.finish
      const [landed] = yield* world.accept(transfer(world.address, sol))
      yield* world.finish
      yield* world.forget(landed)
      const [never] = yield* world.accept(memo("never"))
      yield* world.restore
      yield* world.claim
      const [node = assert.fail("no node")] = world.nodes
      const dust = world.cluster.fund(world.address, 1n)
      const slot = world.cluster.blocks.at(-1)?.slot ?? 0
      node.lies.set("getSignaturesForAddress", () => ({ result: [{ signature: dust, slot }] }))
      yield* world.poll(untilBound)
      for (const id of [landed, never]) {
        const { figures } = (yield* world.transaction(id)).cause ?? assert.fail("no cause")
        assert.isUndefined(figures.slot, "no list has shown what landed")
      }
      yield* TestClock.adjust("10 minutes")
      yield* world.poll(10)
      const { figures } = (yield* world.transaction(never)).cause ?? assert.fail("no cause")
      assert.isDefined(figures.slot, "no provider has it any more: an operator may answer")
    })
  )

  it.effect("a lamport that a stranger sends with version 1 does not hold what was restored", () =>
    Effect.gen(function* () {
      const { landed, never, world } = yield* restored()
      yield* lamportOfStranger(world)
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
      yield* world.answer("give_up", never)
      assert.strictEqual((yield* world.transaction(never)).state, "failed")
    })
  )

  it.effect("a transaction of version 1 that landed is adopted, and a stranger's equal one is not", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [landed] = yield* world.accept({ ...transfer(world.address, sol), version: 1 })
      yield* world.finish
      yield* world.forget(landed)
      yield* lamportOfStranger(world)
      yield* world.restore
      yield* world.claim
      yield* endsAs(world, landed, "confirmed", "confirmed", 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("a stranger's transaction of a later version than the service reads does not hold what was restored", () =>
    Effect.gen(function* () {
      const { landed, never, world } = yield* restored()
      world.cluster.landLater(2, [addressOf(1), world.address])
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
      yield* world.answer("give_up", never)
      assert.strictEqual((yield* world.transaction(never)).state, "failed")
    })
  )

  it.effect("a transaction that no provider shows in any version is a stranger's if they name a later version", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const signature = world.cluster.landLater(2, [addressOf(1), world.address])
      const message = "Transaction version (2) is not supported by the requesting client."
      for (const node of world.nodes) {
        node.lies.set("getTransaction", ([of]) =>
          of === signature ? { error: { code: -32_015, message } } : undefined
        )
      }
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
    })
  )

  it.effect("a later version is known from providers that take no question for any version", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      world.cluster.landLater(2, [addressOf(1), world.address])
      for (const node of world.nodes) {
        node.lies.set("getTransaction", ([, options]) =>
          Predicate.hasProperty(options, "maxSupportedTransactionVersion") &&
          options.maxSupportedTransactionVersion === 127
            ? { error: { code: -32_602, message: "Invalid params" } }
            : undefined
        )
      }
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
    })
  )

  it.effect("bytes that cannot be read are a stranger's if another account paid for them", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const signature = yield* lamportOfStranger(world)
      for (const node of world.nodes) givesGarbage(node, signature)
      yield* world.poll(untilBound)
      assert.strictEqual((yield* world.transaction(landed)).state, "confirmed")
    })
  )

  it.effect("bytes that cannot be read hold what was restored if the relayer paid for them", () =>
    Effect.gen(function* () {
      const { landed, never, world } = yield* restored()
      const own = yield* signedMemo(world, "own")
      world.cluster.take(own.raw)
      for (const node of world.nodes) givesGarbage(node, own.hash)
      yield* world.poll(untilBound)
      assert.include((yield* Effect.flip(world.answer("give_up", never))).message, "was not read yet")
      for (const node of world.nodes) node.lies.clear()
      yield* world.poll(5)
      yield* world.answer("give_up", never)
      yield* endsAs(world, landed, "confirmed", "confirmed", 1)
    })
  )

  it.effect("one of two providers cannot call a transaction of the relayer a stranger's", () =>
    Effect.gen(function* () {
      const { landed, world } = yield* restored()
      const [{ hash } = assert.fail("nothing landed")] = world.cluster.blocks
        .flatMap(({ transactions }) => transactions)
        .filter(({ wire }) => wire.message.keys[0] === world.address)
        .map(({ signature }) => ({ hash: signature }))
      const [liar, other] = world.nodes
      const message = "Transaction version (2) is not supported by the requesting client."
      liar?.lies.set("getTransaction", ([of]) => (of === hash ? { error: { code: -32_015, message } } : undefined))
      other?.lies.set("getTransaction", ([of]) => (of === hash ? { result: null } : undefined))
      yield* world.poll(untilBound)
      assert.deepStrictEqual(yield* shown(world, landed), ["pending", "restored_unproven", 0])
      other?.lies.clear()
      yield* endsAs(world, landed, "confirmed", "confirmed", 1)
    })
  )

  it.effect("a copy of a copy is not believed to be read", () =>
    Effect.gen(function* () {
      const { never, world } = yield* restored()
      yield* world.poll(untilBound)
      yield* world.restore
      yield* world.claim
      yield* world.poll(2)
      assert.include((yield* Effect.flip(world.answer("send", never))).message, "can land until")
    })
  )
})
