// One trace from the request to the confirmation: the process that sends is not the one that accepted.
import { assert } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledger, process } from "../ledger/Fixtures.ts"
import { finish } from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

/** A tracer that keeps its spans. */
const collector = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

layerEach(ledger)("the trace of a transaction", (it) => {
  it.effect("begins with the request in one process and ends with the confirmation in another one", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const accepting = collector()
      const [{ stored }] = yield* Effect.flatMap(Ledger, (transactions) =>
        transactions.accept(world.account, [newTransaction(0)])
      ).pipe(Effect.withSpan("request"), Effect.withTracer(accepting.tracer), Effect.provideContext(yield* process()))
      const sending = collector()
      yield* Effect.gen(function* () {
        const other = yield* World.make()
        yield* other.poll()
        yield* finish(other)
      }).pipe(Effect.withTracer(sending.tracer), Effect.provideContext(yield* process()))

      assert.strictEqual((yield* world.transaction(stored.id)).state, "confirmed")
      const parents = accepting.spans.map(({ spanId }) => spanId)
      const request = accepting.spans.find(({ name }) => name === "request") ?? assert.fail("no span of the request")
      const own = sending.spans.filter(({ name }) => name.startsWith("transaction."))
      assert.deepStrictEqual(
        own.map(({ name }) => name),
        ["transaction.sign", "transaction.broadcast", "transaction.confirmed"]
      )
      for (const span of own) {
        assert.strictEqual(span.traceId, request.traceId)
        assert.strictEqual(span.attributes.get("transaction.id"), stored.id)
        assert.include(parents, span.parent._tag === "Some" ? span.parent.value.spanId : "")
        assert.lengthOf(span.links, 1)
      }
    })
  )

  it.effect("is not exported if the caller does not sample its trace", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const unsampled = Tracer.externalSpan({ traceId: "ab".repeat(16), spanId: "cd".repeat(8), sampled: false })
      const [{ stored }] = yield* Effect.flatMap(Ledger, (transactions) =>
        transactions.accept(world.account, [newTransaction(0)])
      ).pipe(
        Effect.withSpan("request", { parent: unsampled }),
        Effect.withTracer(collector().tracer),
        Effect.provideContext(yield* process())
      )
      const { spans, tracer } = collector()
      yield* Effect.withTracer(Effect.andThen(world.poll(), finish(world)), tracer)
      assert.strictEqual((yield* world.transaction(stored.id)).state, "confirmed")
      const own = spans.filter(({ traceId }) => traceId === unsampled.traceId)
      assert.isNotEmpty(own)
      assert.deepStrictEqual(
        own.filter(({ sampled }) => sampled).map(({ name }) => name),
        []
      )
    })
  )

  it.effect("does not exist for a request without one", () =>
    Effect.gen(function* () {
      const { spans, tracer } = collector()
      const world = yield* World.make()
      const [id] = yield* world.accept()
      yield* Effect.withTracer(Effect.andThen(world.poll(), finish(world)), tracer)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.isFalse(spans.some(({ name }) => name.startsWith("transaction.")))
    })
  )
})
