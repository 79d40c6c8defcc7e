// The console in Chromium: what operators do with receivers of webhooks.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { verifyWebhook } from "../../src/client/Webhook.ts"
import { call, fieldOf, signIn } from "./ConsoleInBrowser.ts"
import { OwnService } from "./OwnService.ts"

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

layer(OwnService.layer, { timeout: 240_000, excludeTestServices: true })("an operator in the console", (it) => {
  it.effect("creates a webhook, tests it, gives it another signing key, and replays deliveries after a count", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { receiver } = running
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/new/webhook`)
        await page.locator("#field-id").fill("by-form")
        await page.locator("#field-url").fill(receiver.url)
        await button(page, "Create").click()
        await page.getByText("Send a test. Then choose this webhook").waitFor()

        await button(page, "Rotate signing key…").click()
        await page.getByLabel("New signing key").fill("too short")
        await button(page, "Use this key").click()
        await page.getByRole("dialog").getByText("signing_key").waitFor()
        await button(page, "Generate").click()
        const secret = await page.getByLabel("New signing key").inputValue()
        assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
        await button(page, "Use this key").click()
        await page.getByRole("dialog").waitFor({ state: "detached" })
        await button(page, "Send a test").click()
        await page.locator(".test").getByText("delivered").waitFor()
        const tested = receiver.seen.at(-1)
        assert(tested !== undefined)
        await Effect.runPromise(verifyWebhook({ secret, headers: tested.headers, body: tested.body }))

        await call(running, "PATCH", "relayers/second", { notification_id: "by-form" })
        for (const paused of [true, false]) await call(running, "PATCH", "relayers/second", { paused })
        await page.locator("tbody tr").filter({ hasText: "relayer.resumed" }).getByText("Delivered").waitFor()
        const arrived = receiver.seen.length
        await button(page, "Replay…").click()
        const dialog = page.getByRole("dialog")
        await dialog.getByLabel("State").selectOption("delivered")
        await dialog.getByLabel("Until (until), UTC").fill("2100-01-01T00:00:00")
        await button(page, "Count").click()
        await dialog.getByText(/deliveries would be sent again\.$/).waitFor()
        assert.strictEqual(receiver.seen.length, arrived)
        // The form has no count for the changed filter yet.
        await dialog.getByLabel("State").selectOption("failed")
        assert.strictEqual(await dialog.getByText(/would be sent again/).count(), 0)
        await dialog.getByLabel("State").selectOption("delivered")
        await button(page, "Count").click()
        await dialog.getByRole("button", { name: /^Send \d again$/ }).dblclick()
        await dialog.getByText(/deliveries are sent again\.$/).waitFor()
        const count = Number(/\d+/.exec(await dialog.locator("[role=status]").innerText())?.[0])
        assert.isAtLeast(count, 2)
        await Effect.runPromise(receiver.arrived(arrived + count))
        assert.strictEqual(receiver.seen.length, arrived + count)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sees on the overview what the first receivers got in the last hour, at two requests a minute", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      const { receiver } = running
      yield* Effect.promise(async () => {
        for (let count = 1; count <= 6; count += 1) {
          await call(running, "POST", "notifications", { id: `receiver-${count}`, url: receiver.url })
        }
        const arrived = receiver.seen.length
        await call(running, "POST", "notifications/ops/test")
        await Effect.runPromise(receiver.arrived(arrived + 1))
        const { page, problems } = await signIn(running)
        const asked: Array<string> = []
        page.on("request", (request) => {
          const { pathname } = new URL(request.url())
          if (pathname.includes("/notifications")) asked.push(pathname)
        })
        await page.clock.install()
        await page.goto(`${running.baseUrl}/console/`)
        const deliveries = page.getByRole("region", { name: "Deliveries" }).first()
        const row = deliveries.locator("tbody tr").filter({ hasText: "ops" })
        await row.getByText("Accepts").waitFor()
        const { data } = await call(running, "GET", "notifications/ops/statistics")
        const steps = fieldOf(data, "steps") as ReadonlyArray<{ readonly delivered: number }>
        const delivered = steps.reduce((sum, step) => sum + step.delivered, 0)
        assert.isAbove(delivered, 0)
        await row.locator("td[data-head=Delivered]").getByText(String(delivered), { exact: true }).waitFor()
        assert.strictEqual(await deliveries.locator("tbody tr").count(), 4)
        await deliveries.getByRole("link", { name: "All" }).waitFor()
        const before = asked.length
        for (let second = 0; second < 240; second += 10) {
          await page.clock.runFor(10_000)
          await page.mouse.move(second, second)
        }
        assert.isAtMost(asked.length - before, 8, asked.join("\n"))
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sees the newest answer of a receiver as text, with escapes for control characters", () =>
    Effect.gen(function* () {
      const running = yield* OwnService
      yield* Effect.promise(async () => {
        await call(running, "POST", "notifications", { id: "noisy", url: running.receiver.url })
        const { page, problems } = await signIn(running)
        const at = "2026-01-02T03:04:05.678Z"
        const attempt = (answer: string, status: number) => ({ at, ms: 5, outcome: "rejected", status, answer })
        const delivery = {
          id: "0191e9a0-7b1c-7000-8000-5e0c3f9b2d11",
          type: "relayer.paused",
          event_id: 7,
          relayer_id: "dev-evm",
          state: "failed",
          created_at: at,
          attempts: [
            attempt(`<b>new</b>\u001b[31m\u0000\u202e${"\u0007".repeat(1000)}`, 502),
            attempt("the first answer", 500)
          ]
        }
        await page.route("**/notifications/noisy/deliveries**", (route) =>
          route.fulfill({ json: { success: true, data: [delivery] } })
        )
        await page.goto(`${running.baseUrl}/console/webhooks/noisy`)
        const answer = page.locator("td code").filter({ hasText: "new" })
        await answer.waitFor()
        const text = await answer.innerText()
        assert.isTrue(text.startsWith("<b>new</b>\\u001b[31m\\u0000\\u202e\\u0007"), text.slice(0, 80))
        assert.notMatch(text, /[\p{Cc}\p{Cf}]/u)
        assert.match(await answer.evaluate((code) => getComputedStyle(code).fontFamily), /mono/)
        assert.strictEqual(await answer.locator("*").count(), 0, "HTML is no markup")
        assert.strictEqual(await page.getByText("the first answer").count(), 0)
        assert.strictEqual(await page.getByText("502").count(), 1)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
