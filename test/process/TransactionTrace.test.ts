// One trace from a request to the confirmation of its transaction, across two processes. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Anvil from "../../testkit/Anvil.ts"
import * as Collector from "../../testkit/Collector.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"

const dataOf = <A>({ text }: Service.Answer): A => JSON.parse(text).data

describe("two processes on one database", () => {
  it.live("continue the trace of the request in the process that sends its transaction", () =>
    Effect.gen(function* () {
      const collector = yield* Collector.make
      const node = yield* Anvil.start({ blockTime: 1 })
      const onServer = Service.onServer(inject("postgres"), yield* TestDatabase.make)
      const start = Effect.fnUntraced(function* (name: string, env: Record<string, string>) {
        const telemetry = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: name }
        return yield* Service.listen({
          folder: yield* folder,
          env: { ...onServer, ...telemetry, OUTBOUND_ALLOW: "127.0.0.1", ...env }
        })
      })
      const accepting = yield* start("accepting", { WATCH: "off" })
      const create = (path: string, body: object) =>
        Effect.tap(accepting.call(`/api/v1/${path}`, { body }), ({ status, text }) =>
          Effect.sync(() => assert.strictEqual(status, 201, text))
        )
      yield* create("networks", Anvil.networkOf(node, "local"))
      yield* create("signers", { id: "hot", type: "plain", config: { key: "5b".repeat(32) } })
      const relayer = { id: "r", name: "R", network_type: "evm", network: "local", signer_id: "hot", paused: false }
      const { address } = dataOf<{ readonly address: string }>(yield* create("relayers", relayer))
      yield* node.fund(address, 10n ** 18n)
      const sent = yield* accepting.call("/api/v1/relayers/r/transactions", {
        body: { to: address, value: "1", gas_limit: 21_000 },
        headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      })
      assert.strictEqual(sent.status, 200, sent.text)
      const { id } = dataOf<{ readonly id: string }>(sent)

      const sending = yield* start("sending", { WATCH: "on" })
      yield* until(
        "the confirmation",
        Effect.map(sending.call(`/api/v1/relayers/r/transactions/${id}`), (answer) =>
          dataOf<{ readonly status: string }>(answer).status === "confirmed" ? true : undefined
        )
      )
      // A process exports what it has when it stops.
      yield* Service.stop(accepting)
      yield* Service.stop(sending)

      const spans = collector.spans()
      const own = spans.filter((span) => span.traceId === traceId)
      const request = own.find(({ parentSpanId }) => parentSpanId === "b7ad6b7169203331")
      assert.strictEqual(request?.service, "accepting")
      const accepted = new Set(own.filter(({ service }) => service === "accepting").map(({ spanId }) => spanId))
      const steps = new Set(spans.filter(({ name }) => name.startsWith("Lane")).map(({ spanId }) => spanId))
      const about = own.filter(({ name }) => name.startsWith("transaction."))
      // On a busy machine bytes can be sent twice.
      assert.deepStrictEqual(
        [...new Set(about.map(({ name, service }) => `${service} ${name}`))],
        ["sending transaction.sign", "sending transaction.broadcast", "sending transaction.confirmed"]
      )
      for (const { parentSpanId, links } of about) {
        assert.isTrue(accepted.has(parentSpanId ?? ""))
        assert.lengthOf(links, 1)
        assert.isTrue(steps.has(links[0]?.spanId ?? ""))
      }
    })
  )
})
