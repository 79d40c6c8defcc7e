// Checks whose result is dropped: the claim, the relayer or the request has gone meanwhile.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import { chain, claiming, events, fresh, live, wrong } from "./CheckOne.ts"
import { well } from "./fixtures.ts"

layer(live)("a check", (it) => {
  it.effect("whose claim another instance has taken over is discarded", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh(wrong, well)
      const sql = yield* SqlClient.SqlClient
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      yield* sql`UPDATE relayer_checks SET claimed_by = 'theirs'`
      yield* checks.run(claim)
      const check = Option.getOrThrow(yield* repo.find(id))
      assert.strictEqual(check.claimed_by, "theirs")
      assert.strictEqual(check.state.status, "unknown")
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
      assert.deepStrictEqual(yield* events, [])
    })
  )

  it.effect("during which the policies of the relayer change is discarded, and the next check is due at once", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<ChainSnapshot>()
      let begun = 0
      const begin = Effect.suspend(() => (++begun === 2 ? Deferred.succeed(inspecting, undefined) : Effect.void))
      chain.inspect = () => Effect.andThen(begin, Deferred.await(answer))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(Effect.all([checks.run(claim), checks.now(id)], { concurrency: 2 }))
      yield* Deferred.await(inspecting)
      yield* relayers.update(id, { policies: { min_balance: 7 } })
      yield* Deferred.succeed(answer, wrong)
      yield* Fiber.join(running)
      assert.strictEqual(Option.getOrThrow(yield* repo.find(id)).state.status, "unknown")
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
      assert.strictEqual((yield* repo.claim(claiming)).length, 1)
    })
  )

  it.effect("that ends in a defect changes nothing and is due again later", () =>
    Effect.gen(function* () {
      const { checks, repo, id } = yield* fresh()
      chain.inspect = () => Effect.die(new Error("a defect"))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      yield* checks.run(claim)
      const check = Option.getOrThrow(yield* repo.find(id))
      assert.isUndefined(check.claimed_by)
      assert.strictEqual(check.state.status, "unknown")
      assert.deepStrictEqual(yield* repo.claim(claiming), [])
    })
  )

  it.effect("that is interrupted releases its claim and is due at once", () =>
    Effect.gen(function* () {
      const { checks, repo } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      chain.inspect = () => Effect.andThen(Deferred.succeed(inspecting, undefined), Effect.never)
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(checks.run(claim))
      yield* Deferred.await(inspecting)
      assert.deepStrictEqual(yield* repo.claim(claiming), [])
      yield* Fiber.interrupt(running)
      assert.strictEqual((yield* repo.claim(claiming)).length, 1)
    })
  )

  it.effect("of a relayer that is deleted meanwhile changes nothing", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<ChainSnapshot>()
      chain.inspect = () => Effect.andThen(Deferred.succeed(inspecting, undefined), Deferred.await(answer))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(checks.run(claim))
      yield* Deferred.await(inspecting)
      yield* relayers.delete(id)
      yield* Deferred.succeed(answer, wrong)
      yield* Fiber.join(running)
      assert.deepStrictEqual(
        (yield* events).map(({ type }) => type),
        ["relayer.deleted"]
      )
      assert.strictEqual((yield* Effect.flip(checks.now(id)))._tag, "RelayerNotFound")
    })
  )
})
