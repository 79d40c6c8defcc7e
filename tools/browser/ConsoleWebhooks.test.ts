// The console in Chromium: what operators do with receivers of webhooks.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { verifyWebhook } from "../../src/client/Webhook.ts"
import { call, signIn } from "./ConsoleInBrowser.ts"
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
        await page.getByText("Send a test. Then name this webhook").waitFor()

        await button(page, "Rotate signing key…").click()
        await page.getByLabel("New signing key").fill("too short")
        await button(page, "Use this key").click()
        await page.getByRole("dialog").getByText("signing_key").waitFor()
        await button(page, "Generate").click()
        const secret = await page.getByLabel("New signing key").inputValue()
        assert.match(secret, /^[0-9a-f]{64}$/)
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
        await dialog.getByLabel("Until, UTC").fill("2100-01-01T00:00:00")
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
})
