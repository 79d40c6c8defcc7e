// The jobs of an instance that is stopped: it finishes its work or releases it to other instances at once.
// Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, signer } from "../../testkit/fixtures.ts"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const asked = { code: 0, signal: null }

const { custom_rpc_urls: _, policies: __, ...relayer } = evmRelayer

/** An instance that checks a relayer and sends webhooks, with a fake chain and receiver, and a way to start another instance. */
const watching = Effect.gen(function* () {
  const home = yield* folder
  const database = yield* TestDatabase.make
  const client = PgClient.layer({ ...clientConfig(inject("postgres"), database), maxConnections: 1 })
  const sql = Context.get(yield* Layer.build(client), SqlClient.SqlClient)
  const [rpc, receiver] = [yield* EvmRpc.make(), yield* Receiver.make]
  const env = {
    ...Service.onServer(inject("postgres"), database),
    WATCH: "on",
    OUTBOUND_ALLOW: "127.0.0.0/8"
  }
  const start = Service.listen({ folder: home, env })
  const one = yield* start
  const notification = { id: relayer.notification_id, url: receiver.url }
  const custom_rpc_urls = [{ url: rpc.url }]
  const create = Effect.gen(function* () {
    for (const [path, body] of [
      ["signers", signer],
      ["notifications", notification],
      ["relayers", { ...relayer, custom_rpc_urls }]
    ] as const) {
      const made = yield* one.call(`/api/v1/${path}`, { body })
      assert.strictEqual(made.status, 201, made.text)
    }
  })
  return { one, start, create, rpc, receiver, sql }
})

const deliveries = (service: Service.Listening) =>
  Effect.map(
    service.call(`/api/v1/notifications/${relayer.notification_id}/deliveries`),
    ({ text }): ReadonlyArray<{ readonly state: string; readonly attempts: ReadonlyArray<unknown> }> =>
      JSON.parse(text).data
  )

const drains = (service: Service.Service) =>
  until(
    "the service to drain",
    Effect.sync(() => service.stdout().includes('"draining"') || undefined)
  )

describe.concurrent("an instance that is stopped", () => {
  it.live("waits for the response to a webhook that it is sending, which is not sent again", () =>
    Effect.gen(function* () {
      const { one, start, create, receiver } = yield* watching
      receiver.answer = () => "hang"
      yield* create
      yield* receiver.arrived(1)
      yield* one.kill("SIGTERM")
      yield* drains(one)
      receiver.answer = () => undefined
      receiver.letGo()
      assert.deepStrictEqual(yield* one.exited, asked)
      // Started only now, because the attempt of the first instance has a time limit of ten seconds.
      const two = yield* start
      const [delivery] = yield* deliveries(two)
      assert.deepInclude(delivery, { state: "delivered" })
      assert.lengthOf(delivery?.attempts ?? [], 1)
      // The other instance sends later webhooks, so it has polled the queue since.
      const patched = yield* two.call("/api/v1/relayers/relayer-1", { method: "PATCH", body: { name: "Later" } })
      assert.strictEqual(patched.status, 200)
      yield* receiver.arrived(2)
      assert.deepStrictEqual(
        receiver.seen.map(({ json }) => json.payload.relayer?.name),
        ["Payouts", "Later"]
      )
    })
  )

  it.live("claims no more webhooks, and releases those without a response within five seconds", () =>
    Effect.gen(function* () {
      const { one, start, create, receiver, sql } = yield* watching
      receiver.answer = () => "hang"
      yield* create
      yield* receiver.arrived(1)
      // Queued behind the first one, because it is for the same relayer.
      yield* one.call("/api/v1/relayers/relayer-1", { method: "PATCH", body: { name: "Later" } })
      assert.deepStrictEqual(yield* Service.stop(one), asked)
      assert.lengthOf(receiver.seen, 1)
      const released = yield* sql`SELECT 1 FROM deliveries WHERE claim IS NULL AND next_attempt_at <= clock_timestamp()`
      assert.lengthOf(released, 2)
      receiver.answer = () => undefined
      const two = yield* start
      yield* receiver.arrived(3)
      const ids = receiver.seen.map(({ headers }) => headers["webhook-id"])
      assert.strictEqual(ids[1], ids[0])
      assert.notStrictEqual(ids[2], ids[0])
      yield* until(
        "both to be delivered",
        Effect.map(deliveries(two), (all) => all.every(({ state }) => state === "delivered") || undefined)
      )
      assert.lengthOf(receiver.seen, 3)
    })
  )

  it.live("releases a slow check, which another instance runs at once", () =>
    Effect.gen(function* () {
      const { one, start, create, rpc, sql } = yield* watching
      rpc.fail("hang")
      yield* create
      yield* until(
        "the check of the chain",
        Effect.sync(() => rpc.count("eth_chainId") > 0 || undefined)
      )
      assert.deepStrictEqual(yield* Service.stop(one), asked)
      const released = yield* sql`
        SELECT 1 FROM relayer_checks WHERE claimed_by IS NULL AND next_check_at <= clock_timestamp()`
      assert.lengthOf(released, 1)
      rpc.recover()
      const two = yield* start
      const health = Effect.map(
        two.call("/api/v1/relayers/relayer-1/explain"),
        ({ text }): string => JSON.parse(text).data.state
      )
      yield* until(
        "a successful check",
        Effect.map(health, (state) => state === "healthy" || undefined)
      )
      assert.strictEqual(rpc.count("eth_getBalance"), 1)
    })
  )
})
