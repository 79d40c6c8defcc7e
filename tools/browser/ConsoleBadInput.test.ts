// The console in Chromium: what bad input gets, at a field, in an address, and at the sign-in.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Console, call, firstId, open, settled, signIn, textOf } from "./ConsoleInBrowser.ts"

/** Refused sign-ins of an address after which the next one waits (`docs/security/console.md`). */
const quickTries = 10

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("bad input in the console", (it) => {
  it.effect("is refused at the field before anything is sent, also after the unit was switched", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/relayers/dev-evm/send`)
        await page.locator("#field-to").fill("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
        const sent: Array<string> = []
        page.on("request", (request) => {
          if (request.method() === "POST") sent.push(request.postData() ?? "")
        })
        const value = page.locator("#field-value")
        const unit = page.getByLabel("Unit").first()
        const send = page.getByRole("button", { name: "Review and send…" })
        const refused = async (text: string, message: string) => {
          await value.fill(text)
          await send.click()
          await page.getByText(message).waitFor()
        }
        await refused("-1", "Enter a decimal number such as 1.5, without a sign or a comma.")
        await refused("1e-3", "Enter a decimal number such as 1.5, without a sign or a comma.")
        await refused("1,5", "Enter a decimal number such as 1.5, without a sign or a comma.")
        // A number that was typed in ETH is another amount in wei, and no amount if it has digits after the point.
        await value.fill("1.5")
        await unit.selectOption("0")
        const switched = await value.inputValue()
        if (switched === "1.5") await refused("1.5", "The chosen unit has fewer digits after the point.")
        else assert.strictEqual(switched, "1500000000000000000")
        await refused((2n ** 128n).toString(), "The amount needs more than 128 bits.")
        assert.isEmpty(sent)
        await value.fill((2n ** 128n - 1n).toString())
        await page.getByRole("button", { name: "Simulate" }).click()
        await page.getByRole("region", { name: "Simulation", exact: true }).locator(".tag").waitFor()
        assert.include(sent.join(), `"${2n ** 128n - 1n}"`)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("as the period of the overview counts as the last hour; a day and a week have their steps", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        for (const [query, label] of [
          ["period=forever", "Final per minute"],
          ["period=24h", "Final per quarter of an hour"],
          ["period=7d", "Final per hour"]
        ] as const) {
          await page.goto(`${running.baseUrl}/console/?${query}`)
          await page.locator("figure.plot").getByText(label, { exact: true }).first().waitFor()
          await settled(page)
        }
        await page.getByLabel("Period").selectOption("24h")
        await page.locator("figure.plot").getByText("Final per quarter of an hour", { exact: true }).first().waitFor()
        assert.include(page.url(), "period=24h")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("as a browser that lacks what is needed gets one sentence, with the call of the same page", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        for (const [route, path] of [
          ["/console/relayers/dev-evm/policies", "relayers/dev-evm"],
          ["/console/keys", "api-keys"],
          ["/console/", "relayers"]
        ] as const) {
          const { page, problems, elsewhere } = await open(running)
          await page.addInitScript("delete URL.parse")
          await page.goto(running.baseUrl + route)
          await page.getByText("This browser lacks what the console needs.").waitFor()
          const said = await page.locator("body").innerText()
          assert.include(said, `curl -H "Authorization: Bearer $API_KEY" ${running.baseUrl}/api/v1/${path}`)
          assert.strictEqual(await page.locator("#console").innerHTML(), "")
          assert.deepStrictEqual([problems, elsewhere], [[], []])
          await page.context().close()
        }
        const { page } = await open(running)
        await page.goto(`${running.baseUrl}/console/`)
        await page.locator("#key").waitFor()
        assert.isFalse(await page.locator("#unsupported").isVisible())
        await page.context().close()
      })
    })
  )

  it.effect("that only the service can refuse is said at its field, and what is entered stays", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/new/webhook`)
        await page.locator("#field-id").fill("inside")
        // The schema allows the address; the service sends nothing into private networks.
        await page.locator("#field-url").fill("https://192.168.0.1/")
        const answered = page.waitForResponse("**/console/api/v1/notifications")
        await page.getByRole("button", { name: "Create", exact: true }).click()
        assert.strictEqual((await answered).status(), 400)
        const field = page.locator(".field.wrong").filter({ has: page.locator("#field-url") })
        await field.getByRole("alert").waitFor()
        assert.isNotEmpty(await field.getByRole("alert").innerText())
        assert.strictEqual(await page.locator("#field-id").inputValue(), "inside")
        assert.isTrue(await page.locator("#field-url").evaluate((input) => input.matches(":focus")))
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("as the name of a key or the reason of a revert is shown as text, within its place", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running, { width: 360 })
        const id = await firstId(running, "relayers/dev-evm/transactions")
        const { data } = await call(running, "GET", `relayers/dev-evm/transactions/${id}`)
        assert(typeof data === "object")
        let reason = ""
        await page.route(`**/relayers/dev-evm/transactions/${id}`, (asked) =>
          asked.fulfill({ json: { success: true, data: { ...data, status: "failed", revert_reason: reason } } })
        )
        for (const name of ["<img src=x onerror=alert(1)>", "\u202Egnp.exe\u202C \u05D0\u05D1", "😀".repeat(256)]) {
          const key = await call(running, "POST", "api-keys", { name, scopes: ["events:read"] })
          reason = name
          for (const route of ["keys", `keys/${textOf(key.data, "id")}`, `transactions/${id}?relayer=dev-evm`]) {
            await page.goto(`${running.baseUrl}/console/${route}`)
            const text = page.locator("#content bdi").filter({ hasText: name }).last()
            await text.waitFor()
            assert.strictEqual(await text.evaluate((bdi) => getComputedStyle(bdi).unicodeBidi), "isolate")
            await settled(page)
            assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, route)
            assert.strictEqual(await page.locator("img").count(), 0)
          }
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("at the sign-in leaves the key in its field, and says the seconds to wait after ten quick tries", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await open(running)
        await page.goto(`${running.baseUrl}/console/`)
        const key = page.locator("#key")
        const button = page.getByRole("button", { name: "Sign in" })
        await key.fill("not-a-key")
        for (let tries = 0; tries < quickTries; tries += 1) {
          const answered = page.waitForResponse("**/console/session")
          await button.click()
          await answered
          await page.getByText("This key is not valid").waitFor()
        }
        // The allowance grows by one a second, so that a slow machine needs more tries.
        let status = 401
        while (status === 401) {
          const answered = page.waitForResponse("**/console/session")
          await button.click()
          status = (await answered).status()
        }
        await page.getByText(/^Too many tries from this address\. Try again in \d+ s\.$/).waitFor()
        assert.strictEqual(await key.inputValue(), "not-a-key")
        // The seconds are those of the response, whatever they are.
        await page.route("**/console/session", (asked) =>
          asked.fulfill({ status: 429, headers: { "retry-after": "7" }, json: { success: false, error: "wait" } })
        )
        await button.click()
        await page.getByText("Too many tries from this address. Try again in 7 s.", { exact: true }).waitFor()
        // The tests of other files sign in from the same address.
        await page.unroute("**/console/session")
        await key.fill(running.key)
        while (status !== 201) {
          const answered = page.waitForResponse("**/console/session")
          await button.click()
          status = (await answered).status()
        }
        await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
