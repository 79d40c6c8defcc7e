// The loop over checks: shared by instances, stopped by nothing, and handed over.
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import { NetworkName } from "../../../src/domain/network/Network.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Relayers } from "../../../src/server/relayers/Relayers.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import { Draining } from "../../../src/server/lifecycle/Draining.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { chains, idOf, insertRelayers, instance, well } from "./fixtures.ts"

/** A database with so many relayers, and a connection of the test's own. */
const database = Effect.fnUntraced(function* (relayers: number) {
  const name = yield* TestDatabase.make
  const sql = Context.get(
    yield* Layer.build(PgClient.layer(clientConfig(inject("postgres"), name))),
    SqlClient.SqlClient
  )
  yield* Effect.provideService(insertRelayers(relayers), SqlClient.SqlClient, sql)
  return { name, sql }
})

const holds = (what: string, check: () => boolean) =>
  until(
    what,
    Effect.sync(() => (check() ? true : undefined))
  )

const counts = (ids: ReadonlyArray<string>) => {
  const found = new Map<string, number>()
  for (const id of ids) found.set(id, (found.get(id) ?? 0) + 1)
  return found
}

describe("health jobs", () => {
  it.live("of two instances check each of 200 relayers once per period, and never one at the same time", () =>
    Effect.gen(function* () {
      const { name } = yield* database(200)
      const busy = new Set<string>()
      let overlaps = 0
      const look = (id: RelayerId) =>
        Effect.acquireUseRelease(
          Effect.sync(() => void (busy.has(id) ? overlaps++ : busy.add(id))),
          () => Effect.as(Effect.sleep("5 millis"), well),
          () => Effect.sync(() => void busy.delete(id))
        )
      const [one, other] = [chains(look), chains(look)]
      yield* instance(name, one.layer, "3 seconds")
      yield* instance(name, other.layer, "3 seconds")
      const started = performance.now()
      yield* holds("600 checks", () => one.seen.length + other.seen.length >= 600)
      const seconds = (performance.now() - started) / 1000
      const all = counts([...one.seen, ...other.seen])
      assert.strictEqual(all.size, 200)
      const [least, most] = [Math.min(...all.values()), Math.max(...all.values())]
      assert.isTrue(least >= 2 && most <= 4, `${least} to ${most}`)
      assert.isAbove(Math.min(one.seen.length, other.seen.length), 60)
      assert.strictEqual(overlaps, 0)
      // Two periods lie between the first check of a relayer and its third.
      assert.isAbove(seconds, 4)
    })
  )

  it.live("go on while one relayer's check never ends, and another's is a defect", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(40)
      const chain = chains((id) => {
        if (id === idOf(1)) return Effect.never
        return id === idOf(2) ? Effect.die(new Error("a defect")) : Effect.succeed(well)
      })
      yield* instance(name, chain.layer, "1 second")
      yield* holds("three rounds", () => chain.seen.filter((id) => id === idOf(40)).length >= 3)
      const found = counts(chain.seen)
      assert.strictEqual(found.get(idOf(1)), 1)
      assert.isAbove(found.get(idOf(2)) ?? 0, 1)
      const [row] = yield* sql<{ count: number }>`
        SELECT count(*)::int4 AS count FROM relayer_checks WHERE state ->> 'status' = 'healthy'`
      assert.strictEqual(row?.count, 38)
    })
  )

  it.live("give back what they have when they stop, and another instance takes it at once", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(10)
      const stuck = chains(() => Effect.never)
      const scope = yield* Scope.make()
      yield* Scope.provide(instance(name, stuck.layer, "1 minute"), scope)
      yield* holds("all of them running", () => stuck.seen.length === 10)
      const taken = yield* sql`SELECT 1 FROM relayer_checks WHERE claimed_by IS NOT NULL AND next_check_at > now()`
      assert.strictEqual(taken.length, 10)
      yield* Scope.close(scope, Exit.void)
      const left = yield* sql`SELECT 1 FROM relayer_checks WHERE claimed_by IS NULL AND next_check_at <= now()`
      assert.strictEqual(left.length, 10)
      const next = chains()
      yield* instance(name, next.layer, "1 minute")
      yield* holds("all of them checked", () => next.seen.length === 10)
    })
  )

  it.live("take over what a dead instance had, when its lease is over", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(3)
      yield* sql`UPDATE relayer_checks SET claimed_by = 'the dead', next_check_at = now() + interval '60 seconds'`
      const chain = chains()
      yield* instance(name, chain.layer, "1 minute")
      yield* sql`UPDATE relayer_checks SET next_check_at = now() WHERE relayer_id <> 'r3'`
      yield* holds("two checks", () => chain.seen.length === 2)
      assert.sameMembers([...chain.seen], [idOf(1), idOf(2)])
    })
  )

  it.live("claim nothing when the process drains", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(1)
      const chain = chains()
      const context = yield* instance(name, chain.layer, "1 minute")
      const checked = sql`SELECT 1 FROM relayer_checks WHERE checked_at IS NOT NULL`
      yield* until("a check", Effect.orDie(Effect.map(checked, ([row]) => row)))
      yield* Context.get(context, Draining).begin
      yield* sql`UPDATE relayer_checks SET next_check_at = now()`
      const other = chains()
      yield* instance(name, other.layer, "1 minute")
      yield* holds("another's check", () => other.seen.length === 1)
      assert.strictEqual(chain.seen.length, 1)
    })
  )

  it.effect(
    "check a relayer as soon as it is created, or its URLs change, without waiting for the next look around",
    () =>
      Effect.gen(function* () {
        const { name } = yield* database(0)
        const chain = chains()
        const context = yield* instance(name, chain.layer, "1 minute")
        const relayers = Context.get(context, Relayers)
        const signer = yield* Context.get(context, Signers).create({ type: "plain" })
        const id = RelayerId.make("new")
        yield* relayers.create({
          id,
          name: "New",
          network: NetworkName.make("sepolia"),
          network_type: "evm",
          paused: false,
          signer_id: signer.id
        })
        // No time passes by the test's clock.
        yield* TestClock.withLive(holds("the first check", () => chain.seen.length === 1))
        yield* relayers.update(id, { policies: { min_balance: 3 } })
        yield* TestClock.withLive(holds("the second check", () => chain.seen.length === 2))
      })
  )
})
