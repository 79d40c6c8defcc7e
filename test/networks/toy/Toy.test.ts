// The core runs a network that it does not know: requests, lanes with two accounts, sequences above 2^53, places that are given
// up, processes that die, and a ledger from a copy. Heights pass by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { CrashPoint } from "../../../src/server/lanes/LaneSending.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { key } from "../../server/lanes/fixtures.ts"
import * as Processes from "../../server/lanes/Processes.ts"
import * as ToyChain from "./ToyChain.ts"

const chain = ToyChain.make()
const networks = [ToyChain.network(chain)]

/** The API without jobs: only processes of the test send. */
const api = TestApi.layer({ networks }).pipe(Layer.provideMerge(Logger.layer([])))

/** A relayer of the toy network, with its address. */
const relayer = Effect.gen(function* () {
  const id = randomUUID()
  yield* Prepared.create("signers", { id, type: "plain", config: { key: key() } })
  const body = { id, name: "Toy", network_type: "stellar", network: "testnet", signer_id: id, paused: false }
  const { address } = (yield* Prepared.create("relayers", body)) as { readonly address?: string }
  return {
    id,
    address: address ?? assert.fail("the relayer has no address"),
    path: `/api/v1/relayers/${id}/transactions`
  }
})

interface Shown {
  readonly id: string
  readonly status: string
  readonly code?: string
  readonly network_type: string
}

const send = Effect.fnUntraced(function* (path: string, to: string, amount = 1) {
  const { status, json, text } = yield* TestApi.call(path, { body: { to, amount } })
  assert.strictEqual(status, 200, text)
  return json.data as Shown
})

const get = (path: string, id: string) => Effect.map(TestApi.call(`${path}/${id}`), ({ json }) => json.data as Shown)

/** Milliseconds between two heights: many steps of a lane. */
const heightEvery = 300

/** Heights pass until the test ends. */
const growing = Effect.forkScoped(Effect.repeat(Effect.sync(chain.grow), Schedule.spaced(heightEvery)))

/** Waits until the transaction has the status, and the code. */
const becomes = (path: string, id: string, status: string, code?: string) =>
  until(
    `${status} ${code ?? ""}`,
    Effect.map(get(path, id), (shown) =>
      shown.status === status && (code === undefined || shown.code === code) ? shown : undefined
    )
  )

/** A process that sends, while heights pass. */
const start = Effect.fnUntraced(function* (crashAt?: CrashPoint) {
  yield* growing
  return yield* Processes.start(crashAt, networks)
})

/** Names of receivers have only letters. */
const receiver = () =>
  randomUUID()
    .replaceAll(/[^a-f]/g, "")
    .padEnd(4, "x")

layer(api, { excludeTestServices: true })("a network that the core does not know", (it) => {
  it.effect("takes the bodies of its own, and refuses others by their fields", () =>
    Effect.gen(function* () {
      const { path } = yield* relayer
      const refused = yield* TestApi.call(path, { body: { to: "0x12", value: 1 } })
      assert.strictEqual(refused.status, 400)
      for (const field of ["to: Expected 1 to 32 small letters", "amount", "value: is not a known field"]) {
        assert.include(refused.json.error ?? "", field)
      }
      const batch = yield* TestApi.call(`${path}/batch`, { body: { transactions: [{ to: "x", amount: -1 }] } })
      assert.include(batch.json.error ?? "", "transactions.0.amount")
      const { id, network_type } = yield* send(path, receiver())
      assert.strictEqual(network_type, "toy")
      assert.strictEqual((yield* TestApi.call(`${path}/simulate`, { body: { to: "x", amount: 1 } })).status, 501)
      assert.strictEqual((yield* TestApi.call(`${path}/${id}`, { method: "DELETE" })).status, 200)
      assert.strictEqual((yield* get(path, id)).status, "canceled")
    })
  )

  it.effect("sends through two accounts, with every digit of their sequences", () =>
    Effect.gen(function* () {
      const { path, address } = yield* relayer
      const to = receiver()
      const { end } = yield* start()
      const sent = yield* Effect.forEach(Array.from({ length: 8 }), () => send(path, to))
      for (const { id } of sent) yield* becomes(path, id, "confirmed")
      yield* end
      assert.strictEqual(chain.paid.get(to), 8n)
      const used = [address, ToyChain.channelOf(address)].map(
        (account) => chain.nextOf(account) - ToyChain.firstSequence
      )
      assert.strictEqual(
        used.reduce((sum, count) => sum + count, 0n),
        8n
      )
      assert.isTrue(
        used.every((count) => count > 0n),
        `${used}`
      )
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* sql<{ next: string }>`
        SELECT next_nonce::text AS next FROM lanes WHERE chain = 'stellar:toy' AND (address = ${address} OR parent_id =
          (SELECT id FROM lanes WHERE address = ${address} AND parent_id IS NULL)) ORDER BY id`
      assert.deepStrictEqual(
        lanes.map(({ next }) => BigInt(next)),
        [address, ToyChain.channelOf(address)].map(chain.nextOf)
      )
    })
  )

  it.effect("gives up the places of bytes that expired, and executes each request once", () =>
    Effect.gen(function* () {
      const { id: relayerId, path } = yield* relayer
      const to = receiver()
      chain.isForgetful = true
      const { end } = yield* start()
      const sent = yield* Effect.forEach(Array.from({ length: 4 }), () => send(path, to))
      for (const { id } of sent) yield* becomes(path, id, "submitted", "in_pool")
      const sql = yield* SqlClient.SqlClient
      const most = sql<{ most: number }>`
        SELECT max(ordinal)::float8 AS most FROM attempts a JOIN transactions t ON t.id = a.transaction_id
        WHERE t.relayer_id = ${relayerId}`
      yield* until(
        "a second attempt",
        Effect.map(Effect.orDie(most), ([row]) => ((row?.most ?? 0) > 1 ? true : undefined))
      )
      chain.isForgetful = false
      for (const { id } of sent) yield* becomes(path, id, "confirmed")
      yield* end
      assert.strictEqual(chain.paid.get(to), 4n)
    })
  )

  it.effect("ends a canceled request only after its bytes have expired", () =>
    Effect.gen(function* () {
      const { path } = yield* relayer
      const to = receiver()
      chain.isForgetful = true
      const { end } = yield* start()
      const { id } = yield* send(path, to)
      yield* becomes(path, id, "submitted")
      const canceled = yield* TestApi.call(`${path}/${id}`, { method: "DELETE" })
      assert.notStrictEqual((canceled.json.data as Shown).status, "canceled")
      yield* becomes(path, id, "canceled")
      chain.isForgetful = false
      yield* end
      assert.isUndefined(chain.paid.get(to))
    })
  )

  it.effect.each(["signed", "committed", "sent", "seen"] as const)(
    "loses nothing if a process dies at `%s`, and executes nothing twice",
    (at) =>
      Effect.gen(function* () {
        const { path } = yield* relayer
        const to = receiver()
        const first = yield* start(at)
        const { id } = yield* send(path, to)
        yield* first.reached
        yield* first.end
        const second = yield* Processes.start(undefined, networks)
        yield* becomes(path, id, "confirmed")
        yield* second.end
        assert.strictEqual(chain.paid.get(to), 1n)
      })
  )

  it.effect("after a restore, waits for an operator, and goes on behind what the chain has", () =>
    Effect.gen(function* () {
      const { id: relayerId, path, address } = yield* relayer
      const to = receiver()
      const { id } = yield* send(path, to)
      // Another copy of the ledger used a sequence, and the present one does not know its own database any more.
      chain.use(address)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE ledger_mark SET mark = jsonb_set(mark::jsonb, '{timeline}', '"000000FF"')::text`
      const { end } = yield* start()
      yield* becomes(path, id, "pending", "restored_unproven")
      assert.isUndefined(chain.paid.get(to))
      const answered = yield* TestApi.call(`/api/v1/relayers/${relayerId}/nonce/resync`, { body: { answer: "send" } })
      assert.deepStrictEqual(answered.json.data, { transaction_ids: [id] })
      yield* becomes(path, id, "confirmed")
      yield* end
      assert.strictEqual(chain.paid.get(to), 1n)
    })
  )
})
