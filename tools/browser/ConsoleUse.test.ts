// The console in Chromium, on the real service with a chain: how people find things, follow what happens, and lose the connection.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page, Request } from "playwright-core"
import { Console, call, endSession, fieldOf, ownRelayer, settled, signIn, textOf } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

interface Sent {
  readonly id: string
  readonly hash: string
  readonly nonce: string
}

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

/** Sends a transaction and waits until it is confirmed. */
const confirmed = async (running: Running, relayer: string, external_id: string): Promise<Sent> => {
  const sent = await call(running, "POST", `relayers/${relayer}/transactions`, {
    to: receiver,
    value: "1",
    external_id
  })
  const route = `relayers/${relayer}/transactions/${textOf(sent.data, "id")}`
  for (;;) {
    const { data } = await call(running, "GET", route)
    if (fieldOf(data, "status") === "confirmed") {
      return { id: textOf(data, "id"), hash: textOf(data, "hash"), nonce: textOf(data, "nonce") }
    }
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

const search = async (page: Page, text: string) => {
  const box = page.getByRole("searchbox", { name: "Search by id" })
  await box.fill(text)
  await box.press("Enter")
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1 }).getByText(name).waitFor()

const pausing = (running: Running, relayer: string, paused: boolean) =>
  call(running, "PATCH", `relayers/${relayer}`, { paused })

const isStream = (request: Request) => request.headers()["accept"] === "text/event-stream"

const isAboutEvents = (request: Request) => new URL(request.url()).pathname === "/console/api/v1/events"

/** Opens another tab of the same browser. */
const tab = async (page: Page, url: string) => {
  const other = await page.context().newPage()
  await other.goto(url)
  await settled(other)
  return other
}

/** Signs in again in another tab, after the session has ended. */
const signInElsewhere = async (page: Page, running: Running) => {
  const other = await page.context().newPage()
  await other.goto(`${running.baseUrl}/console/`)
  await other.locator("#key").fill(running.key)
  await other.getByRole("button", { name: "Sign in" }).click()
  await heading(other, "Overview")
  await page.getByRole("dialog").waitFor({ state: "detached" })
}

layer(Console.layer, { timeout: 240_000, excludeTestServices: true })("a person in the console", (it) => {
  it.effect(
    "finds one transaction by each spelling of its id, its hash and its external id, and goes to its page",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { hash, id, nonce } = await confirmed(running, "dev-evm", "order 4711")
          const { page, problems } = await signIn(running)
          const bare = hash.slice(2)
          for (const text of [
            "  order 4711  ",
            id.toUpperCase(),
            hash,
            `0x${bare.toUpperCase()}`,
            bare,
            `dev-evm#${nonce}`,
            `https://explorer.example/tx/${hash}?tab=logs`
          ]) {
            await page.goto(`${running.baseUrl}/console/relayers`)
            await search(page, text)
            await heading(page, "order 4711")
            assert.include(page.url(), id, text)
          }
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
  )

  it.effect("finds relayers by address and name; what is not found or too long is said, never an error", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const evm = textOf((await call(running, "GET", "relayers/dev-evm")).data, "address")
        const solana = textOf((await call(running, "GET", "relayers/dev-solana")).data, "address")
        const { page, problems } = await signIn(running)
        await search(page, `0x${evm.slice(2).toUpperCase()}`)
        await page.waitForURL("**/console/relayers/dev-evm")
        await search(page, solana)
        await page.waitForURL("**/console/relayers/dev-solana")

        await search(page, "Develop")
        const results = page.getByRole("region", { name: "Search" }).last()
        await results.getByRole("link", { name: "Development, evm" }).waitFor()
        await results.getByRole("link", { name: "Development, solana" }).waitFor()

        // Letters whose other case is a digit of base58, too.
        await search(
          page,
          solana.replace(/[a-hjkmnp-zA-HJKMNP-Z]/g, (letter) =>
            letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
          )
        )
        await page.getByText("Nothing found").waitFor()
        await page.getByText("Base58 and addresses of stellar are read exactly").waitFor()

        await search(page, "x".repeat(10_000))
        await page.getByText("only its first 512 characters were searched for").waitFor()
        await page.getByText("Nothing found").waitFor()

        await page.goto(`${running.baseUrl}/console/search?q=%00%07&cursor=x`)
        await page.getByText("Enter an id, a hash").waitFor()
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("follows events in every tab by one stream, without asking for lists again", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = await ownRelayer(running, "followed")
        const { page, problems } = await signIn(running)
        const streams = new Set<Request>()
        let lists = 0
        page.context().on("request", (request) => {
          if (!isAboutEvents(request)) return
          if (isStream(request)) streams.add(request)
          else lists += 1
        })
        page.context().on("requestfailed", (request) => streams.delete(request))
        page.context().on("requestfinished", (request) => streams.delete(request))
        await page.goto(`${running.baseUrl}/console/events?resource_id=${relayer}&type=relayer.paused`)
        await settled(page)
        const second = await tab(page, `${running.baseUrl}/console/`)
        const third = await tab(page, `${running.baseUrl}/console/relayers/${relayer}/events`)
        const rows = (at: Page) => at.locator("tbody tr").filter({ hasText: "relayer.paused" })
        const before = await rows(page).count()
        await pausing(running, relayer, true)
        await rows(page).nth(before).waitFor()
        await rows(second).first().waitFor()
        await rows(third).first().waitFor()
        await third.locator("h1").getByText("Paused").waitFor()
        assert.strictEqual(streams.size, 1)

        // Events of other types are not shown, and each event is shown once.
        await pausing(running, relayer, false)
        await third.locator("tbody tr").filter({ hasText: "relayer.resumed" }).first().waitFor()
        assert.strictEqual(await page.locator("tbody tr").filter({ hasText: "relayer.resumed" }).count(), 0)
        assert.strictEqual(await rows(page).count(), before + 1)

        // When the tab that reads the stream is closed, another tab reads it.
        const listsBefore = lists
        streams.clear()
        await page.close()
        await pausing(running, relayer, true)
        await third.locator("tbody tr").filter({ hasText: "relayer.paused" }).nth(1).waitFor()
        await pausing(running, relayer, false)
        assert.strictEqual(streams.size, 1)
        assert.isAtMost(lists - listsBefore, 4)
        assert.deepStrictEqual(problems, [])
        await third.context().close()
      })
    })
  )

  it.effect("pauses the tail, which goes on reading, and links to what it shows", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const relayer = await ownRelayer(running, "tailed")
        const { page } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/events?relayer_id=${relayer}`)
        await settled(page)
        await pausing(running, relayer, true)
        await page.locator("tbody tr").first().getByText("relayer.paused").waitFor()
        await page.getByRole("button", { name: "Pause" }).click()
        await pausing(running, relayer, false)
        await page.getByText(/^\d new events?\.$/).waitFor()
        await page.locator("tbody tr").first().getByText("relayer.paused").waitFor()

        await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
        await page.getByRole("button", { name: "Copy link" }).click()
        await page.getByText("Copied").waitFor()
        const link = String(await page.evaluate("navigator.clipboard.readText()"))
        await page.getByRole("button", { name: "Follow" }).click()
        await page.locator("tbody tr").first().getByText("relayer.resumed").waitFor()
        await page.goto(link)
        await settled(page)
        await page.locator("tbody tr").first().getByText("relayer.paused").waitFor()
        await page.context().close()
      })
    })
  )

  it.effect("sees since when the service cannot be reached, and the page recovers by itself", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.context().setOffline(true)
        await page.getByRole("link", { name: "Networks" }).click()
        await page.getByText("Not connected since").waitFor()
        await page.getByText("The service cannot be reached").first().waitFor()
        await page.context().setOffline(false)
        await page.getByText("Not connected since").waitFor({ state: "detached" })
        await page.getByRole("link", { name: "dev", exact: true }).first().waitFor()
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect(
    "sees what could not be read, after the response to an earlier request has arrived right behind the failure",
    () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { page } = await signIn(running)
          await settled(page)
          // The page draws nothing between the failure and the response, so that it never shows that the service was lost.
          const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
          const { promise: held, resolve: hold } = Promise.withResolvers<void>()
          await page.route(
            "**/console/api/v1/attention",
            async (route) => {
              const response = await route.fetch()
              hold()
              await failed
              await route.fulfill({ response })
            },
            { times: 1 }
          )
          await held
          await page.route(
            "**/console/api/v1/networks?*",
            async (route) => {
              fail()
              await route.abort("internetdisconnected")
            },
            { times: 1 }
          )
          await page.getByRole("link", { name: "Networks" }).click()
          await failed
          await page.getByRole("link", { name: "dev", exact: true }).first().waitFor()
          assert.strictEqual(await page.getByText("The service cannot be reached").count(), 0)
          await page.context().close()
        })
      })
  )

  it.effect("sees the list that was chosen last, after it and others could not be read", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/transactions`)
        await settled(page)
        await page.context().setOffline(true)
        const failed = page.locator("#content").getByText("The service cannot be reached")
        // The page keeps the failure of the first list, and shows it at once when that list is chosen again.
        for (const status of ["failed", "expired", "failed"]) {
          await page.getByLabel("State").selectOption(status)
          await page.waitForURL(`**/transactions?status=${status}`)
          await failed.waitFor()
        }
        await page.context().setOffline(false)
        await failed.waitFor({ state: "detached" })
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("sees the list of the address after the next sign-in, after it and others were refused", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await signIn(running)
        await page.goto(`${running.baseUrl}/console/transactions`)
        await settled(page)
        await endSession(page)
        const isList = (url: string, status: string) => {
          const { pathname, searchParams } = new URL(url)
          return pathname === "/console/api/v1/transactions" && searchParams.get("status") === status
        }
        // The back button of the browser changes the address in this way, also while the dialog of the ended session covers the page.
        const visit = (status: string) =>
          page.evaluate((query) => {
            history.pushState(null, "", query)
            dispatchEvent(new PopStateEvent("popstate"))
          }, `?status=${status}`)
        for (const status of ["failed", "expired"]) {
          const refused = page.waitForResponse((response) => isList(response.url(), status))
          await visit(status)
          assert.strictEqual((await refused).status(), 401)
          await page.locator("#content").getByText("The service refused the request").waitFor()
        }
        // The page keeps the refusal of this list, and shows it at once.
        await visit("failed")
        const asked = page.waitForResponse((response) => isList(response.url(), "failed"))
        await signInElsewhere(page, running)
        assert.strictEqual((await asked).status(), 200)
        await page.locator("#content").getByText("The service refused the request").waitFor({ state: "detached" })
        await page.context().close()
      })
    })
  )

  it.effect("removes what is wrong in an address by a chip, and reads the rest of the page", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        await call(running, "POST", "notifications", { id: "chips", url: running.chainUrl })
        const { page, problems } = await signIn(running)
        for (const [route, name] of [
          ["/console/relayers?cursor=forged", "cursor"],
          ["/console/relayers?sort=age", "sort"],
          ["/console/transactions?color=red", "color"],
          ["/console/transactions?from=yesterday", "from"],
          ["/console/transactions?created_after=yesterday", "created_after"],
          ["/console/relayers/dev-evm/transactions?from=yesterday", "from"],
          ["/console/relayers/dev-evm/events?before=yesterday", "before"],
          ["/console/webhooks/chips?color=red", "color"],
          ["/console/events?before=yesterday", "before"],
          ["/console/audit?since=monday", "since"]
        ] as const) {
          await page.goto(running.baseUrl + route)
          const chip = page.locator("a.chip").filter({ hasText: name })
          await chip.waitFor()
          await page.getByRole("alert").getByText(name).first().waitFor()
          // The rest of the page works meanwhile.
          await page.getByRole("heading", { level: 1 }).waitFor()
          await page.locator("#content :is(.flt label, .tabs a)").first().waitFor()
          await chip.click()
          await page.getByRole("alert").filter({ hasText: name }).waitFor({ state: "detached" })
          await settled(page)
          assert.notInclude(page.url(), name)
        }
        assert.deepStrictEqual(problems, [])
        await page.context().close()
      })
    })
  )

  it.effect("stays signed in if a response to a request of the session before arrives late", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page } = await signIn(running)
        const { promise: late, resolve: arrive } = Promise.withResolvers<void>()
        const { promise: asked, resolve: hold } = Promise.withResolvers<void>()
        let isHeld = false
        await page.route("**/console/api/v1/attention", async (route) => {
          if (isHeld) return route.fallback()
          isHeld = true
          hold()
          await late
          return route.fulfill({ status: 401, json: { success: false, error: "Unauthorized" } })
        })
        await asked
        await endSession(page)
        // The session before has ended, and the person signs in again in another tab.
        await signInElsewhere(page, running)
        arrive()
        // The page asks again, with the proof of the new session.
        await page.waitForResponse((response) => response.url().endsWith("/attention") && response.status() === 200)
        assert.strictEqual(await page.getByRole("dialog").count(), 0)
        await page.context().close()
      })
    })
  )
})
