// The health job: instances share it, faults do not stop it, and another instance takes over its checks.
// Checks are due by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import { Relayers } from "../../../src/server/relayers/Relayers.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import { NetworkName } from "../../../src/domain/network/Network.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Draining } from "../../../src/server/lifecycle/Lifecycle.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { chains, idOf, insertRelayers, instance, well } from "./fixtures.ts"

/** Creates a database with this many relayers, and a connection for the test. */
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

/** The smallest number of checks among the 200 relayers. */
const least = (begun: ReadonlyMap<string, ReadonlyArray<number>>) =>
  begun.size < 200 ? 0 : Math.min(...[...begun.values()].map((times) => times.length))

const count = (ids: ReadonlyArray<string>, wanted: string) => ids.filter((id) => id === wanted).length

describe("health jobs", () => {
  it.live("of two instances check each of 200 relayers once per period, and never concurrently", () =>
    Effect.gen(function* () {
      const { name } = yield* database(200)
      const busy = new Set<string>()
      const begun = new Map<string, ReadonlyArray<number>>()
      let overlaps = 0
      const inspect = (id: RelayerId) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            begun.set(id, [...(begun.get(id) ?? []), performance.now()])
            if (busy.has(id)) overlaps++
            else busy.add(id)
          }),
          () => Effect.as(Effect.sleep("5 millis"), well),
          () => Effect.sync(() => void busy.delete(id))
        )
      const [one, other] = [chains(inspect), chains(inspect)]
      yield* instance(name, one.layer, "2 seconds")
      yield* instance(name, other.layer, "2 seconds")
      yield* holds("three checks of every relayer", () => least(begun) >= 3)
      assert.isAbove(Math.min(one.seen.length, other.seen.length), 0)
      assert.strictEqual(overlaps, 0)
      // A period is 2 seconds, or up to a fifth shorter.
      const gaps = [...begun.values()].flatMap((times) => times.slice(1).map((at, index) => at - (times[index] ?? at)))
      assert.isAtLeast(Math.min(...gaps), 1590)
    })
  )

  it.live("continue while one check never ends and another one is a defect", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(40)
      const chain = chains((id) => {
        if (id === idOf(1)) return Effect.never
        return id === idOf(2) ? Effect.die(new Error("a defect")) : Effect.succeed(well)
      })
      yield* instance(name, chain.layer, "1 second")
      yield* holds("three checks", () => count(chain.seen, idOf(40)) >= 3)
      yield* holds("another check after a defect", () => count(chain.seen, idOf(2)) >= 2)
      const healthy = sql`SELECT 1 FROM relayer_checks WHERE state ->> 'status' = 'healthy'`
      yield* until(
        "38 healthy relayers",
        Effect.orDie(Effect.map(healthy, ({ length }) => (length === 38 ? true : undefined)))
      )
      assert.strictEqual(count(chain.seen, idOf(1)), 1)
    })
  )

  it.live("release their checks when they stop, and another instance runs them at once", () =>
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

  it.live("take over the checks of a dead instance when their lease ends", () =>
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

  it.live("claim nothing while the instance drains", () =>
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

  it.effect("check a relayer as soon as it is created or its policies change, without waiting for the next poll", () =>
    Effect.gen(function* () {
      const { name, sql } = yield* database(0)
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
      // The test clock stands still, so the job does not poll.
      yield* TestClock.withLive(holds("the first check", () => chain.seen.length === 1))
      // A check that is due while the row of the former one is locked is found by the next poll.
      const checked = sql`SELECT 1 FROM relayer_checks WHERE checked_at IS NOT NULL`
      yield* TestClock.withLive(until("its result", Effect.orDie(Effect.map(checked, ([row]) => row))))
      yield* relayers.update(id, { policies: { min_balance: 3 } })
      yield* TestClock.withLive(holds("the second check", () => chain.seen.length === 2))
    })
  )
})
