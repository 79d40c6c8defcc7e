// The console in Chromium: the words for stellar and evm, tabs on a phone, silent instances, links to explorers, and where repairs begin.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Console, call, firstId, settled, signIn, textOf } from "./ConsoleInBrowser.ts"

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect("calls the place of a stellar transaction a sequence, and that of an evm transaction a nonce", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        for (const [type, name] of [
          ["stellar", "sequence"],
          ["evm", "nonce"]
        ] as const) {
          const relayer = `dev-${type}`
          const id = await firstId(running, `relayers/${relayer}/transactions`)
          const { data } = await call(running, "GET", `relayers/${relayer}/transactions/${id}`)
          await page.goto(`${running.baseUrl}/console/transactions/${id}?relayer=${relayer}`)
          const number = textOf(data, type === "evm" ? "nonce" : "sequence_number")
          await page.locator(".sub").getByText(`${name} ${number}`).waitFor()
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
          const tab = type === "evm" ? "Nonces" : "Sequences"
          await page.getByRole("navigation", { name: "Relayer" }).getByRole("link", { name: tab }).click()
          await page.getByRole("region", { name: tab, exact: true }).waitFor()
          await settled(page)
        }
        const said = (await page.locator("#content").innerText()).toLowerCase()
        assert.include(said, "nonce")
        await page.goto(`${running.baseUrl}/console/relayers/dev-stellar/nonces`)
        await settled(page)
        await page.getByText("Next to assign").waitFor()
        assert.notInclude((await page.locator("#content").innerText()).toLowerCase(), "nonce")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("shows every tab of a relayer within the width of a phone", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await signIn(running, { width: 360 })
        await page.goto(`${running.baseUrl}/console/relayers/dev-stellar`)
        const tabs = page.getByRole("navigation", { name: "Relayer" }).getByRole("link")
        await tabs.first().waitFor()
        assert.strictEqual(await tabs.count(), 6)
        for (const tab of await tabs.all()) {
          const box = await tab.boundingBox()
          assert.isAtMost((box?.x ?? 0) + (box?.width ?? 0), 360, await tab.innerText())
        }
        await page.context().close()
      })
    })
  )

  it.effect("does not say that the jobs of a silent instance work", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        const { data } = await call(running, "GET", "instances")
        assert(Array.isArray(data))
        const silent = { ...data[0], id: "00000000-0000-4000-8000-000000000000", is_this: false }
        await page.route("**/console/api/v1/instances", (asked) =>
          asked.fulfill({
            json: { success: true, data: [...data, { ...silent, last_seen_at: "2026-01-02T03:04:05.678Z" }] }
          })
        )
        await page.goto(`${running.baseUrl}/console/system`)
        const rows = page.getByRole("region", { name: "Instances", exact: true }).locator("tbody tr")
        await rows.filter({ hasText: "Silent" }).waitFor()
        assert.notInclude(await rows.filter({ hasText: "Silent" }).innerText(), "All work")
        assert.include(await rows.filter({ hasText: "answers this page" }).innerText(), "All work")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("makes no link of an explorer address that is a script, and sends no referrer to an explorer", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        const id = await firstId(running, "relayers/dev-evm/transactions")
        const { data } = await call(running, "GET", `relayers/dev-evm/transactions/${id}`)
        const networks = (await call(running, "GET", "networks?per_page=1000")).data
        assert(Array.isArray(networks))
        const network = textOf((await call(running, "GET", "relayers/dev-evm")).data, "network")
        let explorer = ""
        await page.route("**/console/api/v1/networks?*", (asked) =>
          asked.fulfill({
            json: {
              success: true,
              data: networks.map((one) =>
                textOf(one, "name") === network ? { ...one, explorer_urls: [explorer] } : one
              ),
              pagination: { current_page: 1, per_page: 1000, total_items: networks.length }
            }
          })
        )
        const configured = networks.find((one) => textOf(one, "name") === network)
        await page.route(`**/console/api/v1/networks/evm*${network}`, (asked) =>
          asked.fulfill({ json: { success: true, data: { ...configured, explorer_urls: [explorer] } } })
        )
        const outward = page.locator("#content a:not([href^='/console'])")
        for (explorer of ["javascript:alert(1)", "https://scan.example/main"]) {
          await page.goto(`${running.baseUrl}/console/transactions/${id}?relayer=dev-evm`)
          await page.getByRole("region", { name: "Attempts", exact: true }).first().waitFor()
          await settled(page)
          if (explorer.startsWith("javascript")) {
            assert.strictEqual(await outward.count(), 0)
            await page.goto(`${running.baseUrl}/console/networks/evm%3A${network}`)
            await page.locator("#content bdi").getByText(explorer, { exact: true }).waitFor()
            assert.strictEqual(await outward.count(), 0)
            continue
          }
          await outward.first().waitFor()
          for (const link of await outward.all()) {
            assert.strictEqual(await link.getAttribute("href"), `${explorer}/tx/${textOf(data, "hash")}`)
            assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer")
          }
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("offers for each cause on the overview the page where its repair begins", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        const relayers = { count: 1, disabled: 0, degraded: 0, ids: ["dev-evm"] }
        const repairs = [
          ["relayers_disabled", "RpcValidationFailed", "/console/relayers/dev-evm/urls"],
          ["relayers_disabled", "BalanceCheckFailed", "/console/relayers/dev-evm"],
          ["providers", "ledger_stalled", "/console/relayers/dev-evm/urls"],
          ["providers", "landing_unproven", "/console/relayers/dev-evm/urls"],
          ["providers", "signer_unavailable", "/console/signers"],
          ["funds", "low_balance", "/console/relayers/dev-evm"],
          ["held", "gas_price_above_cap", "/console/relayers/dev-evm/policies"],
          ["decision", "nonce_ahead", "/console/relayers/dev-evm/nonces"],
          ["receiver", "receiver_failing", "/console/webhooks/ops"],
          ["key_expires", "key_expires", "/console/keys/ops"],
          ["service", "jobs_unhealthy", "/console/system"],
          ["decision", "landing_unproven", "/console/transactions?code=landing_unproven"]
        ] as const
        const items = repairs.map(([kind, code]) => ({
          kind,
          code,
          relayers,
          transactions: { count: code === "landing_unproven" ? 1 : 0 },
          resource: { kind: kind === "receiver" ? "notification" : "key", id: "ops" },
          reason: `${kind} ${code}`,
          next: "Repair it."
        }))
        await page.route("**/console/api/v1/attention", (asked) =>
          asked.fulfill({ json: { success: true, data: items } })
        )
        await page.goto(`${running.baseUrl}/console/`)
        for (const [kind, code, href] of repairs) {
          const item = page.locator(".att").filter({ hasText: `${kind} ${code}` })
          await item.waitFor()
          const actions = await item
            .locator(".do a")
            .evaluateAll((links) => links.map((link) => link.getAttribute("href")))
          assert.strictEqual(actions[0], href, code)
          assert.isAtMost(actions.length, 2, code)
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect(
    "knows the network of a send through stellar, and leads from events and records to what they are about",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running)
          await page.goto(`${running.baseUrl}/console/relayers/dev-stellar/send`)
          await settled(page)
          assert.strictEqual(await page.locator("#field-network").inputValue(), "dev")
          await call(running, "PATCH", "relayers/dev-evm", { policies: { min_balance: "5" } })
          for (const route of ["events", "audit"]) {
            await page.goto(`${running.baseUrl}/console/${route}`)
            await settled(page)
            for (const place of ["relayers/dev-evm", "signers/dev-evm", "networks/evm%3Adev"]) {
              await page.locator(`tbody a[href="/console/${place}"]`).first().waitFor()
            }
          }
          const record = page.locator("tbody tr").filter({ hasText: "relayer.updated" }).first()
          await record.locator("summary").click()
          await record.getByText("policies.min_balance").waitFor()
          assert.notMatch(await record.innerText(), /[{}]/, "a policy is a line for each field, not JSON")
          await call(running, "PATCH", "relayers/dev-evm", { policies: null })
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )
})
