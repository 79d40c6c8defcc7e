// Traces in which foreign transactions make the list of the address long: a look reads it page by page, and the next look goes on.
// README.md of this folder has the numbers of the traces.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { encodeBase58 } from "../../../../src/networks/solana/rules/Wire.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { heldBack, prebuilt, shown, signedMemo, untilDead } from "./Ends.ts"
import { memo } from "./World.ts"

layerEach(memory)("the list of the address", (it) => {
  /** Foreign transactions that list the relayer, in a slot in which the bytes could have landed. */
  const crowded = Effect.fnUntraced(function* (count: number) {
    const { id, world } = yield* heldBack()
    const [{ offer } = assert.fail("no attempt")] = (yield* world.transaction(id)).attempts
    const foreign = Array.from({ length: count }, (_, index) => ({
      signature: encodeBase58(
        Uint8Array.from([...new Uint8Array(60).fill(9), ...new Uint8Array(Uint32Array.of(index).buffer)])
      ),
      slot: offer.signedSlot + 2
    }))
    const [node = assert.fail("no node")] = world.nodes
    let pages = 0
    node.lies.set("getSignaturesForAddress", ([, options]) => {
      const { before } = options as { readonly before?: string }
      const finalized = world.cluster.blocks.slice(0, -Cluster.finality)
      const own = finalized
        .flatMap(({ transactions, slot }) => transactions.map(({ signature }) => ({ signature, slot })))
        .toReversed()
      const all = [...foreign, ...own].toSorted((one, other) => other.slot - one.slot)
      const from = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1
      pages += 1
      return { result: all.slice(from, from + 1000) }
    })
    return {
      id,
      world,
      node,
      pagesOf: <A, E, R>(run: Effect.Effect<A, E, R>) =>
        Effect.suspend(() => {
          pages = 0
          return Effect.map(run, () => pages)
        })
    }
  })

  it.effect("43: is read page by page when foreign transactions make it thousands of entries long", () =>
    Effect.gen(function* () {
      const { id, world } = yield* crowded(5000)
      yield* world.poll(untilDead + 8)
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
    })
  )

  it.effect(
    "43b: is continued by the next look if it is longer than one look may read, and the explanation has the count",
    () =>
      Effect.gen(function* () {
        const { id, pagesOf, world } = yield* crowded(25_000)
        yield* world.poll(untilDead - 6)
        let first = 0
        while (first === 0) first = yield* pagesOf(world.poll())
        assert.strictEqual(first, 20)
        const { attempts, cause } = yield* world.transaction(id)
        assert.deepStrictEqual([cause?.code, attempts.length], ["landing_unproven", 1])
        // Each page after the first one begins with the last entry of the page above it.
        assert.include(cause?.figures.error ?? "", `${20 * 1000 - 19} of its entries were read so far`)
        // The look reads new entries, then the older rest. A single provider must repeat its proof after ten seconds.
        assert.strictEqual(yield* pagesOf(world.poll()), 7)
        yield* world.poll(5)
        assert.lengthOf((yield* world.transaction(id)).attempts, 2)
      })
  )

  it.effect("43c: keeps the pages that a look has read when the next page does not arrive", () =>
    Effect.gen(function* () {
      const { id, node, pagesOf, world } = yield* crowded(12_000)
      yield* world.poll(untilDead - 6)
      let asked = 0
      const list = node.lies.get("getSignaturesForAddress") ?? assert.fail("no list")
      node.lies.set("getSignaturesForAddress", (params) => {
        const answer = list(params)
        asked += 1
        return asked === 8 ? { error: { code: -32_005, message: "does not answer" } } : answer
      })
      let pages = 0
      while (pages === 0) pages = yield* pagesOf(world.poll())
      assert.strictEqual(pages, 8)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
      assert.strictEqual(yield* pagesOf(world.poll()), 7)
      yield* world.poll(5)
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
    })
  )

  it.effect("43d: proves nothing if it lacks an own transaction, also if hundreds of others came after that one", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack()
      const [{ hash } = assert.fail("no attempt")] = (yield* world.transaction(id)).attempts
      world.cluster.keepsBack = (signature) => signature === hash
      world.cluster.swallows = false
      const [first] = yield* world.accept(memo("first"))
      yield* world.poll(2)
      const [{ hash: lacked } = assert.fail("no attempt")] = (yield* world.transaction(first)).attempts
      yield* world.accept(memo("later"), 100)
      const [node = assert.fail("no node")] = world.nodes
      node.lies.set("getSignaturesForAddress", ([, options]) => {
        const { before } = options as { readonly before?: string }
        assert.isUndefined(before)
        const finalized = world.cluster.blocks.slice(0, -Cluster.finality)
        const own = finalized.flatMap(({ transactions, slot }) =>
          transactions.map(({ signature }) => ({ signature, slot }))
        )
        return { result: own.filter(({ signature }) => signature !== lacked).toReversed() }
      })
      yield* world.poll(untilDead + 8)
      assert.strictEqual((yield* world.transaction(first)).state, "confirmed")
      const { attempts, cause } = yield* world.transaction(id)
      assert.deepStrictEqual([cause?.code, attempts.length], ["landing_unproven", 1])
      assert.include(cause?.figures.error ?? "", "does not show a complete list")
      node.lies.clear()
      yield* world.poll(8)
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
    })
  )

  it.effect("43e: need not have a transaction that only one provider has shown, and that has expired since", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 2 })
      const memoOf = yield* signedMemo(world, "expires")
      const [other] = yield* world.accept(memoOf.request, 1, prebuilt)
      yield* world.poll(2)
      const [, liar = assert.fail("no node")] = world.nodes
      liar.lies.set("getSignatureStatuses", ([signatures]) => ({
        result: {
          context: { slot: 10 ** 9 },
          value: (signatures as ReadonlyArray<string>).map((signature) =>
            signature === memoOf.hash
              ? { slot: world.cluster.blocks.length, confirmations: null, err: null, confirmationStatus: "finalized" }
              : null
          )
        }
      }))
      yield* world.poll(untilDead + 8)
      assert.isDefined((yield* world.transaction(other)).mined)
      liar.lies.clear()
      yield* world.poll(8)
      const expired = yield* world.transaction(other)
      assert.deepStrictEqual([expired.state, expired.mined], ["expired", undefined])
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
    })
  )
})
