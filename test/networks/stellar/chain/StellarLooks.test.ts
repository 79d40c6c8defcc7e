// What the service reads from one provider: accounts at a numbered ledger, hashes, and the contents of ledgers.
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Operation } from "@stellar/stellar-sdk/base"
import { hashIn } from "../../../../src/networks/stellar/chain/StellarEncoding.ts"
import { networkIdOf } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import * as StellarLooks from "../../../../src/networks/stellar/chain/StellarLooks.ts"
import { send } from "../../../../src/networks/stellar/chain/StellarNodes.ts"
import { feeBump, passphrase, payment } from "../../../../testkit/stellar/Building.ts"
import { node } from "../../../../testkit/stellar/Node.ts"
import { other, relayer, user, World, xlm } from "../../../testkit/stellar/World.ts"

const networkId = networkIdOf(passphrase)

const made = () => {
  const world = new World()
  return { world, rpc: node(world.provider, "http://one.example") }
}

const look = Effect.fnUntraced(function* ({ rpc }: ReturnType<typeof made>, addresses: ReadonlyArray<string>) {
  const newest = yield* StellarLooks.newest(rpc)
  return { newest, accounts: yield* StellarLooks.accounts(lib, rpc, addresses, newest) }
})

describe("a look at a provider", () => {
  it.effect("has the accounts at the newest ledger, and its close time", () =>
    Effect.gen(function* () {
      const both = made()
      both.world.close(2)
      const { newest, accounts } = yield* look(both, [
        relayer.publicKey(),
        "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"
      ])
      const { closeTime, number } = both.world.network.latest
      assert.deepStrictEqual(newest.ledger, { number, closeTime })
      assert.deepStrictEqual(accounts.ledger, { number, closeTime })
      assert.strictEqual(accounts.of.get(relayer.publicKey())?.balance, 1000n * xlm)
      const at = StellarLooks.accountAt(accounts, relayer.publicKey())
      assert.strictEqual(at.sequence, both.world.account(relayer).sequence)
      assert.strictEqual(accounts.of.size, 1)
    })
  )

  it.effect("knows no close time if another node behind the balancer answers, which is behind [8]", () =>
    Effect.gen(function* () {
      const both = made()
      both.world.close(5)
      // Each second call is answered by the node that is behind.
      both.world.provider.faults.balancerLag = 2
      yield* StellarLooks.newest(rpcOf(both))
      const newest = yield* StellarLooks.newest(rpcOf(both))
      const { number } = both.world.network.latest
      assert.strictEqual(newest.ledger.number, number)
      const accounts = yield* StellarLooks.accounts(lib, rpcOf(both), [relayer.publicKey()], newest)
      assert.deepStrictEqual(accounts.ledger, { number: number - 2, closeTime: 0 })
    })
  )

  it.effect("finds an envelope by its hash, and a fee bump by the hash of the envelope inside", () =>
    Effect.gen(function* () {
      const both = made()
      const { rpc, world } = both
      const inner = world.envelope(user, [payment(other, xlm)])
      const outer = feeBump(relayer, inner, 400n)
      world.apply(outer)
      for (const hash of [hashIn(lib, outer, networkId), hashIn(lib, inner, networkId)]) {
        const found = yield* StellarLooks.applied(lib, rpc, hash)
        assert.strictEqual(found?.isSuccess, true)
        assert.strictEqual(found?.code, "txSuccess")
        assert.strictEqual(found?.fee, 200n)
        assert.deepStrictEqual(found?.operations, ["paymentSuccess"])
      }
      assert.isUndefined(yield* StellarLooks.applied(lib, rpc, "ab".repeat(32)))
    })
  )

  it.effect("answers a send with what the queue says", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const text = world.envelope(user, [payment(other, xlm)])
      const hash = hashIn(lib, text, networkId)
      assert.deepStrictEqual(yield* send(lib, text, hash)(rpc), { status: "PENDING" })
      assert.deepStrictEqual(yield* send(lib, text, hash)(rpc), { status: "DUPLICATE" })
      assert.deepStrictEqual(yield* send(lib, text, "ab".repeat(32))(rpc), { status: "UNKNOWN" })
      const late = world.envelope(other, [payment(user, 1n)], { sequence: 5n })
      const refused = yield* send(lib, late, hashIn(lib, late, networkId))(rpc)
      assert.deepStrictEqual(refused, { status: "ERROR", result: "txBadSeq", fee: 100n })
      assert.deepStrictEqual(yield* send(lib, "AAAA", hash)(rpc), { status: "INVALID" })
      world.provider.faults.lost = { sendTransaction: "after" }
      assert.deepStrictEqual(yield* send(lib, text, hash)(rpc), { status: "UNKNOWN" })
    })
  )
})

const rpcOf = ({ rpc }: ReturnType<typeof made>) => rpc

const nothingGiven = () => Effect.succeed(new Set<string>())

type ScanOptions = Parameters<typeof StellarLooks.scan>

/** A provider that answers with fewer transactions than it is asked for. */
const withPagesOf = (limit: number, rpc: ScanOptions[1]): ScanOptions[1] => ({
  ...rpc,
  call: (call) => {
    const params: Record<string, unknown> = { ...Object(call.params) }
    return rpc.call({ ...call, params: { ...params, pagination: { ...Object(params["pagination"]), limit } } })
  }
})

/** For what used the sequence of the user. */
const scan = (rpc: ScanOptions[1], sequence: bigint, range: ScanOptions[4], given: ScanOptions[5] = nothingGiven) =>
  StellarLooks.scan(lib, rpc, networkId, { account: user.publicKey(), sequence }, range, given)

describe("a scan of ledgers", () => {
  it.effect("names the transaction that used the sequence", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      world.apply(world.envelope(user, [payment(other, 1n)]))
      world.apply(world.envelope(other, [payment(user, 1n)]))
      const sequence = world.next(user)
      assert.strictEqual(world.next(other), sequence, "accounts may have the same sequences")
      const text = world.envelope(user, [payment(other, xlm)])
      world.apply(world.envelope(other, [payment(user, 1n)]))
      world.apply(text)
      const hash = hashIn(lib, text, networkId)
      const found = yield* scan(rpc, sequence, { from, to: world.network.latest.number })
      assert.deepStrictEqual(found, { use: { hashes: [hash, hash] } })
    })
  )

  it.effect("has the hash of an envelope that somebody else paid for", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      const sequence = world.next(user)
      const inner = world.envelope(user, [payment(other, xlm)])
      const outer = feeBump(other, inner, 400n)
      world.apply(outer)
      const found = yield* scan(rpc, sequence, { from, to: world.network.latest.number })
      const hashes = [hashIn(lib, outer, networkId), hashIn(lib, inner, networkId)] as const
      assert.deepStrictEqual(found, { use: { hashes } })
    })
  )

  it.effect("says that a caller got the signature of what used the sequence, also if somebody else paid for it", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      const sequence = world.next(user)
      const inner = world.envelope(user, [payment(other, xlm)])
      world.apply(feeBump(other, inner, 400n))
      const range = { from, to: world.network.latest.number }
      const given = (hashes: ReadonlyArray<string>) =>
        Effect.succeed(new Set(hashes.filter((hash) => hash === hashIn(lib, inner, networkId))))
      const found = yield* scan(rpc, sequence, range, given)
      assert.isTrue(found.use?.isGiven)
      const unknown = yield* scan(rpc, sequence, range)
      assert.isUndefined(unknown.use?.isGiven)
    })
  )

  it.effect(
    "names the transaction that moved the account past the sequence, and none that moved it before or failed",
    () =>
      Effect.gen(function* () {
        const { rpc, world } = made()
        const from = world.network.latest.number + 1
        const sequence = world.next(user)
        const bump = (to: bigint) => Operation.bumpSequence({ bumpTo: String(to), source: user.publicKey() })
        const apply = (operations: Parameters<typeof world.envelope>[1]) => {
          const text = world.envelope(other, operations, { signers: [other, user] })
          world.apply(text)
          return hashIn(lib, text, networkId)
        }
        const hasUse = Effect.suspend(() => scan(rpc, sequence + 5n, { from, to: world.network.latest.number }))
        apply([bump(sequence + 2n)])
        apply([bump(sequence + 7n), payment(user, 100_000n * xlm)])
        assert.deepStrictEqual(yield* hasUse, {})
        const hash = apply([payment(user, 1n), bump(sequence + 7n)])
        apply([bump(sequence + 9n)])
        assert.deepStrictEqual((yield* hasUse).use?.hashes, [hash, hash])
        // The sequence was used before the move, by a transaction that is not shown.
        assert.deepStrictEqual(yield* scan(rpc, sequence + 1n, { from: from + 2, to: from + 9 }), {})
      })
  )

  it.effect("names the transaction that ended the account", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      const sequence = world.next(user)
      const merge = Operation.accountMerge({ destination: other.publicKey(), source: user.publicKey() })
      const text = world.envelope(other, [merge], { signers: [other, user] })
      world.apply(text)
      const found = yield* scan(rpc, sequence, { from, to: world.network.latest.number })
      assert.strictEqual(found.use?.hashes[0], hashIn(lib, text, networkId))
    })
  )

  it.effect("reads all pages up to the first ledger after the range", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      for (let sent = 0; sent < 450; sent++) world.apply(world.envelope(other, [payment(user, 1n)]))
      const sequence = world.next(user)
      world.apply(world.envelope(user, [payment(other, 1n)]))
      const to = world.network.latest.number
      assert.isDefined((yield* scan(rpc, sequence, { from, to })).use)
      assert.isDefined((yield* scan(withPagesOf(50, rpc), sequence, { from, to })).use)
      assert.deepStrictEqual(yield* scan(rpc, sequence, { from, to: from + 150 }), {})
    })
  )

  it.effect("ends after its budget, and says so", () =>
    Effect.gen(function* () {
      const { rpc, world } = made()
      const from = world.network.latest.number + 1
      for (let sent = 0; sent < 450; sent++) world.apply(world.envelope(other, [payment(user, 1n)]))
      const slow: typeof rpc = {
        ...rpc,
        call: (call) => Effect.andThen(TestClock.adjust("20 seconds"), rpc.call(call))
      }
      const found = yield* scan(slow, 1n, { from, to: world.network.latest.number })
      assert.deepStrictEqual(found, { isCut: true })
    })
  )

  it.effect(
    "finds nothing while the provider, or its index, is behind, and fails if it does not keep the ledgers",
    () =>
      Effect.gen(function* () {
        const { rpc, world } = made()
        const from = world.network.latest.number + 1
        const sequence = world.next(user)
        world.close(8)
        world.apply(world.envelope(user, [payment(other, xlm)]))
        const range = { from, to: world.network.latest.number }
        world.provider.faults.lag = 3
        assert.deepStrictEqual(yield* scan(rpc, sequence, range), {})
        world.provider.faults.lag = 0
        for (const isHonest of [{}, { isHonest: true } as const]) {
          world.provider.faults.indexLag = { ledgers: 3, ...isHonest }
          assert.deepStrictEqual(yield* scan(rpc, sequence, range), {})
        }
        world.close(3)
        assert.isDefined((yield* scan(rpc, sequence, range)).use)
        world.provider.faults.retention = 2
        assert.isTrue(Result.isFailure(yield* Effect.result(scan(rpc, sequence, range))))
      })
  )
})
