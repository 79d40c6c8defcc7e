// Two instances check more relayers than they can at once, and send webhooks, and one of them is killed. Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { authenticateRows } from "../../testkit/authenticateRows.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

/** Both instances check 64 at once, so that there is always one that waits for the next of them. */
const count = 80
const interval = 2000
const ids = Array.from({ length: count }, (_, index) => `r${index + 1}`)

const addressOf = (id: string) => `0x${id.slice(1).padStart(40, "0")}`

/** Inserts relayers with one signer each, all on one network and with one notification. */
const addRelayers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO signers (id, type, evm_address)
    SELECT 's' || n, 'plain', '0x' || lpad(n::text, 40, '0') FROM generate_series(1, ${count}::int) n`
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, own_network_id, address, paused, signer_id, notification_id)
    SELECT 'r' || n, 'Relayer ' || n, 'evm', 'stand-in', 'evm:stand-in', '0x' || lpad(n::text, 40, '0'), false, 's' || n, 'hook'
    FROM generate_series(1, ${count}::int) n`
  yield* authenticateRows(Service.masterKey)
})

describe("two instances that run the jobs", () => {
  it.live(
    "share the checks, continue when one is killed, and lose no webhook",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        const database = yield* TestDatabase.make
        const rpc = yield* EvmRpc.make({ chainId: 7n })
        const receiver = yield* Receiver.make
        const env = {
          ...Service.onServer(server, database),
          WATCH: "on",
          HEALTH_CHECK_INTERVAL_MS: String(interval),
          OUTBOUND_ALLOW: "127.0.0.0/8",
          RATE_LIMIT_BURST_SIZE: "100000"
        }
        const context = yield* Layer.build(PgClient.layer(clientConfig(server, database)))
        const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
        const [one, two] = yield* Effect.all(
          [Service.listen({ folder: home, env }), Service.listen({ folder: home, env })],
          { concurrency: "unbounded" }
        )
        const network = {
          name: "stand-in",
          network_type: "evm",
          chain_id: 7,
          rpc_urls: [rpc.url],
          average_blocktime_ms: 1000,
          required_confirmations: 1,
          symbol: "X"
        }
        for (const [path, body] of [
          ["networks", network],
          ["notifications", { id: "hook", url: receiver.url, signing_key: "x".repeat(32) }]
        ] as const) {
          const made = yield* one.call(`/api/v1/${path}`, { body })
          assert.strictEqual(made.status, 201, made.text)
        }
        yield* Effect.provideService(addRelayers, SqlClient.SqlClient, sql)

        /** The times of the checks of each account. */
        const checks = () => {
          const times = new Map(ids.map((id) => [addressOf(id), [] as Array<number>]))
          for (const { method, params, at } of rpc.seen) {
            if (method === "eth_getBalance") times.get((params as ReadonlyArray<string>)[0] ?? "")?.push(at)
          }
          return times
        }
        const seenTimes = (times: number, after = 0) =>
          [...checks().values()].filter((at) => at.filter((moment) => moment > after).length >= times).length

        yield* until(
          "three checks of every relayer",
          Effect.sync(() => (seenTimes(3) === count ? true : undefined))
        )
        for (const [address, at] of checks()) {
          const gaps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0))
          assert.isAtLeast(Math.min(...gaps), interval / 2, `${address} is checked once per period: ${gaps.join()}`)
        }

        // Both instances get patches while one of them is killed.
        const acknowledged = new Set<string>()
        const patch = (id: string, service: Service.Listening) =>
          service.call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { paused: true } }).pipe(
            Effect.tap(({ status }) => Effect.sync(() => void (status === 200 && acknowledged.add(id)))),
            Effect.ignoreCause
          )
        const patches = Effect.forEach(ids, (id, index) => patch(id, index % 2 === 0 ? one : two), { concurrency: 8 })
        const killer = until(
          "half of the patches",
          Effect.sync(() => (acknowledged.size >= count / 2 ? true : undefined))
        ).pipe(Effect.andThen(one.kill("SIGKILL")))
        yield* Effect.all([patches, killer], { concurrency: "unbounded" })
        yield* one.exited
        const killedAt = Date.now()
        const claims = Effect.map(
          sql<{ token: string }>`SELECT claimed_by AS token FROM relayer_checks WHERE claimed_by IS NOT NULL`,
          (rows) => rows.map(({ token }) => token)
        )
        const heldAtTheKill = new Set(yield* claims)
        assert.isAtLeast(acknowledged.size, count / 2)

        const paused = () =>
          receiver.seen.filter(({ json }) => json.payload.payload_type === "relayer_paused").map(({ json }) => json)
        yield* until(
          "a webhook for every patch that was acknowledged",
          Effect.sync(() => {
            // A webhook that the killed instance was sending is sent again when its lease ends.
            const received = new Set(paused().map(({ payload }) => payload.relayer?.id))
            return [...acknowledged].every((id) => received.has(id)) ? true : undefined
          })
        )
        for (const id of acknowledged) {
          const deliveries = paused().filter(({ payload }) => payload.relayer?.id === id)
          assert.strictEqual(new Set(deliveries.map((delivery) => delivery.id)).size, 1, "duplicates carry the same id")
        }

        // Checks of the killed instance are taken over when their leases end. All others continue.
        const leased = sql<{ n: bigint }>`
          SELECT count(*) AS n FROM relayer_checks WHERE claimed_by IS NOT NULL AND next_check_at > now() + interval '3 seconds'
            AND next_check_at < now() + interval '61 seconds'`
        yield* until(
          "two more checks of every relayer that the killed instance was not checking",
          Effect.map(Effect.orDie(leased), ([row]) =>
            seenTimes(2, killedAt) + Number(row?.n) >= count ? true : undefined
          )
        )
        yield* until(
          "two checks of most relayers by the other instance",
          Effect.sync(() => (seenTimes(2, killedAt) >= count * 0.8 ? true : undefined))
        )
        assert.deepStrictEqual(yield* Service.stop(two), { code: 0, signal: null })
        // Leases of the killed instance end later, if no other instance takes them over.
        const held = (yield* claims).filter((token) => !heldAtTheKill.has(token))
        assert.deepStrictEqual(held, [], "an instance that is stopped releases its checks")
      }).pipe(Effect.scoped),
    600_000
  )
})
