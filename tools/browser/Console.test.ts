// The console in Chromium, on the real service with a chain: every page in both themes and two widths, and what people do.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import {
  Console,
  call,
  cutTexts,
  endSession,
  firstId,
  keep,
  looksOf,
  open,
  ownRelayer,
  patienceOfAll,
  pictures,
  settled,
  signIn,
  textOf,
  until,
  violations
} from "./ConsoleInBrowser.ts"
import type { Developing, Look, Running } from "./ConsoleInBrowser.ts"

/** Each theme on a screen, a tablet and a phone, and a zoom of 400 %. With pictures, all combinations of theme and width. */
const looks: ReadonlyArray<Look> = [
  { theme: "light", width: 1440 },
  { theme: "dark", width: 390 },
  // What a zoom of 400 % leaves of 1280 × 1024 pixels.
  { theme: "light", width: 320, height: 256 },
  { theme: "dark", width: 768 },
  ...(pictures === undefined
    ? []
    : ([
        { theme: "dark", width: 1440 },
        { theme: "light", width: 390 }
      ] as const))
]

/** Network types of the relayers of the service. */
const types = ["evm", "solana", "stellar"] as const

/** The pages of a relayer, of its newest transaction, and of the form that sends. */
const routesOfType = async (running: Running, type: string): Promise<ReadonlyArray<string>> => {
  const relayer = `/console/relayers/dev-${type}`
  const transaction = await firstId(running, `relayers/dev-${type}/transactions`)
  return [
    relayer,
    `${relayer}/send`,
    `${relayer}/settings`,
    `${relayer}/policies`,
    ...(type === "solana" ? [] : [`${relayer}/nonces`]),
    ...(type === "evm" ? [`${relayer}/delegation`] : []),
    `/console/transactions/${transaction}?relayer=dev-${type}`,
    `/console/networks/${encodeURIComponent(`${type}:dev`)}`,
    `/console/new/relayer?type=${type}`,
    `/console/new/network?type=${type}`
  ]
}

/** Pages of what does not work: a relayer whose transactions wait for funds, and one that is paused. */
const troubled = async (running: Developing): Promise<ReadonlyArray<string>> => {
  const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
  const relayer = await ownRelayer(running, "stuck")
  const send = (value: string) => call(running, "POST", `relayers/${relayer}/transactions`, { to, value })
  const sent = [await send("50000000000000000000"), await send("1000000000000000")]
  await until(async () => {
    const { data } = await call(running, "GET", `relayers/${relayer}/explain`)
    return textOf(data, "code") === "waiting_for_funds" ? true : undefined
  })
  const paused = await ownRelayer(running, "stopped")
  await call(running, "PATCH", `relayers/${paused}`, { paused: true })
  return [
    ...[relayer, paused].map((id) => `/console/relayers/${id}`),
    `/console/relayers/${relayer}/transactions`,
    `/console/relayers/${paused}/send`,
    ...sent.map(({ data }) => `/console/transactions/${textOf(data, "id")}?relayer=${relayer}`)
  ]
}

/** Other files expect a service in which nothing needs attention. */
const repaired = async (running: Developing) => {
  await call(running, "DELETE", "relayers/stuck/transactions/pending")
  for (const id of ["stuck", "stopped"]) {
    await until(async () => ((await call(running, "DELETE", `relayers/${id}`)).status === 200 ? true : undefined))
  }
}

/** The routes of the pages, with the objects of the service. */
const routesOf = async (running: Developing): Promise<ReadonlyArray<string>> => {
  const relayer = "dev-evm"
  const transaction = await firstId(running, "transactions")
  const signer = await firstId(running, "signers")
  const key = textOf((await call(running, "POST", "api-keys", { name: "pages", scopes: ["relayers:read"] })).data, "id")
  const claim = "x402-" + "9f86d081884c7d65".repeat(4)
  await call(running, "POST", "claims", { name: claim, by: "5b8aa5a2d2c872e8321cf37308d69df2", seconds: 3600 })
  const ofTypes = await Promise.all(types.map((type) => routesOfType(running, type)))
  return [
    ...ofTypes.flat(),
    "/console/",
    ...(await troubled(running)),
    "/console/webhooks",
    "/console/events",
    "/console/claims",
    `/console/claims/${claim}`,
    `/console/claims/${"nobody.".repeat(18)}`,
    "/console/networks",
    "/console/signers",
    `/console/signers/${signer}`,
    "/console/search",
    "/console/search?q=Develop",
    "/console/search?q=5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW",
    "/console/signed-in",
    "/console/keys",
    `/console/keys/${key}`,
    "/console/audit",
    "/console/system",
    "/console/new/signer",
    "/console/new/signer?type=vault_transit",
    "/console/new/webhook",
    "/console/new/key",
    "/console/relayers",
    `/console/relayers/${relayer}/transactions`,
    `/console/relayers/${relayer}/urls`,
    `/console/relayers/${relayer}/events`,
    "/console/transactions",
    `/console/transactions/${transaction}`,
    "/console/relayers?network_type=none",
    "/console/transactions/abc?relayer=nobody",
    "/console/nowhere"
  ]
}

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("the console", (it) => {
  it.effect(
    "shows every page without errors, reports, other hosts or barriers, in both themes and widths",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const routes = await routesOf(running)
          const faults: Array<string> = []
          for (const look of looks) {
            const { page, problems, elsewhere } = await signIn(running, look)
            for (const route of routes.filter((one) => looksOf(one, looks).includes(look))) {
              await page.goto(running.baseUrl + route)
              await settled(page)
              await keep(page, route, look)
              const sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
              const found = [
                ...(sideways === 0 ? [] : [`scrolls sideways by ${String(sideways)} pixels`]),
                ...(await cutTexts(page)),
                ...(await violations(page)),
                ...problems.splice(0),
                ...elsewhere.splice(0)
              ]
              faults.push(...found.map((fault) => `${route}, ${look.theme}, ${look.width}: ${fault}`))
            }
            await page.context().close()
          }
          await repaired(running)
          assert.deepStrictEqual(faults, [])
        })
      }),
    patienceOfAll
  )

  it.effect("refuses a wrong key in words, keeps the field, and stores nothing but the proof", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await open(running)
        await page.goto(`${running.baseUrl}/console/relayers`)
        const field = page.locator("#key")
        await field.fill("er_wrong")
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByText("This key is not valid").waitFor()
        assert.strictEqual(await field.inputValue(), "er_wrong")

        await field.fill(running.key)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByRole("heading", { name: "Relayers", level: 1 }).waitFor()
        const stored = await page.evaluate(
          "JSON.stringify([Object.keys(sessionStorage), Object.entries(localStorage), document.cookie, location.href])"
        )
        assert.strictEqual(
          stored,
          JSON.stringify([["effect-relayer.proof"], [], "", `${running.baseUrl}/console/relayers`])
        )
        await page.context().close()
      })
    })
  )

  it.effect(
    "keeps all digits of an amount in form, difference and service, and shows both versions after a conflict",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const relayer = await ownRelayer(running, "amounts")
          const { page } = await signIn(running)
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/policies`)
          const cap = page.locator("#field-gas_price_cap")
          await cap.fill("1,5")
          await page.getByRole("button", { name: "Save" }).click()
          await page.getByText("Enter a decimal number").waitFor()

          const largest = (2n ** 128n - 1n).toString()
          await page.getByLabel("Unit").first().selectOption("0")
          await cap.fill(largest)
          assert.include(await page.locator(".review").innerText(), largest)
          await page.getByRole("button", { name: "Save" }).click()
          await page.locator(".review").waitFor({ state: "detached" })
          const { data } = await call(running, "GET", `relayers/${relayer}`)
          assert.include(JSON.stringify(data), "gas_price_cap")

          await page.locator("#field-min_balance").fill("0.5")
          await call(running, "PATCH", `relayers/${relayer}`, { policies: { gas_price_cap: "7" } })
          await page.getByRole("button", { name: "Save" }).click()
          const conflict = page.locator(".conflict")
          await conflict.waitFor()
          await page.getByText("Somebody changed it meanwhile").waitFor()
          await conflict.getByText("gas_price_cap").waitFor()
          assert.include(await conflict.innerText(), "min_balance")
          await page.getByRole("button", { name: "Apply my change again" }).click()
          await page.getByRole("button", { name: "Save" }).click()
          await page.locator(".review").waitFor({ state: "detached" })
          const after = JSON.stringify((await call(running, "GET", `relayers/${relayer}`)).data)
          assert.include(after, "500000000000000000")
          assert.include(after, '"gas_price_cap":7,', "the change of the other person stays")
          await page.context().close()
        })
      })
  )

  it.effect("pauses and resumes a relayer, and a read-only session can do neither", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = await ownRelayer(running, "pausing")
        const { page } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
        await page.getByRole("button", { name: "Pause" }).click()
        const dialog = page.getByRole("dialog")
        assert.isTrue(
          await dialog.getByRole("button", { name: "Cancel" }).evaluate((button) => button.matches(":focus"))
        )
        await dialog.getByRole("button", { name: "Pause" }).click()
        await page.locator("h1").getByText("Paused").waitFor()
        await page.getByRole("button", { name: "Resume" }).click()
        await dialog.getByRole("button", { name: "Resume" }).click()
        await page.getByRole("button", { name: "Pause" }).waitFor()
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.locator("#key").waitFor()
        await page.context().close()

        const reading = await signIn(running, {}, true)
        await reading.page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
        await reading.page.getByText("Read only: this session can change nothing.").waitFor()
        await reading.page.getByRole("button", { name: "Check now" }).waitFor()
        assert.strictEqual(await reading.page.getByRole("button", { name: "Pause" }).count(), 0)
        await reading.page.context().close()
      })
    })
  )

  it.effect("shows names as text, and asks for the key again over the page when the session has ended", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = await ownRelayer(running, "ended")
        const name = '<img src=x onerror="document.title=1">'
        await call(running, "PATCH", `relayers/${relayer}`, { name })
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/relayers/${relayer}/policies`)
        await page.getByRole("heading", { level: 1 }).getByText(name).waitFor()
        assert.strictEqual(await page.locator("img").count(), 0)
        await call(running, "PATCH", `relayers/${relayer}`, { name: "Own, ended" })

        await page.locator("#field-min_balance").fill("0.25")
        await endSession(page)
        await page.getByRole("button", { name: "Check now" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.locator("#key").waitFor()
        await dialog.locator("#key").fill(running.key)
        await dialog.getByRole("button", { name: "Sign in" }).click()
        await dialog.waitFor({ state: "detached" })
        assert.strictEqual(await page.locator("#field-min_balance").inputValue(), "0.25")
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sends a transaction from the form, shows it until it is confirmed, and refuses what is no amount", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = "dev-evm"
        const { page } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/relayers/${relayer}/send`)
        await page.locator("#field-to").fill("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
        await page.locator("#field-external_id").fill("from-the-console")
        await page.locator("#field-value").fill("1,5")
        await page.getByRole("button", { name: "Review and send…" }).click()
        await page.getByText("Enter a decimal number").waitFor()
        await page.locator("#field-value").fill("0.001")
        await page.getByRole("button", { name: "Simulate" }).click()
        const simulation = page.getByRole("region", { name: "Simulation", exact: true })
        await simulation.getByText("It would be accepted and executed now").waitFor()
        await simulation.getByText("All figures, in the smallest unit").click()
        await simulation.getByText("is_accepted").waitFor()
        assert.notMatch(await simulation.innerText(), /[{}[\]"]/, "nested objects are fields, not JSON")
        await simulation.getByText(/^Costs at most, with its value: 0\.001\d+… ETH$/).waitFor()
        await page.setViewportSize({ width: 1280, height: 800 })
        const widths = await simulation
          .locator("dd > bdi")
          .evaluateAll((values) => values.map((value) => value.parentElement?.clientWidth ?? 0))
        assert.isAtLeast(Math.min(...widths), 60, "values beside the form are not broken into single digits")
        await page.setViewportSize({ width: 1024, height: 800 })
        assert.deepStrictEqual(await cutTexts(page), [], "the verdict stays in its card in a narrow window")
        await page.getByRole("button", { name: "Review and send…" }).click()
        await page.getByRole("dialog").getByText("0.001 ETH", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Send", exact: true }).dblclick()
        await page.getByRole("heading", { name: "from-the-console" }).waitFor()
        await page.locator("h1").getByText("Confirmed").waitFor()
        await page.locator(".tl").getByText("Mined", { exact: true }).waitFor()
        const attempts = page.locator("[role=region].tblw").filter({ hasText: "Sent" })
        assert.strictEqual(
          await attempts.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
          0,
          "the last column of the attempts is on a screen of 1280 pixels"
        )
        const { data } = await call(running, "GET", "transactions?external_id=from-the-console")
        assert.strictEqual(Array.isArray(data) ? data.length : 0, 1)
        await page.context().close()
      })
    })
  )
})
