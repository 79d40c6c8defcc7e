// What a plan and an apply of 2,200 objects cost beside 1,000 API keys: processor time, SQL statements and memory.
// The time of a request is that of the clock of the machine.
import { assert } from "@effect/vitest"
import { Duration, Effect, Layer, Tracer } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { median } from "../../../bench/harness/Statistics.ts"
import * as Server from "../../../src/server/Server.ts"
import { isLong } from "../../../testkit/Depth.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call } from "../../../testkit/TestApi.ts"
import { applied, planned, signingKey } from "./requests.ts"

const maxStatements = 20

/** Other processes may use the processor most of the time, so that the test limits processor time instead of elapsed time. */
const patience = Duration.toMillis("5 minutes")

/** Processor time, in milliseconds, that this process uses while it runs an effect. */
const processorTimeOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = process.cpuUsage()
    return Effect.map(self, (value) => {
      const { system, user } = process.cpuUsage(before)
      return { value, milliseconds: (system + user) / 1000 }
    })
  })

/** Bytes that a plan may use beside what the service uses without it. */
const maxBytes = 64 * 1024 * 1024

/** What a plan without changes may cost: so many times the processor time of reading the same objects by their lists. */
const maxTimesLists = 2

/** How often both are measured, by turns. The median of three is less exact, and a failure measures again. */
const rounds = isLong ? 10 : 3

/** How often they are measured on a machine that is busy in every one of the usual rounds. */
const maxRounds = 30

/** How many objects of each kind the document has. */
const counts = { networks: 50, notifications: 50, signers: 1000, relayers: 1000, api_keys: 100 }

/** API keys of the service that the document does not have. */
const otherKeys = 900

/** Items of a page of the lists. With pages of 1,000 the lists take half of the time, and the plan takes more than twice as long as they. */
const perPage = 100

const total = Object.values(counts).reduce((sum, count) => sum + count, 0)

const ids = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`)

const section = (count: number, body: (id: string) => object, keyOf: (id: string) => string = (id) => id) =>
  Object.fromEntries(ids(count).map((id) => [keyOf(id), body(id)]))

/** A private key that no other id has. A plan compares all of them with those of the service. */
const keyOf = (id: string) => id.slice(1).padStart(64, "1")

const relayer = (id: string) => ({
  name: id,
  network_type: "evm",
  network: "sepolia",
  signer_id: id,
  notification_id: "r0"
})

const document = {
  version: 1,
  name: "large",
  networks: section(
    counts.networks,
    () => ({ from: "sepolia" }),
    (id) => `evm:${id}`
  ),
  notifications: section(counts.notifications, (id) => ({
    url: `https://hooks.example.com/${id}`,
    signing_key: signingKey
  })),
  signers: section(counts.signers, (id) => ({ type: "plain", config: { key: keyOf(id) } })),
  relayers: section(counts.relayers, relayer),
  api_keys: section(counts.api_keys, (id) => ({ name: id, scopes: ["relayers:read"] }))
}

const collectGarbage = () => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  if (typeof collect === "function") collect()
}

/** A plan has more than 1,000 spans. Garbage is collected at the start of some of them, so that only what is in use counts. */
const spansBetweenCollections = 100

/** Keeps the spans, and the largest heap that was in use at the start of one. */
const observer = () => {
  const spans: Array<Tracer.NativeSpan> = []
  let largestHeap = 0
  let isWatching = false
  const tracer = Tracer.make({
    span: (options) => {
      if (isWatching && spans.length % spansBetweenCollections === 0) {
        collectGarbage()
        largestHeap = Math.max(largestHeap, process.memoryUsage().heapUsed)
      }
      const span = new Tracer.NativeSpan(options)
      if (isWatching) spans.push(span)
      return span
    }
  })
  const begin = () => {
    spans.length = 0
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    largestHeap = before
    isWatching = true
    return {
      bytes: () => largestHeap - before,
      end: () => {
        isWatching = false
      }
    }
  }
  /** Jobs of the service have traces of their own. */
  const statementsOf = (name: string) => {
    const trace = spans.find((span) => span.name === name)?.traceId ?? assert.fail(`no span ${name}`)
    return spans.filter((span) => span.traceId === trace && span.attributes.has("db.query.text")).length
  }
  return { tracer, begin, statementsOf }
}

const { begin, statementsOf, tracer } = observer()

const api = TestApi.layer({ server: { ...Server.defaults, requestTimeoutMs: patience } })

const createKeys = Effect.forEach(
  ids(otherKeys),
  (id) =>
    Effect.map(call("/api/v1/api-keys", { body: { name: id, scopes: ["relayers:read"] } }), ({ status, text }) =>
      assert.strictEqual(status, 201, text)
    ),
  { concurrency: 8, discard: true }
)

/** The objects of the document by the lists of their kinds. */
const readLists = Effect.gen(function* () {
  for (const [path, count] of Object.entries({ ...counts, api_keys: counts.api_keys + otherKeys })) {
    const pages = Math.ceil(count / perPage)
    for (let page = 1; page <= pages; page += 1) {
      const url = `/api/v1/${path.replace("_", "-")}?page=${page}&per_page=${perPage}`
      const { status, text } = yield* call(url)
      assert.strictEqual(status, 200, text)
    }
  }
})

/**
 * Measures both by turns. `least`: milliseconds of processor time of the first one. `times`: how often it takes the time of the other
 * one, which is the median of the turns: a load of the machine slows both measurements of a turn.
 */
const compared = Effect.fnUntraced(function* <A, B, E, R>(one: Effect.Effect<A, E, R>, other: Effect.Effect<B, E, R>) {
  let least = Infinity
  const ratios: Array<number> = []
  for (let round = 0; round < maxRounds; round += 1) {
    if (round >= rounds && median(ratios) <= maxTimesLists) break
    const { milliseconds } = yield* processorTimeOf(one)
    least = Math.min(least, milliseconds)
    ratios.push(milliseconds / (yield* processorTimeOf(other)).milliseconds)
  }
  return { least, times: median(ratios) }
})

layerEach(api.pipe(Layer.provide(Layer.succeed(Tracer.Tracer, tracer))))("a large document", (it) => {
  it.live(
    "is applied within the time of a request; its next plan is empty, with few statements and little memory",
    () =>
      Effect.gen(function* () {
        yield* createKeys
        const { milliseconds, value } = yield* processorTimeOf(applied(document))
        assert.strictEqual(value.changed.length, total)
        assert.isAtMost(milliseconds, Server.defaults.requestTimeoutMs)
        const { bytes, end } = begin()
        const plan = yield* planned(document)
        assert.deepStrictEqual(plan.counts, { create: 0, change: 0, delete: 0, unchanged: total })
        const statements = statementsOf("Configuration.plan")
        assert.isAbove(statements, 5)
        assert.isAtMost(statements, maxStatements)
        assert.isAtMost(bytes(), maxBytes)
        end()
        const { least, times } = yield* compared(planned(document), readLists)
        assert.isAtMost(times, maxTimesLists)
        assert.isAtMost(least, Server.defaults.requestTimeoutMs)
      })
  )
})
