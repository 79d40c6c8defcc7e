// Measures deliveries per second, and the time from the commit of an event to the arrival of its webhook, with 1, 100 and
// 1,000 receivers. The receivers are paths of one server in this process.
//
//   npm run bench:webhooks
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { RelayerId } from "../src/domain/relayer/Relayer.ts"
import { Changes } from "../src/server/changes/Changes.ts"
import { RelayerTargets } from "../src/server/relayers/RelayerTargets.ts"
import * as DeliveryJob from "../src/server/notifications/delivery/DeliveryJob.ts"
import * as Transaction from "../src/sql/Transaction.ts"
import { authenticateRows } from "../testkit/authenticateRows.ts"
import * as Bench from "./database.ts"

const relayers = 1000
const eventsOfEach = 2

/** The arrivals of webhooks: the id of the relayer, and the time in milliseconds. */
const arrivals: Array<{ readonly id: string; readonly at: number }> = []

const receiver = Effect.acquireRelease(
  Effect.callback<string>((resume) => {
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => (body += String(chunk)))
      request.on("end", () => {
        arrivals.push({ id: JSON.parse(body).payload.relayer.id, at: performance.now() })
        response.end()
      })
    }).listen(0, "127.0.0.1", () =>
      resume(Effect.succeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
    )
    server.unref()
  }),
  () => Effect.void
)

const fill = Effect.fnUntraced(function* (url: string, receivers: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers, notifications, deliveries, events CASCADE`
  yield* sql`
    INSERT INTO notifications (id, type, url)
    SELECT 'n' || n, 'webhook', ${url}::text || '/' || n FROM generate_series(0, ${receivers - 1}::int) n`
  yield* sql`
    INSERT INTO signers (id, type, evm_address) SELECT 's' || n, 'plain', '0x' || n FROM generate_series(1, ${relayers}::int) n`
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, notification_id)
    SELECT 'r' || n, 'x', 'evm', 'sepolia', '0x' || n, false, 's' || n, 'n' || (n % ${receivers}::int)
    FROM generate_series(1, ${relayers}::int) n`
  yield* authenticateRows(Bench.masterKey)
})

const measure = Effect.fnUntraced(function* (url: string, receivers: number) {
  yield* fill(url, receivers)
  const service = yield* RelayerTargets
  const changes = yield* Changes
  const transaction = yield* Transaction.make
  arrivals.length = 0
  const committed = new Map<string, Array<number>>()
  const start = performance.now()
  const happen = Effect.fnUntraced(function* (id: RelayerId) {
    yield* transaction(Effect.flatMap(service.hold(id), ({ value }) => changes.publish("relayer.paused", value)))
    committed.set(id, [...(committed.get(id) ?? []), performance.now()])
  })
  const ids = Array.from({ length: relayers * eventsOfEach }, (_, n) => RelayerId.make(`r${(n % relayers) + 1}`))
  yield* Effect.forEach(ids, happen, { concurrency: 4, discard: true })
  while (arrivals.length < ids.length) yield* Effect.sleep("10 millis")
  const seconds = (performance.now() - start) / 1000
  const seen = new Map<string, number>()
  const delays = arrivals.map(({ id, at }) => {
    const nth = seen.get(id) ?? 0
    seen.set(id, nth + 1)
    return at - (committed.get(id)?.[nth] ?? at)
  })
  const sorted = delays.toSorted((a, b) => a - b)
  const quantile = (q: number) => (sorted[Math.floor(sorted.length * q)] ?? 0).toFixed(0)
  yield* Console.log([receivers, (ids.length / seconds).toFixed(0), quantile(0.5), quantile(0.99)].join("\t"))
})

const program = Effect.gen(function* () {
  const url = yield* receiver
  yield* Console.log("receivers\tdeliveries/s\tp50 ms\tp99 ms")
  for (const receivers of [1, 100, 1000]) yield* measure(url, receivers)
}).pipe(Effect.scoped)

program.pipe(
  Effect.provide(Layer.provideMerge(DeliveryJob.layer, Bench.layer(10, ["127.0.0.0/8"]))),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  NodeRuntime.runMain
)
