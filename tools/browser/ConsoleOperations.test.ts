// The console in Chromium, on the real service with a chain: what operators create, verify, replay and rotate.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as LocalSolana from "../../src/process/development/LocalSolana.ts"
import * as LocalStellar from "../../src/process/development/LocalStellar.ts"
import { Console, call, fieldOf, keep, setBalance, settled, signIn, textOf, violations } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

/** A private key without funds on the chain of the tests. */
const privateKey = "0x0101010101010101010101010101010101010101010101010101010101010101"

const statusWith = async ({ baseUrl }: Running, key: string) =>
  (await fetch(`${baseUrl}/api/v1/relayers`, { headers: { authorization: `Bearer ${key}` } })).status

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("an operator in the console", (it) => {
  it.effect("creates signer and relayer, reads what is missing, sends it, and sees the relayer become healthy", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/new/signer?config.key=from-the-address`)
        const secret = page.locator("[id='field-config.key']")
        assert.strictEqual(await secret.inputValue(), "", "a secret is never taken from an address")
        await page.locator("#field-id").fill("by-hand")
        await secret.fill(privateKey)
        await button(page, "Create").click()
        await page.getByText("Verify that its key works.").waitFor()
        await button(page, "Verify").click()
        await page.getByRole("dialog").getByText("ok").first().waitFor()
        await button(page, "Close").click()
        await page.getByRole("link", { name: "Create relayer" }).click()
        assert.strictEqual(await page.locator("#field-signer_id").inputValue(), "by-hand")
        await page.locator("#field-id").fill("by-hand")
        await page.locator("#field-name").fill("By hand")
        await page.locator("#field-network").selectOption("dev")
        await button(page, "Create").click()

        await page.getByText("Its account needs funds").waitFor()
        const { address } = fieldOf(await call(running, "GET", "relayers/by-hand"), "data") as {
          readonly address: string
        }
        await page.locator(".fund").getByTitle(address).waitFor()
        await setBalance(running, address, 10n ** 18n)
        await page.getByText("It can send. Send the first transaction.").waitFor()
        await page.locator("h1").getByText("Healthy").waitFor()
        const stored = await page.evaluate(
          "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, location.href])"
        )
        assert.notInclude(String(stored), privateKey.slice(2))
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("verifies the audit log, with a stored head that it contains and with one that it does not", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/audit`)
        await settled(page)
        await button(page, "Verify").click()
        const dialog = page.getByRole("dialog")
        const verify = () => dialog.getByRole("button", { name: "Verify" }).click()
        await verify()
        await dialog.getByText("The log is whole").waitFor()
        const head = await dialog.locator("code").innerText()
        assert.match(head, /^\d+:[0-9a-f]{64}$/)
        const stored = dialog.getByLabel("Stored head")
        await stored.fill("12:short")
        await dialog.getByText("A head is a position").waitFor()
        await stored.fill(head)
        await verify()
        await dialog.getByText("The log is whole").waitFor()
        const [position = ""] = head.split(":")
        await stored.fill(`${position}:${"0".repeat(64)}`)
        await verify()
        await dialog.getByText(`The record at position ${position} was changed or is missing.`).waitFor()
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("gives an API key a new value, which is shown once and does not close by accident, and revokes it", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const made = await call(running, "POST", "api-keys", { name: "Payouts", scopes: ["relayers:read"] })
        const [id, old] = [textOf(made.data, "id"), textOf(made.data, "key")]
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/keys`)
        await page.getByRole("link", { name: "Payouts" }).click()
        await button(page, "Rotate…").click()
        await page.getByLabel("The present value stays valid for").selectOption("0")
        await button(page, "Rotate").click()
        const dialog = page.getByRole("dialog")
        await dialog.getByText("It is shown once.").waitFor()
        await page.keyboard.press("Escape")
        assert.notInclude(await dialog.innerText(), "rk_")
        await button(page, "Show").click()
        const fresh = (await dialog.locator("pre").innerText()).trim()
        assert.strictEqual(await statusWith(running, old), 401)
        assert.strictEqual(await statusWith(running, fresh), 200)
        await button(page, "I have stored it").click()
        await dialog.waitFor({ state: "detached" })
        assert.notInclude(await page.content(), fresh)

        await button(page, "Revoke…").click()
        await dialog.getByRole("textbox").fill(id)
        await button(page, "Revoke").click()
        await page.getByRole("heading", { name: "API keys", level: 1 }).waitFor()
        assert.strictEqual(await statusWith(running, fresh), 401)
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sees the channels of a stellar relayer become ready, and releases them after typing its id", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await call(running, "PATCH", "relayers/dev-stellar", { policies: { channels: { count: 2 } } })
        await page.goto(`${running.baseUrl}/console/relayers/dev-stellar/nonces`)
        const channels = page.getByRole("region", { name: "Channels", exact: true }).first()
        const shows = async (text: string, count: number) => {
          while ((await channels.getByText(text, { exact: true }).count()) < count) {
            await button(page, "Ask again").click()
            await page.waitForTimeout(500)
          }
        }
        await shows("Ready", 2)
        assert.match(await channels.innerText(), /Reserves:\s+3 XLM/)
        const { data } = await call(running, "GET", "relayers/dev-stellar/nonce")
        const shown = (await page.getByRole("region", { name: "Sequences" }).locator("dl").innerText()).replaceAll(
          "\n",
          " "
        )
        assert.include(shown, `Next to assign ${textOf(data, "next_sequence")}`)
        assert.include(shown, "Read at ledger")
        await settled(page)
        for (const look of [
          { theme: "light", width: 1440 },
          { theme: "dark", width: 360 }
        ] as const) {
          await page.emulateMedia({ colorScheme: look.theme })
          await page.setViewportSize({ width: look.width, height: 900 })
          await keep(page, "stellar-channels", look)
          assert.deepStrictEqual(await violations(page), [])
        }

        await button(page, "Release channels…").click()
        const dialog = page.getByRole("dialog", { name: "End all channels of this relayer?" })
        const release = dialog.getByRole("button", { name: "Release them" })
        assert.strictEqual(await release.getAttribute("aria-disabled"), "true")
        await dialog.getByRole("textbox").fill("dev-stellar")
        await release.click()
        await dialog.waitFor({ state: "detached" })
        await shows("The relayer has no channel. Its policy sets how many it has, by channels.count.", 1)
        const relayer = (await call(running, "GET", "relayers/dev-stellar")).data
        assert.include(JSON.stringify(fieldOf(relayer, "policies")), '"channels":{"count":0}')
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sends transactions of solana and stellar from their forms, and shows them until they are confirmed", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        for (const [type, network] of Object.entries({ solana: LocalSolana.network, stellar: LocalStellar.network })) {
          const relayer = `dev-${type}`
          const address = textOf((await call(running, "GET", `relayers/${relayer}`)).data, "address")
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/send`)
          for (const [field, value] of Object.entries(network.transaction(address))) {
            await page.locator(`#field-${field}`).fill(typeof value === "string" ? value : JSON.stringify(value))
          }
          await page.locator("#field-external_id").fill(`by form on ${type}`)
          await page.getByRole("button", { name: "Review and send…" }).click()
          await page.getByRole("dialog").getByText("Test network").waitFor()
          await page.getByRole("button", { name: "Send", exact: true }).click()
          await page.getByRole("heading", { name: `by form on ${type}` }).waitFor()
          await page.locator("h1").getByText("Confirmed").waitFor()
          const region = page.getByRole("region", { name: "Attempts", exact: true }).first()
          await region.getByText("1 signed version").waitFor()
          await page.locator(".tl").getByText("Confirmed", { exact: true }).waitFor()
          assert.strictEqual(await page.locator("figure.plot").count(), 0, "no plot of fees outside of evm")
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )
})
