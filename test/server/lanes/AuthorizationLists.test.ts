// Transactions with authorizations in the driver of a lane: what is asked before they are signed, which bytes leave, and what is read afterwards.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { NewTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { codeOf } from "../../../src/networks/evm/rules/Authorizations.ts"
import type { SignedAuthorization } from "../../../src/networks/evm/rules/Authorizations.ts"
import type { Evm } from "../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../src/networks/evm/rules/EvmRules.ts"
import { isTransactionOf } from "../../../src/server/ledger/LedgerEntries.ts"
import { addressOf, bytesOf } from "../../../src/testkit/Keys.ts"
import * as Blocks from "../../../src/testkit/chain/Blocks.ts"
import * as Wire from "../../../src/testkit/evm/Wire.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { paramsOf } from "./fake/Node.ts"
import * as World from "./fake/World.ts"

const userKey = bytesOf(`0x${"46".repeat(32)}`)
const user = addressOf(userKey)
const delegate = `0x${"de".repeat(20)}`
const data = `0x${"5ec2e7ca11".repeat(4)}`

const entryOf = (nonce = 0, address = delegate) => Wire.authorized({ chainId: 31_337, address, nonce }, userKey)

const carrying = (
  list: ReadonlyArray<SignedAuthorization> = [entryOf()],
  gas_limit?: bigint
): Partial<NewTransaction> => ({
  request: {
    to: user,
    value: 1n,
    data,
    authorization_list: list,
    ...(gas_limit === undefined ? {} : { gas_limit })
  },
  authorities: list.map(({ authority }) => authority)
})

const made = Effect.fnUntraced(function* (given: World.Given = {}) {
  const world = yield* World.make({
    providers: 2,
    network: { features: ["eip1559", "eip7702"] },
    policies: { allowed_delegates: [delegate] },
    ...given
  })
  const { chain } = world
  chain.others.set(user, { count: 0, pending: 0, code: "0x" })

  const mineAll = Effect.fnUntraced(function* (isSuccess = true) {
    for (let round = 0; round < 12; round++) {
      const { inFlight, pendingCount } = yield* world.contents
      if (inFlight.length + pendingCount === 0) return
      chain.mine(1, { isSuccess })
      yield* world.poll()
    }
    assert.fail("the lane does not end")
  })

  /** The code, and whether the delegation was there. */
  const endOf = Effect.fnUntraced(function* (id: TransactionId) {
    const stored = yield* (yield* Ledger).get(1, id)
    if (!isTransactionOf<Evm>(evmRules, stored)) return assert.fail("it is no transaction of evm")
    const { transaction } = stored
    const { authorizations = [] } = evmRules.show(transaction, { id, relayerId: stored.relayerId, from: stored.from })
    return [transaction.state, transaction.cause?.code, authorizations.map(({ delegated }) => delegated)]
  })

  const sent = () => [...chain.sent.values()]
  return { world, chain, mineAll, endOf, sent }
})

/** What was estimated of the call at a node: with its list, with overrides, or without either. */
const estimatesAt = (node: { readonly seen: ReadonlyArray<Parameters<typeof paramsOf>[0]> }) =>
  node.seen
    .filter(({ method }) => method === "eth_estimateGas")
    .flatMap((call) => {
      const [fields, , overrides] = paramsOf(call)
      const { authorizationList, data: given } = Object(fields)
      if (given !== data) return []
      if (authorizationList !== undefined) return ["list"]
      return overrides === undefined ? ["neither"] : ["overrides"]
    })

layerEach(memory)("a transaction with authorizations", (it) => {
  it.effect("has type 4 and its list, and shows that the delegation is there", () =>
    Effect.gen(function* () {
      const { world, endOf, mineAll, sent } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      const [bytes] = sent()
      assert.strictEqual(bytes?.fields["type"], "0x4")
      assert.deepStrictEqual(bytes?.authorizations, [entryOf()])
      assert.deepStrictEqual(yield* endOf(id), ["submitted", "in_pool", [null]])
      yield* mineAll()
      assert.deepStrictEqual(yield* endOf(id), ["confirmed", "confirmed", [true]])
    })
  )

  it.effect("whose call reverts keeps the delegation", () =>
    Effect.gen(function* () {
      const { world, endOf, mineAll } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      yield* mineAll(false)
      assert.deepStrictEqual(yield* endOf(id), ["failed", "reverted", [true]])
    })
  )

  it.effect("whose entry somebody uses before its signature is not sent, and has no nonce", () =>
    Effect.gen(function* () {
      const { world, chain, endOf, sent } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      chain.others.set(user, { count: 1, pending: 0, code: codeOf({ address: `0x${"bb".repeat(20)}` }) })
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["failed", "authorization_used", [null]])
      assert.lengthOf(sent(), 0)
      assert.strictEqual((yield* world.lane).nextNonce, 0)
    })
  )

  it.effect("whose entry somebody uses between its signature and its block succeeds without the delegation", () =>
    Effect.gen(function* () {
      const { world, chain, endOf, mineAll } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      chain.others.set(user, { count: 1, pending: 0, code: codeOf({ address: `0x${"bb".repeat(20)}` }) })
      yield* mineAll()
      assert.deepStrictEqual(yield* endOf(id), ["confirmed", "authorization_without_effect", [false]])
    })
  )

  it.effect("is sent although its entry is used, if the delegation is there", () =>
    Effect.gen(function* () {
      const { world, chain, endOf, mineAll } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      chain.others.set(user, { count: 1, pending: 0, code: codeOf({ address: delegate }) })
      yield* world.poll()
      yield* mineAll()
      assert.deepStrictEqual(yield* endOf(id), ["confirmed", "confirmed", [true]])
    })
  )

  it.effect("is not ended by one provider alone", () =>
    Effect.gen(function* () {
      const { world, endOf } = yield* made()
      const [first] = world.nodes
      const lie = ([address]: ReadonlyArray<unknown>) =>
        address === user ? ({ _tag: "Result", value: "0x9" } as const) : undefined
      first?.lies.set("eth_getTransactionCount", lie)
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["pending", "providers_unavailable", [null]])
      first?.lies.clear()
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["submitted", "in_pool", [null]])
    })
  )

  it.effect("that waits for its nonce is passed by others, and goes when its nonce is the next one", () =>
    Effect.gen(function* () {
      const { world, chain, endOf } = yield* made()
      const [id] = yield* world.accept(1, carrying([entryOf(2)]))
      const [other] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["pending", "authorization_ahead", [null]])
      assert.deepStrictEqual((yield* world.transaction(other)).state, "submitted")
      chain.others.set(user, { count: 2, pending: 0, code: "0x" })
      yield* world.poll()
      assert.strictEqual((yield* endOf(id))[0], "submitted")
    })
  )

  it.effect("of a busy account waits, and one of a relayer fails", () =>
    Effect.gen(function* () {
      const { world, chain, endOf } = yield* made()
      chain.others.set(user, { count: 0, pending: 2, code: "0x" })
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["pending", "authority_busy", [null]])
      world.relayers.add(user)
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["failed", "authority_is_relayer", [null]])
    })
  )

  it.effect("forgets what it has read of a block that is gone", () =>
    Effect.gen(function* () {
      const { world, chain, endOf, mineAll } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      chain.mine()
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["mined", "mined_waiting", [true]])
      chain.reorg(1)
      chain.others.set(user, { count: 1, pending: 0, code: "0x" })
      yield* world.poll()
      assert.strictEqual((yield* endOf(id))[0], "submitted")
      assert.deepStrictEqual((yield* endOf(id))[2], [null])
      yield* mineAll()
      assert.deepStrictEqual(yield* endOf(id), ["confirmed", "authorization_without_effect", [false]])
    })
  )

  it.effect("with a newer list is signed with that one, and only while it can be applied", () =>
    Effect.gen(function* () {
      const { world, chain, endOf, sent } = yield* made()
      const ledger = yield* Ledger
      const [id] = yield* world.accept(1, carrying([entryOf()], 100_000n))
      yield* world.poll()
      const newer = entryOf(0, `0x${"dd".repeat(20)}`)
      world.relayer = World.relayerOf({ allowed_delegates: [delegate, newer.address] })
      yield* ledger.replace(1, id, carrying([newer], 100_000n).request)
      yield* world.poll()
      assert.deepStrictEqual(sent().at(-1)?.authorizations, [newer])
      chain.others.set(user, { count: 1, pending: 0, code: "0x" })
      yield* ledger.replace(1, id, carrying([entryOf(0, delegate)], 110_000n).request)
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["submitted", "authorization_used", [null]])
      assert.deepStrictEqual(sent().at(-1)?.authorizations, [])
    })
  )

  it.effect("whose delegate the policy does not name any more is not signed", () =>
    Effect.gen(function* () {
      const { world, endOf, sent } = yield* made()
      const [id] = yield* world.accept(1, carrying())
      world.relayer = World.relayerOf({})
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["failed", "policy_changed", [null]])
      assert.lengthOf(sent(), 0)
    })
  )
})

layerEach(memory)("the gas of a call with authorizations", (it) => {
  const gasOf = (bytes: { readonly fields: Readonly<Record<string, unknown>> } | undefined) =>
    Number(bytes?.fields["gas"])
  const withMargin = (gas: number) => (gas * 6) / 5

  it.effect("is estimated with the list", () =>
    Effect.gen(function* () {
      const { world, sent } = yield* made()
      yield* world.accept(1, carrying())
      yield* world.poll()
      assert.strictEqual(gasOf(sent()[0]), withMargin(55_000))
      assert.deepStrictEqual(new Set(world.nodes.flatMap(estimatesAt)), new Set(["list"]))
    })
  )

  it.effect("is that of the next provider if the first one ignores lists", () =>
    Effect.gen(function* () {
      const { world, sent } = yield* made()
      const [first] = world.nodes
      if (first !== undefined) first.ignoresLists = true
      yield* world.accept(1, carrying())
      yield* world.poll()
      assert.strictEqual(gasOf(sent()[0]), withMargin(55_000))
    })
  )

  it.effect("is that with overrides, and the entries' own, if all providers ignore lists", () =>
    Effect.gen(function* () {
      const { world, sent } = yield* made()
      for (const node of world.nodes) Object.assign(node, { ignoresLists: true, takesOverrides: true })
      yield* world.accept(1, carrying())
      yield* world.poll()
      assert.strictEqual(gasOf(sent()[0]), withMargin(55_000))
      assert.notInclude(world.nodes.flatMap(estimatesAt), "neither")
    })
  )

  it.effect("is never that of the call alone: without either it fails without a nonce", () =>
    Effect.gen(function* () {
      const { world, endOf, sent } = yield* made()
      for (const node of world.nodes) node.ignoresLists = true
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["failed", "estimate_unavailable", [null]])
      assert.lengthOf(sent(), 0)
      assert.strictEqual((yield* world.lane).nextNonce, 0)
      assert.notInclude(world.nodes.flatMap(estimatesAt), "neither")
    })
  )

  it.effect("does not count overrides of a provider that ignores them", () =>
    Effect.gen(function* () {
      const { world, endOf } = yield* made()
      for (const node of world.nodes) {
        node.ignoresLists = true
        node.lies.set("eth_estimateGas", () => ({ _tag: "Result", value: "0x7530" }))
      }
      const [id] = yield* world.accept(1, carrying())
      yield* world.poll()
      assert.deepStrictEqual(yield* endOf(id), ["failed", "estimate_unavailable", [null]])
    })
  )

  it.effect("waits while a provider does not answer that may take lists into account", () =>
    Effect.gen(function* () {
      const { world, endOf } = yield* made()
      const [first, second] = world.nodes
      if (first === undefined || second === undefined) return assert.fail("there are two nodes")
      first.ignoresLists = true
      yield* world.accept()
      yield* world.poll()
      const [id] = yield* world.accept(1, carrying())
      second.lies.set("eth_estimateGas", () => ({ _tag: "RpcError", code: 429, message: "too many requests" }))
      yield* world.poll()
      assert.strictEqual((yield* endOf(id))[0], "pending")
      second.lies.clear()
      yield* world.poll()
      assert.strictEqual((yield* endOf(id))[0], "submitted")
    })
  )

  it.effect("is asked of private providers alone for a private call", () =>
    Effect.gen(function* () {
      const { world } = yield* made({ privately: 1 })
      yield* world.accept(1, { ...carrying(), route: { kind: "private" } })
      yield* world.poll()
      assert.lengthOf(world.nodes.flatMap(estimatesAt), 0)
      assert.deepStrictEqual(new Set(world.privateNodes.flatMap(estimatesAt)), new Set(["list"]))
      const bodies = JSON.stringify(world.nodes.map(({ seen }) => seen.map(({ method, params }) => [method, params])))
      assert.notInclude(bodies, data.slice(2))
      assert.notInclude(bodies, entryOf().r.slice(2))
    })
  )
})

/** Keeps the model of the chain honest: a stale entry is skipped. */
layerEach(memory)("the chain of these tests", (it) => {
  it.effect("applies an entry once", () =>
    Effect.gen(function* () {
      const { world, chain } = yield* made()
      yield* world.accept(1, carrying())
      yield* world.poll()
      chain.mine()
      assert.deepStrictEqual(chain.otherAt(user, chain.blocks), {
        count: 1,
        pending: 0,
        code: codeOf({ address: delegate })
      })
      assert.strictEqual(Blocks.countOf(chain.blocks), 1)
    })
  )
})
