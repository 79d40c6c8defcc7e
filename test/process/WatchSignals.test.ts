// What a service that watches does with its work when it is asked to stop: it finishes it, or leaves it to another at once.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer, signer } from "../../testkit/fixtures.ts"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const asked = { code: 0, signal: null }

const { custom_rpc_urls: _, policies: __, ...relayer } = evmRelayer

/** Far more than another look at the queue takes, and far less than a lease lasts. */
const soon = "10 seconds"

/** A service that watches a relayer of a chain and tells a receiver, both stand-ins; and a way to start one more. */
const watching = Effect.gen(function* () {
  const home = yield* folder
  const [rpc, receiver] = [yield* EvmRpc.make(), yield* Receiver.make]
  const env = {
    ...Service.onServer(inject("postgres"), yield* TestDatabase.make),
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
  return { one, start, create, rpc, receiver }
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

describe("a service that is asked to stop", () => {
  it.live("waits for the answer to a webhook that it is sending, and nobody sends it again", () =>
    Effect.gen(function* () {
      const { one, start, create, receiver } = yield* watching
      receiver.answer = () => "hang"
      yield* create
      yield* receiver.arrived(1)
      const two = yield* start
      yield* one.kill("SIGTERM")
      yield* drains(one)
      receiver.answer = () => undefined
      receiver.letGo()
      assert.deepStrictEqual(yield* one.exited, asked)
      const [delivery] = yield* deliveries(two)
      assert.deepInclude(delivery, { state: "delivered" })
      assert.lengthOf(delivery?.attempts ?? [], 1)
      // What comes later goes out by the other: it has looked at the queue since.
      const patched = yield* two.call("/api/v1/relayers/relayer-1", { method: "PATCH", body: { name: "Later" } })
      assert.strictEqual(patched.status, 200)
      yield* receiver.arrived(2)
      assert.deepStrictEqual(
        receiver.seen.map(({ json }) => json.payload.relayer?.name),
        ["Payouts", "Later"]
      )
    })
  )

  it.live("claims no more webhooks, and leaves to others at once what is not answered in five seconds", () =>
    Effect.gen(function* () {
      const { one, start, create, receiver } = yield* watching
      receiver.answer = () => "hang"
      yield* create
      yield* receiver.arrived(1)
      // Behind the first one, of the same relayer.
      yield* one.call("/api/v1/relayers/relayer-1", { method: "PATCH", body: { name: "Later" } })
      assert.deepStrictEqual(yield* Service.stop(one), asked)
      assert.lengthOf(receiver.seen, 1)
      receiver.answer = () => undefined
      const two = yield* start
      yield* Effect.timeout(receiver.arrived(3), soon)
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

  it.live("gives back a check that takes its time, and another one makes it at once", () =>
    Effect.gen(function* () {
      const { one, start, create, rpc } = yield* watching
      rpc.fail("hang")
      yield* create
      yield* until(
        "the look at the chain",
        Effect.sync(() => rpc.count("eth_chainId") > 0 || undefined)
      )
      assert.deepStrictEqual(yield* Effect.timeout(Service.stop(one), soon), asked)
      rpc.recover()
      const two = yield* start
      const health = Effect.map(
        two.call("/api/v1/relayers/relayer-1/explain"),
        ({ text }): string => JSON.parse(text).data.state
      )
      yield* until(
        "a good check",
        Effect.map(health, (state) => state === "healthy" || undefined),
        soon
      )
      assert.strictEqual(rpc.count("eth_getBalance"), 1)
    })
  )
})
