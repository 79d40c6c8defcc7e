// The console in Chromium for people who use no mouse, or no screen: the keyboard alone, and what a reader of screens gets.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { call, open, settled, signIn, tabTo, tabToText, textOf } from "./ConsoleInBrowser.ts"
import { OwnService } from "./OwnService.ts"

/** A private key without funds. */
const privateKey = "0x0202020202020202020202020202020202020202020202020202020202020202"

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

const ether = 10n ** 18n

/** Goes to a field of a form, and enters text. */
const type = async (page: Page, field: string, text: string) => {
  await tabTo(page, `[id="field-${field}"]`)
  await page.keyboard.type(text)
}

const press = async (page: Page, role: "button" | "link", name: string) => {
  await tabToText(page, role, name)
  await page.keyboard.press("Enter")
}

/** Puts the focus at the beginning of the page, as after a visit of another page. */
const toTop = (page: Page) => page.evaluate("document.activeElement.blur()")

layer(OwnService.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect(
    "is used with the keyboard alone to create signer, network and relayer, to fund, send, cancel and sign out",
    () =>
      Effect.gen(function* () {
        const running = yield* OwnService
        const { chain } = running
        yield* Effect.promise(async () => {
          const { page, problems } = await open(running)
          await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
          await page.goto(`${running.baseUrl}/console/signers`)
          await tabTo(page, "#key")
          await page.keyboard.type(running.key)
          await page.keyboard.press("Enter")

          await press(page, "link", "Create signer")
          await type(page, "id", "by-keyboard")
          await type(page, "config.key", privateKey)
          await press(page, "button", "Create")
          await page.getByText("Verify that its key works.").waitFor()

          await press(page, "link", "Networks")
          await press(page, "link", "Create network")
          await type(page, "name", "quay")
          await type(page, "average_blocktime_ms", "1000")
          await type(page, "is_testnet", "yes")
          await type(page, "chain_id", "31337")
          await type(page, "required_confirmations", "1")
          await type(page, "symbol", "ETH")
          await type(page, "features", "eip1559")
          await type(page, "rpc_urls", running.providers.b.url)
          await toTop(page)
          await press(page, "button", "Create")
          await page.getByText("Create its first relayer.").waitFor()

          await press(page, "link", "Create relayer")
          await type(page, "id", "by-keyboard")
          await type(page, "name", "By keyboard")
          await type(page, "signer_id", "by-keyboard")
          await toTop(page)
          await press(page, "button", "Create")

          // The page names the address that needs funds, and its button copies it.
          await page.locator(".fund").waitFor()
          await toTop(page)
          await tabTo(page, ".fund button")
          await page.keyboard.press("Enter")
          await page.locator(".fund").getByText("Copied").waitFor()
          const address = String(await page.evaluate("navigator.clipboard.readText()"))
          assert.strictEqual(address, textOf((await call(running, "GET", "relayers/by-keyboard")).data, "address"))
          await Effect.runPromise(chain.fund(address, ether))
          await page.getByText("It can send. Send the first transaction.").waitFor()

          await toTop(page)
          await press(page, "link", "Send")
          await type(page, "to", receiver)
          await type(page, "value", "0.001")
          // A price below that of the chain keeps the transaction open.
          await type(page, "max_fee_per_gas", "0.000000001")
          await type(page, "max_priority_fee_per_gas", "0.000000001")
          await type(page, "external_id", "by keyboard")
          await toTop(page)
          await press(page, "button", "Review and send…")
          await page.getByRole("dialog", { name: "Send this transaction?" }).waitFor()
          await press(page, "button", "Send")
          await page.getByRole("heading", { name: "by keyboard" }).waitFor()
          await press(page, "button", "Cancel…")
          const dialog = page.getByRole("dialog", { name: "Cancel this transaction?" })
          await dialog.waitFor()
          assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Keep transaction")
          await press(page, "button", "Cancel transaction")
          await dialog.waitFor({ state: "detached" })
          await page.getByRole("button", { name: /^Cancel….*(being canceled|is final|is mined)/ }).waitFor()
          await toTop(page)
          await press(page, "button", "Sign out")
          await page.locator("#key").waitFor()
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )

  it.effect(
    "has a tree for readers of screens at 3 a.m.: what is wrong, the form that repairs it, and what waits",
    () =>
      Effect.gen(function* () {
        const running = yield* OwnService
        const { providers } = running
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running)
          await providers.a.refuse()
          await page.locator(".att").filter({ hasText: "3 relayers, 2 disabled, 1 degraded" }).waitFor()
          const waiting = await call(running, "POST", "relayers/first/transactions", { to: receiver, value: "1" })

          const overview = await page.locator("main").ariaSnapshot()
          assert.include(overview, '- heading "Overview" [level=1]')
          assert.match(overview, /- region "Needs attention":\n\s+- heading "Needs attention 1" \[level=2\]/)
          assert.include(overview, "3 relayers, 2 disabled, 1 degraded:")
          for (const id of ["first", "second", "third"]) assert.include(overview, `link "${id}"`)
          assert.include(overview, '- link "Change RPC URLs":')
          assert.include(overview, providers.a.host)
          assert.notInclude(overview, "secret")

          await page.goto(`${running.baseUrl}/console/relayers/first/urls`)
          await settled(page)
          await page.locator("#field-rpc_urls").fill(providers.c.url)
          const repair = await page.locator("main").ariaSnapshot()
          assert.include(repair, '- heading "The first Disabled" [level=1]')
          assert.match(repair, /- status:/)
          assert.match(repair, /- navigation "Relayer":/)
          assert.match(repair, /- textbox "rpc_urls[^"]*": /)
          assert.match(repair, /- region "What changes":/)
          assert.match(repair, /- cell "http:\/\/127\.0\.0\.2:\d+\/\*\*\*[^"]*"/)
          assert.include(repair, '- button "Save"')

          await page.goto(`${running.baseUrl}/console/transactions/${textOf(waiting.data, "id")}?relayer=first`)
          await page.locator(".tl").getByText("Held", { exact: true }).waitFor()
          const transaction = await page.locator("main").ariaSnapshot()
          assert.match(transaction, /- heading "[^"]+ Pending" \[level=1\]/)
          assert.match(transaction, /- status:/)
          assert.match(
            transaction,
            /- region "Timeline":\n\s+- heading "Timeline" \[level=2\]\n\s+- list:\n\s+- listitem:/
          )
          assert.match(transaction, /listitem:\s+- text: Accepted\n\s+- time: \d\d:\d\d:\d\d/)
          assert.match(transaction, /- listitem: Held \+/)
          assert.include(transaction, '- button "Cancel…"')
          assert.match(transaction, /- code: (relayer_disabled|providers_unavailable)/)
          await providers.a.accept()
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )
})
