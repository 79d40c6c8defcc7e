// Prices of tokens: of the policy, or of a URL that the operator runs, at most a minute old and within their bounds.
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as http from "node:http"
import { Outbound } from "../../../src/outbound/Outbound.ts"
import { PriceSource } from "../../../src/server/prices/PriceSource.ts"
import type { PriceQuestion } from "../../../src/server/prices/PriceSource.ts"
import * as Target from "../../../testkit/Target.ts"

const sources = (allow: ReadonlyArray<string>) => PriceSource.layer.pipe(Layer.provide(Outbound.layer({ allow })))

/** A source that gives its answers in turn, and the last one again. It notes what it is asked. */
const serve = Effect.fnUntraced(function* (...answers: ReadonlyArray<{ status?: number; body: string }>) {
  const asked: Array<string> = []
  const server = http.createServer((request, response) => {
    const { status = 200, body } = answers[Math.min(asked.length, answers.length - 1)] ?? { body: "" }
    asked.push(request.url ?? "")
    response.writeHead(status, { "content-type": "application/json" }).end(body)
  })
  const { url } = yield* Target.listen(server)
  return { asked, url: url() }
})

const question = (url: string, token: Partial<PriceQuestion["token"]> = {}): PriceQuestion => ({
  network: "solana:devnet",
  source: { type: "http", url },
  token: { id: "mint", ...token }
})

const ask = (one: PriceQuestion) => Effect.flatMap(PriceSource, ({ rate }) => rate(one))
const refusal = (one: PriceQuestion) => Effect.map(Effect.flip(ask(one)), ({ reason }) => reason)

const good = JSON.stringify({ units: "150000000", native: "1000000000" })

layer(sources(["127.0.0.1"]))("a price", (it) => {
  it.effect("of a policy is its fraction, if it has one and names a source", () =>
    Effect.gen(function* () {
      const price = { units: 3n, native: 2n }
      const { at: _, ...found } = yield* ask({ network: "n", source: { type: "fixed" }, token: { id: "mint", price } })
      assert.deepStrictEqual(found, price)
      const none = { network: "n", source: { type: "fixed" }, token: { id: "mint" } } as const
      assert.strictEqual(yield* refusal(none), "the policy has no price for mint")
      const nowhere = yield* refusal({ network: "n", source: undefined, token: { id: "mint", price } })
      assert.strictEqual(nowhere, "the policy has no price_source")
    })
  )

  it.effect("of a URL is asked with network and token, and kept for a minute", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ body: good }, { body: JSON.stringify({ units: 1, native: 9 }) })
      const first = yield* ask(question(`${url}rate`))
      assert.deepStrictEqual([first.units, first.native], [150_000_000n, 1_000_000_000n])
      yield* TestClock.adjust(Duration.seconds(59))
      yield* ask(question(`${url}rate`))
      assert.deepStrictEqual(asked, ["/rate?network=solana%3Adevnet&token=mint"])
      yield* TestClock.adjust(Duration.seconds(2))
      assert.strictEqual((yield* ask(question(`${url}rate`))).native, 9n)
    })
  )

  it.effect("that is older than a minute is none, also if the source has just sent it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0))
      const { url } = yield* serve({
        body: JSON.stringify({ units: 1, native: 1, at: "2025-12-31T23:58:59Z" })
      })
      assert.strictEqual(yield* refusal(question(url)), "the price is older than 60 seconds")
    })
  )

  it.effect("outside of its bounds is none", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ body: good })
      const bounds = { min: { units: 1n, native: 10n }, max: { units: 1n, native: 20n } }
      assert.strictEqual(yield* refusal(question(url, { bounds })), "the price of mint is outside of its price_bounds")
    })
  )

  for (const [what, answer, reason] of [
    ["zero", { body: JSON.stringify({ units: 0, native: 1 }) }, "JSON that has units and native"],
    ["a fraction", { body: JSON.stringify({ units: 1.5, native: 1 }) }, "JSON that has units and native"],
    ["no JSON", { body: "1" }, "JSON that has units and native"],
    ["another status", { status: 500, body: good }, "status 500"],
    ["5 kB", { body: good.padEnd(5000) }, "more than 4096 bytes"]
  ] as const) {
    it.effect(`is none if the answer is ${what}`, () =>
      Effect.gen(function* () {
        const { asked, url } = yield* serve(answer)
        assert.include(yield* refusal(question(url)), reason)
        yield* refusal(question(url))
        assert.strictEqual(asked.length, 1, "a source that failed is not asked again at once")
      })
    )
  }
})

layer(sources([]))("a price source", (it) => {
  it.effect("on an address that is not public is not asked", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ body: good })
      assert.include(yield* refusal(question(url)), "loopback address")
      assert.strictEqual(asked.length, 0)
    })
  )
})
