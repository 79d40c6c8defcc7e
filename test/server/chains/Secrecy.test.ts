// Metrics, spans and logs of calls to providers contain no more of a URL than its host.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Metric, References, Schema, Tracer } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { inspect } from "node:util"
import { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import type { Fault } from "../../../testkit/RpcServer.ts"
import { evm, make, urls } from "./fixtures.ts"

const faults: ReadonlyArray<Fault> = ["html", "huge", "wrong id", { status: 500 }, { status: 403 }, { error: -32000 }]

const encode = Schema.encodeSync(ChainSnapshot)

describe("the URL and the texts of a provider", () => {
  it.effect("are in no log, span, metric, snapshot or error, except for scheme, host and port", () => {
    const observed: Array<unknown> = []
    const logger = Logger.make((options) => {
      observed.push(Logger.formatStructured.log(options))
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        observed.push(span)
        return span
      }
    })
    return Effect.gen(function* () {
      const { call, chains } = yield* make({ breaker: { failures: 1 } })
      const dead = yield* RpcServer.dead
      for (const fault of faults) {
        const server = yield* EvmRpc.make()
        server.fail(fault)
        const given = urls(server.url, dead, server.url.replace("//", `//user:${RpcServer.secret}@`))
        observed.push(encode(yield* chains.inspect({ ...evm(), urls: given })))
        observed.push(yield* Effect.exit(call(given)))
      }
      const metrics = yield* PrometheusMetrics.format()
      observed.push(metrics)
      // These texts show that all places that could contain the secret are covered.
      const text = inspect(observed, { depth: 20, maxArrayLength: null, maxStringLength: null })
      for (const expected of [
        "RPC provider suspended after failures",
        "127.0.0.1",
        "/***",
        "Outbound.send",
        "eth_chainId",
        "rpc_failures_total"
      ]) {
        assert.include(text, expected)
      }
      assert.notInclude(text, RpcServer.secret)
      assert.notInclude(JSON.stringify(metrics), "127.0.0.1")
    }).pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provide(Logger.layer([logger]))
    )
  })
})

describe("calls", () => {
  it.effect("are counted per try, by network type, method and class", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 }, { method: "eth_getBalance" })
      const { chains } = yield* make({ attempts: 3 })
      yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      const lines = (yield* PrometheusMetrics.format()).split("\n")
      const labels = 'method="eth_getBalance",network_type="evm"'
      for (const line of [
        `rpc_calls_total{method="eth_chainId",network_type="evm"} 1`,
        // In a batch with another call, and alone.
        `rpc_calls_total{${labels}} 2`,
        `rpc_call_seconds_count{${labels}} 2`,
        `rpc_failures_total{class="unreachable",${labels}} 2`,
        'rpc_breakers{state="closed"} 1',
        'rpc_breakers{state="open"} 0'
      ]) {
        const sorted = (text: string) => [...text].sort().join("")
        assert.include(lines.map(sorted), sorted(line), line)
      }
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
