// The console in Chromium: transactions and relayers of solana and stellar in every state and with every code, and what a person does
// with them. The local networks reach few of these states, so that the browser gets them from this test instead of from the service.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { HealthCode } from "../../src/domain/health/HealthExplanation.ts"
import { HealthStatus } from "../../src/domain/health/ListedHealth.ts"
import { KnownCode } from "../../src/domain/transaction/Code.ts"
import type { Words } from "../../src/domain/transaction/Explanation.ts"
import { explain as explainSolana } from "../../src/domain/transaction/solana/SolanaWords.ts"
import { explain as explainStellar } from "../../src/domain/transaction/stellar/StellarWords.ts"
import * as LocalSolana from "../../src/process/development/LocalSolana.ts"
import * as LocalStellar from "../../src/process/development/LocalStellar.ts"
import { Console, call, firstId, settled, signIn, textOf } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

const explanations = { solana: explainSolana, stellar: explainStellar }

type Type = keyof typeof explanations

const types = ["solana", "stellar"] as const

const finals = ["confirmed", "failed", "canceled", "expired"]

const states = ["pending", "sent", "submitted", "mined", ...finals]

/** A code of a version of the service that the console does not know. */
const newer = "a_code_of_a_newer_version"

const wordsOf = (type: Type, code: string, status: string): Words =>
  explanations[type]({ code: code as KnownCode, figures: {} }, finals.includes(status))

/** The codes that have a sentence on this network, and one that has none. */
const codesOf = (type: Type): ReadonlyArray<string> => [
  ...KnownCode.literals.filter((code) => !wordsOf(type, code, "pending").reason.startsWith("Its code is")),
  newer
]

const networks = { solana: LocalSolana.network, stellar: LocalStellar.network }

/** A transaction of the service, as the browser gets it. */
interface Shown {
  readonly status: string
  readonly code: string
}

/** The page gets the transaction and its explanation with what `shown` has at the time of each request. */
const withStates = async (page: Page, running: Running, type: Type, shown: Shown) => {
  const relayer = `dev-${type}`
  const id = await firstId(running, `relayers/${relayer}/transactions`)
  const { data } = await call(running, "GET", `relayers/${relayer}/transactions/${id}`)
  assert(typeof data === "object")
  const route = `**/console/api/v1/relayers/${relayer}/transactions/${id}`
  await page.route(route, (asked) =>
    asked.request().method() === "GET"
      ? asked.fulfill({ json: { success: true, data: { ...data, ...shown } } })
      : asked.fallback()
  )
  await page.route(`${route}/explain`, (asked) =>
    asked.fulfill({
      json: {
        success: true,
        data: {
          ...shown,
          ...wordsOf(type, shown.code, shown.status),
          figures: {},
          since: "2026-01-02T03:04:05.678Z",
          ...(finals.includes(shown.status) ? {} : { next_at: "2036-01-02T03:04:05.678Z" })
        }
      }
    })
  )
  return { id, data, address: `${running.baseUrl}/console/transactions/${id}?relayer=${relayer}` }
}

/** A sentence as the page shows it: names between backticks are code elements. */
const plain = (sentence: string) => sentence.replaceAll("`", "")

const namesIn = (sentence: string) => sentence.split("`").filter((_, index) => index % 2 === 1)

/** The explanation on the page of a transaction. */
const saidOn = (page: Page) => page.locator(".say").first().innerText()

layer(Console.layer, { timeout: 600_000, excludeTestServices: true })("the console", (it) => {
  for (const type of types) {
    it.effect(
      `shows transactions of ${type} in every state and with every code, with the sentences of the service`,
      () =>
        Effect.gen(function* () {
          const running = yield* Console
          yield* Effect.promise(async () => {
            const { page, problems } = await signIn(running, { width: 360 })
            const codes = codesOf(type)
            assert.isAbove(codes.length, 40)
            const shown = { status: "", code: "" }
            const { address } = await withStates(page, running, type, shown)
            for (const [index, code] of codes.entries()) {
              Object.assign(shown, { code, status: states[index % states.length] })
              const words = wordsOf(type, code, shown.status)
              await page.goto(address)
              await page.getByText(plain(words.reason), { exact: true }).first().waitFor()
              const said = await saidOn(page)
              assert.include(said, plain(words.next), code)
              assert.includeMembers(
                await page.locator(".say").first().locator("bdi code").allInnerTexts(),
                namesIn(words.next)
              )
              assert.include(said, code)
              await settled(page)
              assert.strictEqual(await page.locator(".failed").count(), 0, code)
              assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, code)
              assert.strictEqual(await page.getByRole("button", { name: "Speed up" }).count(), 0)
              const cancel = await page.getByRole("button", { name: /^Cancel…/ }).getAttribute("aria-disabled")
              assert.strictEqual(cancel, String([...finals, "mined"].includes(shown.status)), shown.status)
            }
            assert.deepStrictEqual(problems, [])
            await page.context().close()
          })
        })
    )

    it.effect(`lists transactions of ${type} with every code, and what needs attention about them`, () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running)
          const { data } = await withStates(page, running, type, { status: "pending", code: newer })
          const codes = codesOf(type)
          const rows = codes.map((code, index) => ({
            ...data,
            id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
            status: states[index % states.length],
            code
          }))
          await page.route(/\/console\/api\/v1\/transactions\?/, (asked) =>
            asked.fulfill({ json: { success: true, data: rows } })
          )
          const items = codes.map((code) => ({
            kind: "held",
            code,
            relayers: { count: 1, disabled: 0, degraded: 0, ids: [`dev-${type}`] },
            transactions: { count: 2 },
            ...wordsOf(type, code, "pending")
          }))
          await page.route("**/console/api/v1/attention", (asked) =>
            asked.fulfill({ json: { success: true, data: items } })
          )
          for (const route of ["transactions", `relayers/dev-${type}/transactions`]) {
            await page.goto(`${running.baseUrl}/console/${route}`)
            await page
              .locator("tbody tr")
              .nth(codes.length - 1)
              .waitFor()
            const listed = await page.locator("tbody tr code").allInnerTexts()
            assert.isEmpty(
              codes.filter((code) => !listed.includes(code)),
              route
            )
            const head = await page.locator("thead").innerText()
            if (type === "stellar") assert.notInclude(head, "Nonce", "a place on stellar is a sequence")
          }
          await page.goto(`${running.baseUrl}/console/`)
          const attention = page.getByRole("region", { name: "Needs attention" })
          for (const { reason, next } of items) {
            await attention.getByText(plain(reason), { exact: true }).first().waitFor()
            assert.isAbove(await attention.getByText(plain(next), { exact: true }).count(), 0, next)
          }
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
    )

    it.effect(`shows relayers of ${type} in every state and with every code, on their page and in the list`, () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running, { width: 360 })
          const relayer = `dev-${type}`
          const { data } = await call(running, "GET", `relayers/${relayer}`)
          assert(typeof data === "object")
          const healths = HealthStatus.literals.flatMap((state) => HealthCode.literals.map((code) => ({ state, code })))
          const shown = { state: "", code: "" }
          const said = () => ({ reason: `Why: ${shown.code}.`, next: `What comes after ${shown.state}.` })
          await page.route(`**/console/api/v1/relayers/${relayer}/explain`, (asked) =>
            asked.fulfill({
              json: {
                success: true,
                data: { ...shown, ...said(), paused: false, next_at: "2036-01-02T03:04:05.678Z" }
              }
            })
          )
          for (const health of healths) {
            Object.assign(shown, health)
            await page.goto(`${running.baseUrl}/console/relayers/${relayer}`)
            await page.getByText(said().reason, { exact: true }).waitFor()
            assert.include(await saidOn(page), said().next)
            assert.include(await saidOn(page), health.code)
            assert.strictEqual(await page.locator(".failed").count(), 0, health.code)
            assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, health.code)
          }
          const rows = healths.map((health, index) => ({
            ...data,
            id: `${relayer}-${index}`,
            name: `${health.state} ${health.code}`,
            system_disabled: health.state === "disabled",
            health: { ...health, open: 1 }
          }))
          await page.route(/\/console\/api\/v1\/relayers\?/, (asked) =>
            asked.fulfill({
              json: {
                success: true,
                data: rows,
                pagination: { current_page: 1, per_page: 100, total_items: rows.length }
              }
            })
          )
          await page.goto(`${running.baseUrl}/console/relayers`)
          await page
            .locator("tbody tr")
            .nth(rows.length - 1)
            .waitFor()
          const listed = await page.locator("tbody").innerText()
          for (const { name } of rows) assert.include(listed, name)
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
    )

    it.effect(`cancels a transaction of ${type} and sends an operator's decision, each after a question`, () =>
      Effect.gen(function* () {
        const running = yield* Console
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running)
          const code = type === "solana" ? "landing_unproven" : "restored_unproven"
          const shown: Shown = { status: "submitted", code }
          const { id, data, address } = await withStates(page, running, type, shown)
          const asked: Array<readonly [method: string, path: string, body: unknown]> = []
          await page.route(/\/console\/api\/v1\/relayers\//, (route) => {
            const request = route.request()
            if (request.method() === "GET") return route.fallback()
            asked.push([request.method(), new URL(request.url()).pathname, request.postDataJSON()])
            const isCancel = request.method() === "DELETE"
            const answer = isCancel ? { ...data, ...shown } : { transaction_ids: [id] }
            return route.fulfill({ json: { success: true, data: answer } })
          })
          await page.goto(address)
          const dialog = page.getByRole("dialog")
          for (const [button, sentence, action] of [
            ["Send again", "cannot prove whether this transaction was executed", "Send again"],
            ["Give up", "ends as failed", "Give up"],
            ["Cancel…", "The service signs nothing new for it.", "Cancel transaction"]
          ] as const) {
            await page.getByRole("button", { name: button, exact: true }).click()
            await dialog.getByText(sentence).waitFor()
            await dialog.getByRole("button", { name: action, exact: true }).click()
            await dialog.waitFor({ state: "detached" })
          }
          const relayer = `/console/api/v1/relayers/dev-${type}`
          assert.deepStrictEqual(asked, [
            ["POST", `${relayer}/nonce/resync`, { answer: "send", transaction_id: id }],
            ["POST", `${relayer}/nonce/resync`, { answer: "give_up", transaction_id: id }],
            ["DELETE", `${relayer}/transactions/${id}`, null]
          ])
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
    )
  }

  it.effect("sends transactions of solana and stellar from their forms, and shows them until they are confirmed", () =>
    Effect.gen(function* () {
      const running = yield* Console
      yield* Effect.promise(async () => {
        const { page, problems } = await signIn(running)
        for (const type of types) {
          const relayer = `dev-${type}`
          const address = textOf((await call(running, "GET", `relayers/${relayer}`)).data, "address")
          await page.goto(`${running.baseUrl}/console/relayers/${relayer}/send`)
          for (const [field, value] of Object.entries(networks[type].transaction(address))) {
            await page.locator(`#field-${field}`).fill(typeof value === "string" ? value : JSON.stringify(value))
          }
          await page.locator("#field-external_id").fill(`by form on ${type}`)
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
