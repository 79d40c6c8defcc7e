// A caller takes as much as it can, beside another caller: each attack is compared with the same load without it.
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Listening } from "../testkit/process/Service.ts"
import { attacks, silentServer, startingTime } from "./Attacks.ts"
import type { Attack } from "./Attacks.ts"
import type { Case, Tally } from "./Case.ts"
import * as Load from "./Load.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"

/** Each attack is measured in turns with the same load without it. The machine's other work changes from round to round. */
const rounds = 5

/** Milliseconds. */
const during = 4000

/** Milliseconds between two requests of a balancer for readiness. */
const probing = 200

/** The rate limits of a service with default settings: they are a part of the protection. */
const defaultRates = { RATE_LIMIT_REQUESTS_PER_SECOND: "100", RATE_LIMIT_BURST_SIZE: "300" }

/** Records of the audit log: a verification takes a second or more. */
const records = 50_000

/** Relayers of 45 kB. */
const large = 90

/** Milliseconds that a response may occupy the event loop. */
const longestPiece = 50

/** Milliseconds between two samples of the service, which are part of its measured delay. */
const resolution = 20

const whitelist = Array.from({ length: 1000 }, (_, n) => `0x${String(n).padStart(40, "0")}`)

const keyWith = Effect.fnUntraced(function* (service: Listening, scopes: ReadonlyArray<string>) {
  const { text } = yield* service.call("/api/v1/api-keys", { body: { name: "isolation", scopes } })
  return (JSON.parse(text) as { readonly data: { readonly key: string } }).data.key
})

const prepare = Effect.fnUntraced(function* (service: Listening, silent: string) {
  const relayer = { network: "sepolia", network_type: "evm", paused: false, signer_id: "s" }
  yield* service.call("/api/v1/signers", { body: { id: "s", type: "plain" } })
  yield* service.call("/api/v1/notifications", { body: { id: "attacked", type: "webhook", url: silent } })
  const attacked = { ...relayer, id: "attacked", name: "x", custom_rpc_urls: [{ url: silent }] }
  yield* service.call("/api/v1/relayers", { body: attacked })
  for (let n = 0; n < large; n++) {
    const body = { ...relayer, id: `large${n}`, name: "x", policies: { whitelist_receivers: whitelist } }
    yield* service.call("/api/v1/relayers", { body })
  }
})

/** Fills the audit log, and waits until all records are linked. */
const fillAudit = Effect.fnUntraced(function* (service: Listening, database: PgClient.PgPoolConfig) {
  yield* Sql.run(
    database,
    `INSERT INTO audit (key_id, action, resource, resource_id)
     SELECT 'administrator', 'signer.created', 'signer', 'x' || n FROM generate_series(1, ${records}) n`
  )
  yield* Effect.repeat(Effect.delay(service.call("/metrics/audit_unlinked_records"), "1 second"), {
    until: ({ text }) => /^audit_unlinked_records 0$/m.test(text)
  })
})

/** The longest delay of the event loop since the last call, in milliseconds. */
const eventLoop = (service: Listening) =>
  Effect.map(service.call("/metrics/nodejs_eventloop_delay_seconds"), ({ text }) =>
    Math.max(0, Number(/quantile="1"\} (\S+)/.exec(text)?.[1]) * 1000 - resolution)
  )

const median = (values: ReadonlyArray<number>) => Load.quantile(values, 0.5)

interface Measured {
  readonly p99: number
  readonly delay: number
}

const measure = Effect.fnUntraced(function* (service: Listening, key: string, tally: Tally, name: string) {
  yield* eventLoop(service)
  const probes: Array<Promise<Requests.Outcome>> = []
  const timer = setInterval(() => probes.push(Requests.send(`${service.baseUrl}/api/v1/ready`)), probing)
  const url = `${service.baseUrl}/api/v1/relayers?per_page=10&q=attacked`
  const load = { url, key: () => key, connections: 4, during, interval: 50 }
  const { statuses, times } = yield* Effect.promise(() => Load.run(load))
  clearInterval(timer)
  const ready = yield* Effect.promise(() => Promise.all(probes))
  const administrator = yield* service.call("/api/v1/signers/s")
  const delay = yield* eventLoop(service)
  tally.expect([...statuses.keys()].join() === "200", `${name}: others get 200: ${[...statuses.keys()].join(", ")}`)
  tally.expect(
    ready.every(({ status }) => status === 200),
    `${name}: readiness stays 200: ${Requests.statuses(ready)}`
  )
  tally.expect(administrator.status === 200, `${name}: the administrator is served: ${administrator.status}`)
  const measured: Measured = { p99: Load.quantile(times, 0.99), delay }
  return measured
})

export const Isolation: Case = {
  name: "isolation",
  promise:
    "a caller that takes all it can: the p99 of another caller at most doubles (three times beside large pages), readiness stays 200, no response occupies the event loop for 50 ms",
  parts: Object.keys(attacks),
  run: ({ tally, isChosen }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen({ OUTBOUND_ALLOW: "127.0.0.0/8", ...defaultRates })
      yield* prepare(service, yield* silentServer)
      yield* fillAudit(service, yield* world.database)
      const scopes = ["notifications:*", "relayers:*", "events:read", "signers:*", "audit:read"]
      const target = { baseUrl: service.baseUrl, key: yield* keyWith(service, scopes) }
      const other = yield* keyWith(service, ["relayers:read"])

      const beside = (name: string, { start }: Attack) =>
        Effect.scoped(
          Effect.andThen(start(target), Effect.delay(measure(service, other, tally, name), startingTime + 500))
        )

      yield* measure(service, other, tally, "warm-up")
      for (const [name, attack] of Object.entries(attacks).filter(([name]) => isChosen(name))) {
        const alone: Array<Measured> = []
        const attacked: Array<Measured> = []
        for (let round = 0; round < rounds; round++) {
          alone.push(yield* Effect.delay(measure(service, other, tally, name), "1 second"))
          attacked.push(yield* beside(name, attack))
        }
        const p99 = (of: ReadonlyArray<Measured>) => median(of.map((each) => each.p99))
        const delay = (of: ReadonlyArray<Measured>) => median(of.map((each) => each.delay))
        const ratio = median(attacked.map((each, round) => each.p99 / (alone[round]?.p99 ?? Number.NaN)))
        tally.set(
          `${attack.count} ${name}`,
          `p99 ${p99(alone).toFixed(1)} → ${p99(attacked).toFixed(1)} ms (${ratio.toFixed(2)}), event loop ${delay(alone).toFixed(0)} → ${delay(attacked).toFixed(0)} ms`
        )
        const promised = `${name}: the p99 of others is at most ${attack.factor} times as high`
        tally.expect(ratio <= attack.factor, `${promised}: ${ratio.toFixed(2)}`)
        const allowed = Math.max(longestPiece, 2 * delay(alone))
        tally.expect(delay(attacked) <= allowed, `${name}: event loop delay: ${delay(attacked).toFixed(0)} ms`)
      }
    })
}
