// Channels in the driver of a lane, on the stand-in ledger: they are made, used by one transaction each, and ended.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { assert } from "@effect/vitest"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { layerMasterKeyCheck } from "../../../../src/server/masterKey/MasterKeys.ts"
import { RowMacs, Secrets } from "../../../../src/server/secrets/Secrets.ts"
import { newTransaction } from "../../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { accountIn, keyOf } from "../../../../testkit/stellar/Entries.ts"
import { ledger, memory } from "../../../server/ledger/Fixtures.ts"
import { masterKey, rotate, withStart } from "../../../server/masterKey/Start.ts"
import * as World from "./World.ts"

const { payment, receiver, xlm } = World

type World = Effect.Success<ReturnType<typeof World.make>>

/** Weight 0 disables the master key of each channel account, so that nodes refuse signatures of the channel. */
const setMasterWeights = (world: World, masterWeight: number) =>
  Effect.map(ready(world), (channels) => {
    for (const address of channels) {
      const account = accountOf(world, address) ?? assert.fail("there is no channel")
      world.network.put(keyOf.account(address), { ...account, masterWeight })
    }
  })

/** A world whose relayer wants `count` channels, and has them. */
const withChannels = Effect.fnUntraced(function* (count: number, given: World.Given = {}) {
  const world = yield* World.make({ ...given, policies: { channels: { count }, ...given.policies } })
  yield* world.settle
  return world
})

const ready = (world: World) =>
  Effect.map(world.channels, (all) => all.flatMap(({ address, stage }) => (stage === "ready" ? [address] : [])))

const accountOf = (world: World, address: string) => accountIn(world.network.reads, address)

/** For each ledger after `from`: how many transactions have one of the accounts as source. Ledgers without any are left out. */
const perLedger = (world: World, accounts: ReadonlyArray<string>, from: number) =>
  world.network.ledgers
    .filter(({ number }) => number > from)
    .map(({ transactions }) => transactions.filter(({ source }) => accounts.includes(source)).length)
    .filter((count) => count > 0)

/** The ledger of a process with another master key. */
const withMasterKey = (current: Redacted.Redacted<Uint8Array>) =>
  Effect.map(
    Layer.build(Layer.fresh(LaneLedger.layerNoDeps).pipe(Layer.provide(Layer.fresh(Secrets.layer({ current }))))),
    (built) => Context.get(built, LaneLedger)
  )

/** The mark of the fixtures has the id of the master key alone, so that nothing opens it. */
const unmark = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM master_key`)

/** The master key is marked, as at the start of a process: the database refuses values of an unknown one. */
const marked = Layer.provideMerge(
  Layer.provideMerge(layerMasterKeyCheck, Layer.merge(RowMacs.layer, Layer.effectDiscard(unmark))),
  ledger
)

layerEach(memory)("channels", (it) => {
  it.effect("get no XLM, have the relayer as a signer, and lock three base reserves of it", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(3)
      const channels = yield* ready(world)
      assert.lengthOf(channels, 3)
      for (const address of channels) {
        const { balance, signers, sponsor } = accountOf(world, address) ?? assert.fail("was not made")
        assert.deepStrictEqual([balance, sponsor], [0n, world.address])
        assert.deepStrictEqual(signers, [{ address: world.address, weight: 1, sponsor: world.address }])
      }
      assert.strictEqual(accountOf(world, world.address)?.sponsoring, 9)
    })
  )

  it.effect("are made ten at a time until there are as many as are wanted", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(23)
      assert.lengthOf(yield* ready(world), 23)
      assert.strictEqual(accountOf(world, world.address)?.sponsoring, 69)
      assert.deepStrictEqual(perLedger(world, [world.address], 0), [1, 1, 1])
    })
  )

  it.effect("apply as many transactions per ledger as there are channels [29]", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(3)
      const channels = yield* ready(world)
      const { number } = world.network.latest
      const ids = yield* world.accept(payment(xlm), 30)
      for (let round = 0; round < 12; round++) {
        yield* world.poll()
        for (const { transaction } of (yield* world.contents).inFlight) {
          const { account = "", sequence } = transaction.place ?? {}
          assert.include(channels, account)
          assert.isDefined(sequence)
        }
        const taken = (yield* world.contents).inFlight.map(({ transaction }) => transaction.place?.account)
        assert.strictEqual(new Set(taken).size, taken.length)
      }
      for (const id of ids) assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.deepStrictEqual(perLedger(world, channels, number), [3, 3, 3, 3, 3, 3, 3, 3, 3, 3])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), 40n * xlm)
    })
  )

  it.effect("cost a node one look-up and one send per transaction, and one reading of the fees per ledger", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(10)
      const [{ counts }] = world.nodes
      const countOf = (method: string) => counts.get(method) ?? 0
      const ids = yield* world.accept(payment(xlm), 20)
      counts.clear()
      const { number } = world.network.latest
      yield* world.finish
      for (const id of ids) assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      const ledgers = world.network.latest.number - number
      assert.strictEqual(countOf("sendTransaction"), 20)
      assert.isAtMost(countOf("getFeeStats"), ledgers)
      // The look-up of an unknown hash shows the newest ledger, once per poll.
      assert.strictEqual(countOf("getTransaction"), 20 + ledgers)
    })
  )

  it.effect("wait until a refused envelope has expired, while other channels go on [30]", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(2)
      yield* setMasterWeights(world, 0)
      const [refused] = yield* world.accept(payment(xlm), 1, { validUntil: 3_600_000 })
      yield* world.poll()
      const { place } = yield* world.transaction(refused)
      yield* setMasterWeights(world, 1)
      const others = yield* world.accept(payment(xlm), 4)
      yield* world.poll(6)
      for (const id of others) {
        const { attempts, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed")
        assert.notStrictEqual(attempts[0]?.place.account, place?.account)
      }
      const waiting = yield* world.transaction(refused)
      assert.deepStrictEqual([waiting.place, waiting.attempts.length], [place, 1])
      yield* world.finish
      assert.strictEqual((yield* world.transaction(refused)).cause?.code, "refused_by_all")
      yield* world.accept(payment(xlm), 2)
      yield* world.poll()
      const used = (yield* world.contents).inFlight.map(({ transaction }) => transaction.place?.account)
      assert.include(used, place?.account)
    })
  )

  it.effect("sign nothing if the stored key does not belong to the account", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(1)
      const [id] = yield* world.accept(payment(xlm))
      world.channelSeed = () => Effect.succeed(Option.some(Redacted.make("11".repeat(32))))
      yield* world.claim
      yield* world.poll(2)
      assert.lengthOf((yield* world.transaction(id)).attempts, 0)
      assert.strictEqual(world.context?.memory.signerRetry?.code, "row_changed")
    })
  )

  it.effect("are not used if concurrent_transactions of the policy is false", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(2, { policies: { concurrent_transactions: false } })
      const { number } = world.network.latest
      yield* world.accept(payment(xlm), 3)
      yield* world.finish
      assert.deepStrictEqual(perLedger(world, [world.address], number), [1, 1, 1])
      assert.deepStrictEqual(perLedger(world, yield* ready(world), number), [])
    })
  )

  it.effect("end when fewer are wanted, and give their reserves back", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(3)
      const before = yield* ready(world)
      world.relayer = world.relayerOf({ channels: { count: 1 } })
      yield* world.settle
      assert.deepStrictEqual(yield* ready(world), before.slice(0, 1))
      assert.isUndefined(accountOf(world, before[2] ?? ""))
      assert.strictEqual(accountOf(world, world.address)?.sponsoring, 3)
      world.relayer = world.relayerOf({})
      yield* world.settle
      assert.deepStrictEqual(yield* world.channels, [])
      assert.strictEqual(accountOf(world, world.address)?.sponsoring, 0)
    })
  )

  it.effect("end only after what was sent with them", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(1)
      const [channel = ""] = yield* ready(world)
      world.lose({ sendTransaction: "before" })
      const [id] = yield* world.accept(payment(xlm))
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).place?.account, channel)
      world.lose({})
      world.relayer = world.relayerOf({})
      yield* world.settle
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.length], ["confirmed", 1])
      assert.isUndefined(accountOf(world, channel))
    })
  )

  it.effect("are complete after kills of the process that makes them, and none is made twice [31]", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 3 } } })
      yield* world.upkeep
      const made = (yield* world.channels).map(({ address }) => address)
      assert.lengthOf(made, 3)
      // The envelope is lost, and the process dies after it was committed: the next one sends the same bytes.
      world.lose({ sendTransaction: "before" })
      yield* world.poll()
      yield* world.claim
      yield* world.upkeep
      world.lose({ sendTransaction: "after" })
      yield* world.poll()
      yield* world.claim
      world.lose({})
      yield* world.settle
      assert.deepStrictEqual(yield* ready(world), made)
      assert.strictEqual(accountOf(world, world.address)?.sponsoring, 9)
      assert.deepStrictEqual(perLedger(world, [world.address], 0), [1])
    })
  )

  it.effect("are made under the same keys if the envelope that makes them dies", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 2 } } })
      world.lose({ sendTransaction: "before" })
      yield* world.upkeep
      yield* world.poll(2)
      const [work] = (yield* world.contents).inFlight
      if (work === undefined) return assert.fail("nothing is sent")
      yield* world.cancel(work.id)
      yield* world.finish
      assert.strictEqual((yield* world.transaction(work.id)).state, "canceled")
      const made = (yield* world.channels).map(({ address }) => address)
      world.lose({})
      yield* world.settle
      assert.deepStrictEqual(yield* ready(world), made)
      assert.lengthOf(made, 2)
    })
  )

  it.effect("are as many as the highest count of all relayers of the account", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 1 } } })
      world.others.push({ ...world.relayerOf({ channels: { count: 3 } }), id: RelayerId.make("r2") })
      yield* world.settle
      assert.lengthOf(yield* ready(world), 3)
      world.others.pop()
      yield* world.settle
      assert.lengthOf(yield* ready(world), 1)
    })
  )

  it.effect("wait for funds, and hold up nothing meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 10 } }, funds: 15n * xlm })
      yield* world.upkeep
      const [id] = yield* world.accept(payment(xlm))
      yield* world.poll(3)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      const [work] = (yield* world.contents).pending
      assert.strictEqual(work?.transaction.cause?.code, "insufficient_funds")
      world.network.grant(world.address, 100n * xlm)
      yield* world.settle
      assert.lengthOf(yield* ready(world), 10)
    })
  )

  it.effect("are made again if another program has merged their account", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(1)
      const [channel = ""] = yield* ready(world)
      world.network.put(keyOf.account(channel), undefined)
      yield* world.accept(payment(xlm))
      yield* world.finish
      yield* world.settle
      assert.deepStrictEqual(yield* ready(world), [channel])
      assert.isDefined(accountOf(world, channel))
    })
  )

  it.effect("use inner transactions that the service does not accept again, before and after they are applied", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(1)
      const accepted = yield* Ledger
      const repeat = (identity: string) =>
        Effect.flip(accepted.accept(world.account, [{ ...newTransaction(0), request: payment(xlm), identity }]))
      const [id] = yield* world.accept(payment(xlm))
      yield* world.poll()
      const inner = (yield* world.transaction(id)).attempts[0]?.offer.innerHash ?? assert.fail("was not signed")
      const named = { error: `already_accepted: transaction ${id} has the same bytes` }
      assert.deepInclude(yield* repeat(inner), named)
      yield* world.finish
      assert.deepInclude(yield* repeat(inner), named)
    })
  )
})

layerEach(marked)("channels in a database", (it) => {
  it.effect("sign after a rotation of the master key", () =>
    Effect.gen(function* () {
      const world = yield* withChannels(1)
      const [channel = ""] = yield* ready(world)
      yield* withStart({ current: masterKey(2), others: [Redacted.make(TestApi.masterKey)] })(rotate)
      assert.isTrue(Option.isNone(yield* world.channelSeed(channel)), "the former master key opens nothing")
      world.channelSeed = (yield* withMasterKey(masterKey(2))).channelSeed
      const [id] = yield* world.accept(payment(xlm))
      yield* world.claim
      yield* world.finish
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts[0]?.place.account], ["confirmed", channel])
    })
  )

  it.effect("are created once if three checks run at the same time", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 2 } } })
      yield* Effect.all([world.upkeep, world.upkeep, world.upkeep], { concurrency: "unbounded" })
      assert.lengthOf(yield* world.channels, 2)
      yield* world.settle
      assert.lengthOf(yield* ready(world), 2)
    })
  )
})
