// Signers that are slow, throttled or away, and what a lane signs, commits and sends with them.
import { assert } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1"
import { Deferred, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { explain } from "../../../src/networks/evm/rules/EvmWords.ts"
import { CrashPoints } from "../../../src/server/lanes/LaneSending.ts"
import * as LaneStep from "../../../src/server/lanes/LaneStep.ts"
import { SignerUnavailable } from "../../../src/server/signers/backends/SignerBackend.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger, memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

const away = new SignerUnavailable({ reason: "unreachable", message: "the KMS does not answer" })

/** As a key service signs: each signature of the same digest is another one. */
const random = (key: string) => (_: unknown, digest: Uint8Array) =>
  Effect.sync(() => {
    const signature = secp256k1.sign(digest, key.slice(2), { lowS: true, extraEntropy: true })
    return Uint8Array.of(...signature.toCompactRawBytes(), signature.recovery)
  })

layerEach(memory)("a lane", (it) => {
  it.effect("makes 32 signatures at the same time", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sign } = world
      const isFull = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      world.sign = Effect.fnUntraced(function* (curve, digest) {
        most = Math.max(most, ++running)
        if (running === 32) yield* Deferred.succeed(isFull, undefined)
        yield* Deferred.await(isFull)
        running--
        return yield* sign(curve, digest)
      })
      yield* world.accept(40)
      yield* world.poll()
      assert.strictEqual(most, 32)
      assert.strictEqual(world.chain.pool.size, 40)
    })
  )

  it.effect("sends the committed bytes after a crash, although another signature would be other bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const sign = random(world.key)
      let signatures = 0
      world.sign = (curve, digest) => Effect.suspend(() => (signatures++, sign(curve, digest)))
      const [id] = yield* world.accept()
      const dying = (point: string) => (point === "committed" ? Effect.die(new Error("killed")) : Effect.void)
      const step = Effect.provideService(LaneStep.run(yield* world.claim), CrashPoints, dying)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(step)))
      assert.strictEqual(world.chain.sent.size, 0)
      const { attempts } = yield* world.transaction(id)
      yield* world.claim
      yield* world.poll()
      assert.deepStrictEqual(
        [...world.chain.sent.keys()],
        attempts.map(({ hash }) => hash)
      )
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(signatures, 1)
    })
  )

  it.effect("commits nothing behind a signature that failed, however many of them were made", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sign } = world
      let asked = 0
      world.sign = (curve, digest) => Effect.suspend(() => (asked++ === 0 ? Effect.fail(away) : sign(curve, digest)))
      yield* world.accept(40)
      yield* world.poll()
      assert.isAtMost(asked, 32)
      assert.strictEqual((yield* world.lane).nextNonce, 0)
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 40)
    })
  )

  it.effect("whose signer is throttled waits as long as the provider says, and shows until when", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sign } = world
      let asked = 0
      const throttled = new SignerUnavailable({ reason: "throttled", message: "too many", retryAfter: 20_000 })
      world.sign = () => Effect.suspend(() => (asked++, Effect.fail(throttled)))
      const [id] = yield* world.accept()
      yield* world.poll(19)
      assert.strictEqual(asked, 1)
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["pending", "throttled"])
      const until = cause?.figures.until ?? assert.fail("there is no moment of the next try")
      const { next } = explain({ code: "throttled", figures: { until } }, false)
      assert.include(next, new Date(until).toISOString())
      world.sign = sign
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})

layerEach(ledger)("a lane in a database", (it) => {
  it.effect("holds no connection of the database while it signs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const world = yield* World.make()
      const { sign } = world
      const held = sql<{ count: number }>`
        SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
      let signatures = 0
      // Something else may hold a connection for a moment. What the lane held would be held until it has signed.
      world.sign = (curve, digest) =>
        awaited(Effect.orDie(held), ([row]) => row?.count === 0).pipe(
          Effect.tap(() => Effect.sync(() => signatures++)),
          Effect.andThen(sign(curve, digest))
        )
      yield* world.accept()
      yield* world.poll()
      assert.strictEqual(signatures, 1)
    })
  )
})
