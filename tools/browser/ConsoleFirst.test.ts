// The console in Chromium, on an empty service: what it says to a new user, from the first page to a confirmed transaction.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Page } from "playwright-core"
import * as Anvil from "../../testkit/Anvil.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import { browser, signIn, violations } from "./ConsoleInBrowser.ts"
import type { Developing } from "./ConsoleInBrowser.ts"

class Empty extends Context.Service<Empty, Developing>()("effect-relayer-browser/ConsoleFirst.test/Empty") {
  static readonly layer = Layer.effect(
    Empty,
    Effect.gen(function* () {
      const opened = yield* browser
      const chain = yield* Anvil.start({ blockTime: 1 })
      const { baseUrl } = yield* Service.listen({
        folder: yield* folder,
        env: { API_KEY: Service.apiKey, OUTBOUND_ALLOW: "127.0.0.1", WATCH: "on" }
      })
      return { baseUrl, key: Service.apiKey, chainUrl: chain.url, browser: opened }
    })
  )
}

const link = (page: Page, name: string) => page.locator("#content").getByRole("link", { name, exact: true })
const button = (page: Page, name: string) => page.locator("#content").getByRole("button", { name, exact: true })
const created = (page: Page) => page.getByText("Created", { exact: true }).waitFor()

layer(Empty.layer, { timeout: 240_000, excludeTestServices: true })("a new user of an empty service", (it) => {
  it.effect("is led by the console from its first page to a confirmed transaction", () =>
    Effect.gen(function* () {
      const running = yield* Empty
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        const steps = page.getByRole("region", { name: "First steps" })
        await steps.waitFor()
        assert.deepStrictEqual(await violations(page), [])

        // A relayer before its signer: the field says what is missing, and leads there.
        await link(page, "Create relayer").click()
        await page.locator(".field").filter({ hasText: "None exists yet." }).getByText("Create signer").click()
        await page.getByText("The service creates the key").waitFor()
        await page.locator("#field-id").fill("payer-key")
        await button(page, "Create").click()
        await created(page)

        // A chain that is not built in.
        await page.goto(`${running.baseUrl}/console/`)
        await steps.getByText("Done.").waitFor()
        await steps.getByRole("link", { name: "Create network" }).click()
        await page.locator("#field-name").fill("own-chain")
        await page.locator("#field-from").fill("localhost-anvil")
        await page.locator("#field-rpc_urls").fill(running.chainUrl)
        await button(page, "Create").click()
        await created(page)
        await link(page, "Create relayer").click()
        assert.strictEqual(await page.locator("#field-network").inputValue(), "own-chain")
        await page.locator("#field-name").fill("Payer")
        await page.locator("#field-signer_id").selectOption("payer-key")
        await button(page, "Create").click()
        await page.getByText("Its account needs funds").waitFor()
        await page.locator(".fund").getByText("1 wei").waitFor()

        // The command of the page, as a shell would send it.
        await page.getByText("On anvil: the command").click()
        const command = (await page.locator(".curl pre").textContent()) ?? ""
        const body = /-d '(.*)'$/s.exec(command)?.[1] ?? ""
        assert.include(command, running.chainUrl)
        const answer = await fetch(running.chainUrl, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body
        })
        assert.notInclude(await answer.text(), "error")
        await page.getByText("Send the first transaction").waitFor()

        await link(page, "Send").click()
        await page.locator("#field-to").fill("0x70997970c51812dc3a010c7d01b50e0d17dc79c8")
        await page.locator("#field-value").fill("0.001")
        await button(page, "Review and send…").click()
        await page.getByRole("dialog").getByText("0.001 ETH").waitFor()
        await button(page, "Send").click()
        await page.locator("h1").getByText("Confirmed").waitFor()

        await page.goto(`${running.baseUrl}/console/`)
        await page.getByRole("region", { name: "Latest events" }).getByText("transaction.confirmed").waitFor()
        assert.strictEqual(await steps.count(), 0)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
