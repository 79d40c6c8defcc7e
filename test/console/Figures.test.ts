// The console: numbers of its pages that come from the service, in sentences and in the tables of plots.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { version } from "../../src/api/Version.ts"
import { ConsoleWindow, Whole, fieldOf, objectOf, textOf } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

/** Milliseconds. */
const hour = 3_600_000
const begin = DateTime.makeUnsafe("2026-01-02T00:00:00.000Z").epochMilliseconds

/** The cells of the table of a plot, row by row. */
const tableOf = async (shown: Shown, name: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const plot = await shown.until(name, () =>
    shown.all("figure.plot").find((one) => shown.named("[role=img]", name, one).length > 0)
  )
  const details = plot.querySelector("details") ?? assert.fail("no table")
  await shown.unfold(details)
  await shown.until("the rows", () => plot.querySelector("tbody tr"))
  return shown.all("tr", plot).map((row) => shown.all("th, td", row).map(textOf))
}

const factsOf = (shown: Shown, name: string) => {
  const list = shown.region(name)?.querySelector("dl") ?? assert.fail(name)
  return shown.all("dt", list).map((term) => `${textOf(term)} ${textOf(term.nextElementSibling)}`)
}

layer(ConsoleWindow.layer, { excludeTestServices: true })("a page of the console", (it) => {
  it.effect("plots the balance of a relayer, and says how long it lasts", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const points = Array.from({ length: 168 }, (_, index) => ({
        at: DateTime.formatIso(DateTime.makeUnsafe(begin + index * hour)),
        balance: (10n ** 18n * BigInt(400 - index)).toString()
      }))
      const trend = { unit: "wei", points, spent_per_day: "24000000000000000000", runway_seconds: 835_200 }
      const shown = yield* open({ answer: ({ path }) => (path.endsWith("/balances") ? trend : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm")
        await shown.until("how long", () =>
          textOf(shown.document.body).includes("lasts about 9 d 16 h at the rate of the last week")
        )
        assert.include(textOf(shown.document.body), "Spent per day: 24 ETH")
        const rows = await tableOf(shown, "Balance")
        assert.deepStrictEqual(rows[0], ["Time", "Balance, ETH"])
        assert.deepStrictEqual(rows.at(-1), ["2026-01-08 23:00:00 UTC", "233"])
        assert.strictEqual(rows[1]?.[0], "2026-01-02 01:00:00 UTC", "an hour has the balance of its end")
        assert.strictEqual(rows.length, 168)
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("shows who tops a relayer up, what its limit leaves, and why it is not topped up", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const path = "/api/v1/relayers/dev-evm/explain"
      const report = {
        from: "treasury",
        used: String(10n ** 18n),
        left: "0",
        transaction_id: "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b",
        code: "top_up_capped",
        since: "2026-01-02T03:04:05.678Z",
        reason: "The balance is low.",
        next: "It is topped up later."
      }
      const shown = yield* open({
        answer: (asked) =>
          asked.path.endsWith("/explain") ? { ...objectOf(recorded(path)), top_up: report } : undefined
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm")
        await shown.shows("Top-ups", "dt")
        const fact = factsOf(shown, "Details").find((one) => one.startsWith("Top-ups")) ?? assert.fail("no fact")
        assert.match(fact, /^Top-ups from treasury · used in 24 hours: 1 ETH · left: 0 ETH · a payment is open/)
        assert.include(fact, "top_up_capped")
        const [link] = shown.named("a", "a payment is open")
        assert.include(
          link?.getAttribute("href") ?? "",
          `/console/transactions/${report.transaction_id}?relayer=treasury`
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("shows the nonces of service and chain, and clears a range after a question", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const path = "/api/v1/relayers/dev-evm/nonce"
      const shown = yield* open({
        answer: ({ method }) => (method === "POST" ? { transaction_ids: [], transactions: [] } : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/nonces")
        await shown.shows("Next to assign", "dt")
        const data = recorded(path)
        const next = String(fieldOf(data, "next_nonce"))
        const facts = factsOf(shown, "Nonces")
        assert.includeMembers(facts, [
          `Next to assign ${next}`,
          `Counted on the chain ${String(fieldOf(data, "chain_count"))}`
        ])
        await shown.click(await shown.until("the button", () => shown.named("button", "Clear nonces…")[0]))
        const dialog = await shown.until("a question", () => shown.document.querySelector("dialog[open]"))
        const last = await shown.until("the last nonce", () =>
          shown.all("label", dialog).find((label) => textOf(label) === "Last nonce")
        )
        const field = last.querySelector("input") ?? assert.fail("no field")
        const [replace = assert.fail("no button")] = shown.named("button", "Replace them", dialog)
        await shown.enter(field, "x")
        assert.strictEqual(replace.getAttribute("aria-disabled"), "true")
        await shown.enter(field, next)
        await shown.click(replace)
        await shown.shows("0 transactions get a no-op.")
        assert.deepStrictEqual(
          shown.asked.map((asked) => [asked.path, asked.body]),
          [
            [
              `${path}/clear`,
              { from: Number(fieldOf(data, "oldest_open_nonce") ?? fieldOf(data, "settled_nonce")), to: Number(next) }
            ]
          ]
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("lists the instances with version and jobs, and sums up the last hour on the overview", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const [instance] = recorded("/api/v1/instances") as ReadonlyArray<unknown>
      const present = { ...objectOf(instance), version, last_seen_at: "2036-01-02T03:04:05.678Z" }
      const shown = yield* open({ answer: ({ path }) => (path === "/api/v1/instances" ? [present] : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("system")
        const rows = await shown.until("the instances", () => {
          const found = shown.all("tbody tr", shown.region("Instances"))
          return found.length > 0 && found
        })
        assert.strictEqual(rows.length, 1)
        for (const said of ["answers this page", "All work", version]) assert.include(textOf(rows[0]), said)

        await shown.goto("")
        const steps = fieldOf(recorded("/api/v1/statistics"), "steps")
        assert(Array.isArray(steps))
        const confirmed = steps.reduce<number>(
          (sum, step) => sum + Number(fieldOf(fieldOf(step, "final"), "confirmed")),
          0
        )
        assert.isAbove(confirmed, 0)
        const final = await shown.until("the sum", () => shown.region("Final transactions"))
        assert.include(textOf(final), String(confirmed))
        const [head = [], ...counts] = await tableOf(shown, "Final per minute")
        assert.deepStrictEqual(head, ["Time", "Final per minute", "of them failed or expired"])
        assert.strictEqual(
          counts.reduce((sum, [, count]) => sum + Number(count), 0),
          confirmed
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("names what each provider of a network can do when a person asks, and nothing that it did not say", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const listed = (host: string) => ({
        url: `https://${host}.example/***`,
        weight: 100,
        state: "working",
        relayers: 1,
        failing: 0
      })
      const able = {
        batch_size: 1_000,
        client_version: "Geth/v1.16.9",
        finalized: true,
        fee_history: true,
        archive: true
      }
      const unable = { batch_size: 3, finalized: false, fee_history: false, archive: false }
      let isAway = false
      const shown = yield* open({
        answer: ({ path, query }) => {
          if (path !== "/api/v1/networks/evm%3Adev/providers") return undefined
          if (query.get("check") === null) return [listed("able"), listed("unable"), listed("silent")]
          if (isAway) return new Whole({ success: false, data: null, message: "wait", error: "wait" }, 503)
          return [{ ...listed("able"), ...able }, { ...listed("unable"), ...unable }, listed("silent")]
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("networks/evm%3Adev")
        const health = await shown.until("the providers", () => shown.region("Health of the providers"))
        const abilities = () => shown.all("td[data-head='Can do now']", health).map(textOf)
        await shown.until("the rows", () => abilities().length === 3)
        assert.deepStrictEqual(abilities(), ["–", "–", "–"])
        const [ask = assert.fail("no button")] = shown.named("button", "Check now", health)
        await shown.click(ask)
        await shown.until("the answers", () => abilities()[0] !== "–")
        assert.deepStrictEqual(abilities(), [
          "1,000 calls at once · final blocks · fee history · archive · Geth/v1.16.9",
          "3 calls at once · no final blocks · no fee history · no archive",
          "–"
        ])
        // What they said stays beside the failure of the next request.
        isAway = true
        await shown.click(ask)
        await shown.until("the failure", () => shown.all(".failed", health).length === 1)
        assert.include(abilities()[0] ?? "", "Geth")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )
})
