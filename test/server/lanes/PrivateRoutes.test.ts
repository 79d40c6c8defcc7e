// Private transactions in the driver of a lane: which URL gets their bytes, their calls and their hashes. The body of each request to a normal URL
// is searched.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { seenPublicly } from "../../../src/networks/evm/lane/EvmPoll.ts"
import type { NewTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Blocks from "../../../src/testkit/chain/Blocks.ts"
import * as PrivateEndpoint from "../../../testkit/PrivateEndpoint.ts"
import { memory } from "../ledger/Fixtures.ts"
import { parse } from "./fake/Chain.ts"
import type { Bytes } from "./fake/Chain.ts"
import type { Hex } from "./fake/Hex.ts"
import { paramsOf } from "./fake/Node.ts"
import type { Node } from "./fake/Node.ts"
import * as World from "./fake/World.ts"

const { address, receiver } = World

/** What a secret call does. No other request has these digits. */
const secretData = `0x${"5ec2e7ca11".repeat(4)}`

const secret: Partial<NewTransaction> = {
  route: { kind: "private" },
  request: { to: receiver, value: 1n, data: secretData, gas_limit: 60_000n }
}
const falling: Partial<NewTransaction> = { ...secret, route: { kind: "private", fallbackAfter: 60_000 } }

interface Shown extends Bytes {
  readonly data: string
  readonly sender: string
}

const shownOf = (bytes: Bytes): Shown => ({ ...bytes, data: String(bytes.fields["input"]), sender: address })

const made = Effect.fnUntraced(function* (manners: Partial<PrivateEndpoint.Manners> = {}, given: World.Given = {}) {
  const world = yield* World.make({ providers: 2, privately: 1, ...given })
  const { chain } = world
  const raw = new Map<string, string>()
  const failing = new Set<string>()
  const endpoint = PrivateEndpoint.make<Shown>(
    {
      count: () => Blocks.countOf(chain.blocks),
      height: () => chain.blocks.length - 1,
      publish: (bytes) => void (chain.pool = new Map([...chain.pool, [bytes.nonce, bytes]])),
      reverts: ({ hash }) => failing.has(hash)
    },
    manners
  )
  for (const node of world.privateNodes) {
    node.lies.set("eth_sendRawTransaction", ([bytes]) => {
      const parsed = shownOf(parse(bytes as Hex))
      raw.set(parsed.hash, String(bytes))
      const answer = endpoint.offer(parsed)
      if (answer === undefined) return { _tag: "RpcError", code: -32000, message: "service unavailable" }
      return "hash" in answer
        ? { _tag: "Result", value: answer.hash }
        : { _tag: "RpcError", code: -32000, message: answer.error }
    })
  }

  const bodies = (): string =>
    [...world.nodes, ...world.ownNodes]
      .flatMap(({ seen }) => seen.map(({ method, params }) => JSON.stringify([method, params])))
      .join("\n")
      .toLowerCase()

  /** No normal URL has got anything of the secret call: its bytes, its call, or a hash of it. */
  const isSecret = (what: string): void => {
    const found = bodies()
    assert.notInclude(found, secretData.slice(2), `${what}: the call`)
    for (const [hash, bytes] of raw) {
      if (!bytes.includes(secretData.slice(2))) continue
      assert.notInclude(found, bytes.slice(2), `${what}: the bytes`)
      assert.notInclude(found, hash.slice(2), `${what}: the hash`)
    }
  }

  /** A block of the endpoint, or an empty one. */
  const include = (): void => chain.include(endpoint.due().map((bytes) => ({ bytes, isSuccess: true })))

  /** Polls while the call stays secret. */
  const wait = Effect.fnUntraced(function* (times: number, block: () => void = () => chain.include([])) {
    for (let done = 0; done < times; done++) {
      yield* world.poll()
      isSecret(`poll ${done}`)
      block()
    }
  })

  /** Blocks and polls until nothing is open. */
  const finish = Effect.fnUntraced(function* () {
    for (let round = 0; round < 30; round++) {
      const { inFlight, pendingCount } = yield* world.contents
      if (inFlight.length + pendingCount === 0) return
      const due = endpoint.due()
      if (due.length > 0) include()
      else chain.mine()
      yield* world.poll()
    }
    assert.fail("the lane does not end")
  })

  return { world, endpoint, failing, isSecret, include, wait, finish, raw }
})

const sendsTo = (node: { readonly seen: ReadonlyArray<{ readonly method: string }> } | undefined): number =>
  node?.seen.filter(({ method }) => method === "eth_sendRawTransaction").length ?? 0

layerEach(memory)("a private transaction", (it) => {
  it.effect("goes to private providers alone, is found in its block, and is confirmed", () =>
    Effect.gen(function* () {
      const { world, wait, include, finish } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* wait(2)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      include()
      yield* finish()
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
      assert.deepStrictEqual(world.nodes.map(sendsTo), [0, 0])
      assert.sameMembers(
        [...new Set(world.privateNodes.flatMap(({ seen }) => seen.map(({ method }) => method)))],
        ["eth_chainId", "eth_sendRawTransaction"]
      )
    })
  )

  it.effect("is estimated by private providers alone, and the oracle of a rollup gets random bytes", () =>
    Effect.gen(function* () {
      const features = ["eip1559", "optimism-based"]
      const { world, wait } = yield* made({}, { network: { features } })
      for (const node of world.nodes) {
        node.lies.set("eth_call", () => ({ _tag: "Result", value: `0x${"1".padStart(64, "0")}` }))
        node.lies.set("eth_estimateGas", () => ({ _tag: "Result", value: "0x5208" }))
      }
      const [id] = yield* world.accept(1, { ...secret, request: { to: receiver, value: 1n, data: secretData } })
      yield* wait(2)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      assert.isAbove(world.privateNodes[0]?.count("eth_estimateGas") ?? 0, 0)
      const asked = world.nodes.flatMap(({ seen }) => seen.filter(({ method }) => method === "eth_call"))
      assert.isAbove(asked.length, 0)
      const longest = Math.max(...asked.map((call) => JSON.stringify(paramsOf(call)).length))
      assert.isAbove(longest, 2 * secretData.length, "as long as the real bytes")
    })
  )

  it.effect("ends without an effect when a no-op is mined, which normal providers get as well", () =>
    Effect.gen(function* () {
      const { world, wait, isSecret, finish, endpoint } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* wait(2)
      yield* (yield* Ledger).cancel(1, id)
      yield* world.poll()
      assert.deepStrictEqual(endpoint.kept(), [], "the endpoint has swallowed the no-op")
      assert.isAbove(sendsTo(world.nodes[0]), 0)
      world.chain.mine()
      yield* finish()
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
      isSecret("after the end")
    })
  )

  it.effect("becomes public at its fallback, not before, when private providers are dead", () =>
    Effect.gen(function* () {
      const { world, wait, finish } = yield* made({ isDead: true })
      const [id] = yield* world.accept(1, falling)
      yield* wait(55)
      assert.strictEqual((yield* world.transaction(id)).route?.kind, "private")
      yield* world.poll(10)
      assert.strictEqual((yield* world.transaction(id)).route?.kind, "fell_back")
      yield* finish()
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("that nobody accepts does not go through the URLs of another relayer", () =>
    Effect.gen(function* () {
      const { world, wait } = yield* made({ isDead: true }, { own: 1 })
      yield* world.acceptOwn()
      yield* world.accept(1, secret)
      yield* world.poll(2)
      world.chain.mine()
      yield* wait(40)
      yield* TestClock.adjust("1 minute")
      // The other relayer is among those of the lane as long as something of it is open.
      yield* world.acceptOwn()
      yield* wait(3, () => undefined)
    })
  )

  it.effect("whose block is dropped stays private", () =>
    Effect.gen(function* () {
      const { world, wait, include, finish } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* wait(1, include)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      const before = sendsTo(world.privateNodes[0])
      world.chain.reorg(1)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      assert.isAbove(sendsTo(world.privateNodes[0]), before)
      assert.deepStrictEqual(world.nodes.map(sendsTo), [0, 0])
      yield* finish()
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("stays private when another process takes the lane over", () =>
    Effect.gen(function* () {
      const { world, wait, include, finish } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* wait(2)
      yield* world.claim
      yield* wait(40)
      yield* world.claim
      yield* wait(1, include)
      yield* finish()
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("of a copy that the ledger was put back from is in no request", () =>
    Effect.gen(function* () {
      const { world, wait, include } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* world.copied
      yield* wait(2)
      yield* world.putBack
      yield* world.claim
      yield* wait(3)
      include()
      yield* world.poll(4)
      assert.deepStrictEqual(world.nodes.map(sendsTo), [0, 0])
      assert.strictEqual((yield* world.transaction(id)).route?.kind, "private")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("is sent for the first time when the public ones before it are mined", () =>
    Effect.gen(function* () {
      const { world, wait, include, finish } = yield* made()
      const [, before] = yield* world.accept(2)
      const [id] = yield* world.accept(1, secret)
      yield* wait(2, () => undefined)
      assert.deepStrictEqual(
        [(yield* world.transaction(id)).nonce, sendsTo(world.privateNodes[0])],
        [2, 0],
        "it has its nonce, and nobody has its bytes"
      )
      world.chain.mine()
      yield* wait(2)
      assert.isAbove(sendsTo(world.privateNodes[0]), 0)
      include()
      yield* finish()
      const states = yield* Effect.forEach([before, id], (one) =>
        one === undefined ? Effect.succeed("none") : Effect.map(world.transaction(one), ({ state }) => state)
      )
      assert.deepStrictEqual(states, ["confirmed", "confirmed"])
    })
  )

  it.effect(
    "that reverts is shown so, by a question to private providers in ten blocks, and its deadline ends it",
    () =>
      Effect.gen(function* () {
        const { world, wait, raw, failing, finish } = yield* made()
        const [privateNode] = world.privateNodes
        const revert = { _tag: "RpcError", code: 3, message: "execution reverted: too late" } as const
        privateNode?.lies.set("eth_estimateGas", () => revert)
        const [id] = yield* world.accept(1, { ...secret, validUntil: 120_000 })
        yield* world.poll()
        for (const hash of raw.keys()) failing.add(hash)
        yield* wait(8)
        const { cause } = yield* world.transaction(id)
        assert.strictEqual(cause?.code, "private_not_included")
        assert.deepInclude(cause?.figures, { would_revert_now: true, revert_reason: "too late" })
        assert.strictEqual(privateNode?.count("eth_estimateGas"), 1)
        yield* wait(10)
        assert.strictEqual(privateNode?.count("eth_estimateGas"), 2)
        yield* TestClock.adjust("2 minutes")
        yield* finish()
        assert.strictEqual((yield* world.transaction(id)).state, "expired")
        assert.strictEqual(world.chain.effects(receiver), 0)
      })
  )

  it.effect("that a private provider has leaked is asked for by its hash once, is reported, and stays private", () =>
    Effect.gen(function* () {
      const { world, include, finish } = yield* made({ leaks: true })
      const [id] = yield* world.accept(1, secret)
      const asked = () => world.nodes.reduce((sum, node) => sum + node.count("eth_getTransactionByHash"), 0)
      const counted = Effect.map(Metric.value(seenPublicly), ({ count }) => count)
      const before = yield* counted
      yield* world.poll(4)
      assert.strictEqual((yield* counted) - before, 1)
      const { route } = yield* world.transaction(id)
      assert.strictEqual(route?.kind, "private")
      assert.isDefined(route?.seenPublicly)
      assert.strictEqual(asked(), 1)
      include()
      yield* finish()
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("is no leak if a block has it before the pool is counted", () =>
    Effect.gen(function* () {
      const { world, include } = yield* made()
      const [id] = yield* world.accept(1, secret)
      yield* world.poll(2)
      for (const node of world.nodes) {
        node.lies.set("eth_getTransactionCount", ([, tag]) => {
          if (tag === "pending") include()
          return undefined
        })
      }
      yield* world.poll()
      const { mined, route } = yield* world.transaction(id)
      assert.deepStrictEqual([mined, route?.seenPublicly], [undefined, undefined])
      assert.isTrue(world.nodes.some(({ seen }) => seen.some(({ method }) => method === "eth_getTransactionByHash")))
    })
  )

  it.effect("is asked for once if a pool counts more than it shows", () =>
    Effect.gen(function* () {
      const { world } = yield* made()
      const [id] = yield* world.accept(1, secret)
      for (const node of world.nodes) {
        node.lies.set("eth_getTransactionCount", ([, tag]) =>
          tag === "pending" ? { _tag: "Result", value: "0x7" } : undefined
        )
      }
      yield* world.poll(5)
      const hashes = world.nodes.flatMap(({ seen }) => seen.filter(({ method }) => method.endsWith("ByHash")))
      assert.lengthOf(hashes, 1)
      assert.isUndefined((yield* world.transaction(id)).route?.seenPublicly)
    })
  )

  const countsPools = ({ seen }: Node) => seen.some((call) => paramsOf(call).includes("pending"))

  it.effect("is not looked for in the pool while public bytes of its account may be there", () =>
    Effect.gen(function* () {
      const { world } = yield* made({ leaks: true })
      yield* world.accept(1, secret)
      yield* world.accept()
      yield* world.poll(3)
      assert.isFalse(world.nodes.some(countsPools))
    })
  )

  it.effect("is not looked for in the pool of a normal URL whose host is also that of a private one", () =>
    Effect.gen(function* () {
      const { world } = yield* made({ leaks: true })
      world.privateNodes.push(...world.nodes)
      const [id] = yield* world.accept(1, secret)
      yield* world.poll(3)
      assert.isFalse(world.nodes.some(countsPools))
      assert.isUndefined((yield* world.transaction(id)).route?.seenPublicly)
    })
  )

  it.effect("waits with a code when its last private URL has a weight of 0", () =>
    Effect.gen(function* () {
      const { world, wait } = yield* made({}, { network: { private_rpc_urls: [] } })
      const [id] = yield* world.accept(1, secret)
      yield* wait(2)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "no_private_rpc")
    })
  )

  it.effect("asks normal providers for receipts by their hashes only when it has fallen back", () =>
    Effect.gen(function* () {
      const { world, wait, include } = yield* made()
      yield* world.accept(1, secret)
      yield* wait(1, include)
      const before = world.nodes.reduce((sum, node) => sum + node.count("eth_getTransactionByHash"), 0)
      yield* world.poll(2)
      const after = world.nodes.reduce((sum, node) => sum + node.count("eth_getTransactionByHash"), 0)
      assert.strictEqual(after, before)
    })
  )
})
