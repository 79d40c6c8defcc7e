// The console in Chromium, on the real service with a chain: an account delegates to an executor, makes many calls in one transaction, and
// ends the delegation.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { executorCode } from "../../testkit/Executors.ts"
import {
  Console,
  call,
  cutTexts,
  keep,
  ownRelayer,
  patienceOfAll,
  settled,
  signIn,
  violations
} from "./ConsoleInBrowser.ts"
import type { Developing } from "./ConsoleInBrowser.ts"

const executor = `0x${"e7".repeat(20)}`

const receivers = ["0x00000000000000000000000000000000000000a1", "0x00000000000000000000000000000000000000a2"] as const

/** A phone at a zoom, a tablet and a screen. */
const widths = [320, 768, 1440] as const

/** Milliseconds. A delegation waits until everything before it is final. */
const patience = 120_000

const rpc = async ({ chainUrl }: Developing, method: string, params: ReadonlyArray<unknown>): Promise<unknown> => {
  const response = await fetch(chainUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  })
  const { result } = (await response.json()) as { readonly result?: unknown }
  return result
}

/** What is wrong with the page as it is now, in each width. An address of 42 characters does not fit an input on a phone. */
const faultsOf = async (page: Page, name: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    await keep(page, name, { theme: "light", width })
    const sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    const cut = (await cutTexts(page)).filter((fault) => width !== 320 || !fault.startsWith("the field "))
    const faults = [...(sideways === 0 ? [] : [`scrolls sideways by ${String(sideways)}`]), ...cut]
    found.push(...[...faults, ...(await violations(page))].map((fault) => `${name}, ${width}: ${fault}`))
  }
  return found
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

layer(Console.layer, { timeout: patienceOfAll, excludeTestServices: true })("many calls in the console", (it) => {
  it.effect(
    "are sent by an account that delegates, all in one transaction, and the delegation is ended",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          await rpc(running, "anvil_setCode", [executor, executorCode])
          const relayer = await ownRelayer(running, "many")
          await call(running, "PATCH", `relayers/${relayer}`, { policies: { allowed_delegates: [executor] } })
          const { page, problems, elsewhere } = await signIn(running)
          page.setDefaultTimeout(patience)
          const faults: Array<string> = []
          const look = async (name: string) => faults.push(...(await faultsOf(page, name)))

          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/delegation`)
          await settled(page)
          await look("delegation-none")
          await page.locator("#field-address").fill(receivers[0])
          await button(page, "Check and delegate…").click()
          await button(page, "Delegate").click()
          // The service asks the chain: there is no contract at the address.
          await page.locator(".field.wrong .problem").waitFor()
          await look("delegation-refused")
          await page.locator("#field-address").fill(executor)
          await button(page, "Check and delegate…").click()
          await page.getByRole("dialog").waitFor()
          await look("delegation-question")
          await button(page, "Delegate").click()
          await page.getByText("The change was accepted.").waitFor()
          await page.locator(".tag").getByText("In effect", { exact: true }).waitFor()
          await look("delegation-in-effect")

          // The form reads the features of networks from their list. Those of the service stay: other files use it.
          const { data } = await call(running, "GET", "networks?per_page=1000")
          const networks = (Array.isArray(data) ? data : []).map((network) => ({
            ...network,
            features: ["eip1559", "eip7702"]
          }))
          const pagination = { current_page: 1, per_page: 1000, total_items: networks.length }
          await page.route("**/console/api/v1/networks?*", (route) =>
            route.fulfill({ json: { success: true, data: networks, pagination } })
          )
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/send`)
          await button(page, "Add calls").click()
          await page.locator("#field-calls-0-to").fill(receivers[0])
          await page.locator("#field-calls-0-value").fill("0.01")
          await page.locator("#field-calls-1-to").fill("0xa2")
          await page.locator("#field-calls-1-value").fill("0,02")
          const signed = { chain_id: 0, address: executor, nonce: 1, y_parity: 0, r: "0x1a", s: "0x1b" }
          await page.locator("#field-authorization_list").fill(JSON.stringify(signed))
          await page.getByText("valid on every chain").waitFor()
          await button(page, "Review and send…").click()
          await page.locator(".call .problem").first().waitFor()
          assert.strictEqual(await page.evaluate("document.activeElement?.id"), "field-calls-1-value")
          await look("send-calls-wrong")
          await page.locator("#field-calls-1-to").fill(receivers[1])
          await page.locator("#field-calls-1-value").fill("0.02")
          await page.locator("#field-authorization_list").fill("")
          await page.getByText("2 calls, together 0.03 ETH").waitFor()
          await button(page, "Simulate").click()
          await page.getByText("It would be accepted and executed now").waitFor()
          assert.strictEqual(await page.getByRole("group", { name: "Call 2" }).count(), 1)
          await look("send-calls")
          await button(page, "Review and send…").click()
          const dialog = page.getByRole("dialog")
          for (const receiver of receivers) await dialog.getByText(receiver).waitFor()
          await look("send-calls-second-look")
          await button(page, "Send").click()
          await page.waitForURL("**/console/transactions/*")
          await page.locator("h1 .tag").getByText("Confirmed").waitFor()
          await look("transaction-with-calls")
          const balances = await Promise.all(
            receivers.map((receiver) => rpc(running, "eth_getBalance", [receiver, "latest"]))
          )
          assert.deepStrictEqual(balances, ["0x2386f26fc10000", "0x470de4df820000"])

          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/delegation`)
          await button(page, "End the delegation…").click()
          await button(page, "End it").click()
          await page.locator(".tag").getByText("The service has recorded no delegation").waitFor()
          assert.deepStrictEqual([faults, problems, elsewhere], [[], [], []])
          await page.context().close()
        })
      }),
    patienceOfAll
  )
})
