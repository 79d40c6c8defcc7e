// Traces of stellar with kills, and with two instances of which one is frozen: each payment has one effect, and its true end.
import { Effect, Exit } from "effect"
import { assert } from "@effect/vitest"
import * as LaneStep from "../../../../src/server/lanes/LaneStep.ts"
import type { LaneContext } from "../../../../src/server/lanes/StepState.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

type Made = Effect.Success<ReturnType<typeof World.make>>

/** Stroops of the receiver before. */
const had = 10n * xlm

const endsOnce = Effect.fnUntraced(function* (world: Made, id: Parameters<Made["transaction"]>[0], payments: bigint) {
  yield* world.finish
  const found = yield* world.transaction(id)
  assert.strictEqual(found.state, "confirmed", found.cause?.code)
  assert.strictEqual(world.balanceOf(receiver.publicKey()), had + payments * xlm)
  return found
})

/** How often nodes were sent bytes. */
const sendsOf = ({ nodes }: Made): number =>
  nodes.reduce((total, { counts }) => total + (counts.get("sendTransaction") ?? 0), 0)

type Change = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Runs something before or after each effect that a method of a service returns. */
const around = <A extends object>(service: A, change: Change): A =>
  new Proxy(service, {
    get: (target, key) => {
      const method: unknown = Reflect.get(target, key)
      if (typeof method !== "function") return method
      return (...args: ReadonlyArray<unknown>) => {
        const result: unknown = Reflect.apply(method, target, args)
        return Effect.isEffect(result) ? change(result) : result
      }
    }
  })

/** The process dies after a call of the database or of the chain has had its effect, which is before the next one. */
const dying = (context: LaneContext, at: number): LaneContext => {
  let calls = 0
  const change: Change = (effect) =>
    Effect.suspend(() => {
      calls++
      return calls === at ? Effect.andThen(effect, Effect.die("killed")) : effect
    })
  return { ...context, ledger: around(context.ledger, change), chain: around(context.chain, change) }
}

/** Another instance gets the lane, and makes a step. */
const takingOver = (world: Made) =>
  Effect.map(LaneLedger, (lanes) =>
    Effect.orDie(Effect.provideService(Effect.andThen(world.claim, world.run), LaneLedger, lanes))
  )

/** Milliseconds. */
const day = 86_400_000

/** More calls than three steps of a lane make: until then, a process has died at each. */
const mostCalls = 60

layerEach(memory)("a payment on stellar", (it) => {
  it.effect("has one effect if the process dies at any call of the database or the chain [16]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      let at = 0
      for (let isDead = true; isDead;) {
        at++
        assert.isBelow(at, mostCalls)
        const [id] = yield* world.accept(World.payment(xlm), 1, { validUntil: day })
        const context = yield* world.claim
        world.context = dying(context, at)
        isDead = Exit.isFailure(yield* Effect.exit(world.poll(3)))
        world.context = context
        // Nobody can claim a lane of which nothing is open.
        if ((yield* world.transaction(id)).state !== "confirmed") yield* world.claim
        yield* endsOnce(world, id, BigInt(at))
      }
      // Reading, preparing, committing, sending and looking are calls of their own.
      assert.isAbove(at, 8)
      const used = world.network.ledgers.flatMap(({ transactions }) => transactions)
      assert.lengthOf(used, at)
    })
  )

  it.effect("that a frozen instance has signed is not committed after another one has signed it [17]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const former = yield* world.claim
      const takeOver = yield* takingOver(world)
      let signatures = 0
      const frozen: LaneContext = {
        ...former,
        chain: {
          ...former.chain,
          sign: (unsigned) =>
            Effect.tap(former.chain.sign(unsigned), () => {
              signatures++
              return takeOver
            })
        }
      }
      const woken = yield* Effect.exit(LaneStep.run(frozen))
      assert.strictEqual(signatures, 1)
      assert.isTrue(Exit.isFailure(woken))
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
      const { attempts } = yield* endsOnce(world, id, 1n)
      assert.lengthOf(attempts, 1)
      assert.strictEqual(sendsOf(world), 1)
    })
  )

  it.effect("that an instance has signed is not committed if another one has claimed the lane meanwhile [17]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const former = yield* world.claim
      const lanes = yield* LaneLedger
      // The other instance has not signed yet, so that only its claim keeps the frozen one from committing.
      const claim = Effect.orDie(Effect.provideService(world.claim, LaneLedger, lanes))
      const frozen: LaneContext = {
        ...former,
        chain: { ...former.chain, sign: (unsigned) => Effect.tap(former.chain.sign(unsigned), claim) }
      }
      const woken = yield* Effect.flip(LaneStep.run(frozen))
      assert.strictEqual(woken._tag, "LaneLost")
      assert.lengthOf((yield* world.transaction(id)).attempts, 0)
      yield* endsOnce(world, id, 1n)
      assert.strictEqual(sendsOf(world), 1)
    })
  )

  it.effect("that is canceled while an instance signs it is not committed, although its lane is not lost [17]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const former = yield* world.claim
      const ledger = yield* Ledger
      // A cancel does not touch the lane, so that only the version of the row keeps the signature from being committed.
      const cancel = Effect.orDie(Effect.provideService(world.cancel(id), Ledger, ledger))
      const signing: LaneContext = {
        ...former,
        chain: { ...former.chain, sign: (unsigned) => Effect.tap(former.chain.sign(unsigned), cancel) }
      }
      const error = yield* Effect.flip(LaneStep.run(signing))
      assert.strictEqual(error._tag, "LaneChanged")
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.length], ["canceled", 0])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had)
      const [next] = yield* world.accept()
      yield* endsOnce(world, next, 1n)
    })
  )

  it.effect("that a frozen instance has committed is sent by another one, and again by the frozen one [18]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const former = yield* world.claim
      const takeOver = yield* takingOver(world)
      let frozenSends = 0
      const frozen: LaneContext = {
        ...former,
        chain: {
          ...former.chain,
          broadcast: (relayer, raw, sends, destination) =>
            Effect.suspend(() => {
              frozenSends++
              return Effect.andThen(takeOver, former.chain.broadcast(relayer, raw, sends, destination))
            })
        }
      }
      yield* Effect.exit(LaneStep.run(frozen))
      assert.strictEqual(frozenSends, 1)
      const { attempts } = yield* endsOnce(world, id, 1n)
      assert.lengthOf(attempts, 1)
      assert.strictEqual(sendsOf(world), 2)
    })
  )
})
