// The console in Chromium, on the real service with a chain, for tests. With CONSOLE_PICTURES, a folder, pages are kept as pictures.
import { Context, Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { chromium } from "playwright-core"
import type { Browser, Page } from "playwright-core"
import { inject } from "vitest"
import { isLong } from "../../testkit/Depth.ts"

const axe = fs.readFileSync(path.join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8")
export const pictures = process.env.CONSOLE_PICTURES

export interface Running {
  readonly baseUrl: string
  readonly key: string
  readonly browser: Browser
}

export interface Developing extends Running {
  /** RPC URL of the evm chain. */
  readonly chainUrl: string
}

/** The Chromium of all files. What a test opens is closed with its scope. */
export const browser = Effect.acquireRelease(
  Effect.promise(() => chromium.connect(inject("chromium"))),
  (opened) => Effect.promise(() => opened.close())
)

/**
 * The development service with a relayer and a confirmed transaction for each type of network, and a browser. All files share it, one after
 * the other: a test that changes a relayer makes one of its own, by `ownRelayer`, or puts back what it changes.
 */
export class Console extends Context.Service<Console, Developing>()("effect-relayer-browser/ConsoleInBrowser/Console") {
  static readonly layer = Layer.effect(
    Console,
    Effect.gen(function* () {
      return { ...inject("development"), browser: yield* browser }
    })
  )
}

/** Milliseconds. A machine with a load of 15 needs them. */
const patience = 60_000

export const patienceOfAll = 900_000

/** Milliseconds between two looks of a test. */
const pace = 250

/** Repeats until the check gives a value. */
export const until = async <A>(check: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const found = await check()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, pace))
  }
}

interface Api {
  readonly status: number
  readonly data: unknown
  readonly error?: string
}

export const call = async ({ baseUrl, key }: Running, method: string, route: string, body?: unknown): Promise<Api> => {
  const response = await fetch(`${baseUrl}/api/v1/${route}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const answer = (await response.json()) as Omit<Api, "status">
  return { ...answer, status: response.status }
}

/** A field of an object of the API. */
export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && name in value ? Reflect.get(value, name) : undefined

export const textOf = (value: unknown, name: string): string => String(fieldOf(value, name) ?? "")

export const firstId = async (running: Running, route: string) => {
  const { data } = await call(running, "GET", route)
  return Array.isArray(data) ? textOf(data[0], "id") : ""
}

export const setBalance = async ({ chainUrl }: Developing, address: string, wei: bigint) => {
  const params = [address, `0x${wei.toString(16)}`]
  await fetch(chainUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_setBalance", params })
  })
}

const ether = 10n ** 18n

/** Creates a healthy evm relayer with this id, and a signer with the same id. */
export const ownRelayer = async (running: Developing, id: string): Promise<string> => {
  const signer = await call(running, "POST", "signers", { id, type: "plain" })
  const relayer = await call(running, "POST", "relayers", {
    id,
    name: `Own, ${id}`,
    network_type: "evm",
    network: "dev",
    paused: false,
    signer_id: id
  })
  for (const { status, error } of [signer, relayer]) if (status !== 201) throw new Error(`${id}: ${status} ${error}`)
  await setBalance(running, textOf(relayer.data, "address"), ether)
  await until(async () => {
    await call(running, "POST", `relayers/${id}/check`)
    const { data } = await call(running, "GET", `relayers/${id}/explain`)
    return textOf(data, "state") === "healthy" ? true : undefined
  })
  return id
}

interface Seen {
  readonly page: Page
  /** Errors of the page and reports of its content security policy. */
  readonly problems: Array<string>
  /** Requests to other hosts. */
  readonly elsewhere: Array<string>
}

export interface Look {
  readonly theme?: "light" | "dark"
  readonly width?: number
  readonly height?: number
}

/** The looks in which a page is shown: one of them, which its route determines; in the long form, and for pictures, all of them. */
export const looksOf = (route: string, looks: ReadonlyArray<Look>): ReadonlyArray<Look> =>
  isLong || pictures !== undefined ? looks : looks.slice(route.length % looks.length).slice(0, 1)

export const open = async (
  { baseUrl, browser }: Running,
  { theme = "light", width = 1440, height = 900 }: Look = {}
): Promise<Seen> => {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  const problems: Array<string> = []
  const elsewhere: Array<string> = []
  page.on("pageerror", (error) => problems.push(String(error)))
  page.on("console", (message) => {
    // The browser writes a line for each response from 400 on, which the page shows in its own words.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(baseUrl) && !request.url().startsWith("data:")) elsewhere.push(request.url())
  })
  return { page, problems, elsewhere }
}

export const signIn = async (
  running: Running,
  look: Look = {},
  isReadOnly = false,
  key = running.key
): Promise<Seen> => {
  const seen = await open(running, look)
  await seen.page.goto(`${running.baseUrl}/console/`)
  await seen.page.locator("#key").fill(key)
  if (isReadOnly) await seen.page.getByRole("checkbox").check()
  await seen.page.getByRole("button", { name: "Sign in" }).click()
  await seen.page.locator("#content h1").waitFor()
  return seen
}

/** Loaded: no grey bars, and the heading of the page. */
export const settled = async (page: Page) => {
  await page.locator("main h1").first().waitFor()
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" })
}

export const violations = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(`${axe}; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`)

/**
 * Texts that a reader does not see whole: those that an element or a table cuts off, that reach out of the box of an element around them, or
 * that are shortened without the complete text and a button that copies it. Runs in the page.
 */
const findCut = () => {
  /** Pixels. Boxes have fractions of pixels. */
  const tolerance = 1.5
  const named = (element: Element) => {
    const name = element.tagName.toLowerCase() + (element.className === "" ? "" : `.${String(element.className)}`)
    return name.replaceAll(" ", ".")
  }
  const isHidden = (element: Element) =>
    !element.checkVisibility({ visibilityProperty: true }) || element.closest(".sr, .skip, .side, canvas") !== null
  const faultOf = (
    element: Element,
    text: { readonly left: number; readonly right: number; readonly bottom: number }
  ) => {
    for (let box: Element | null = element; box !== null && box !== document.body; box = box.parentElement) {
      const { display, overflowX, overflowY, position } = getComputedStyle(box)
      if (display === "inline" || display === "contents") continue
      const { left, right, bottom } = box.getBoundingClientRect()
      if (text.right > right + tolerance || text.left < left - tolerance) {
        return `${overflowX === "visible" ? "reaches out of" : "is cut by"} ${named(box)}`
      }
      if (overflowY === "hidden" && text.bottom > bottom + tolerance) return `is cut below by ${named(box)}`
      if (position === "fixed") break
    }
    return undefined
  }
  const found = new Set<string>()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    const text = node.textContent?.trim() ?? ""
    if (element === null || text === "" || isHidden(element) || element.closest("option") !== null) continue
    const code = element.closest(".code")
    const isWhole =
      code !== null && code.querySelector("code[title]") !== null && code.querySelector("button.copy") !== null
    if (/^\S{4,}…\S{4,}$/.test(text) && !isWhole) found.add(`"${text}" is shortened and cannot be copied`)
    const range = document.createRange()
    range.selectNodeContents(node)
    const fault = [...range.getClientRects()].map((rect) => faultOf(element, rect)).find((one) => one !== undefined)
    // An id or a hash may be cut where all of it is in the tooltip, and a button copies it.
    if (fault !== undefined && !(isWhole && element.closest("code") !== null))
      found.add(`"${text.slice(0, 60)}" ${fault}`)
  }
  for (const field of document.querySelectorAll<HTMLInputElement | HTMLSelectElement>("main input, main select")) {
    if (!isHidden(field) && field.scrollWidth > field.clientWidth + tolerance)
      found.add(`the field ${field.id} cuts its text`)
  }
  return [...found]
}

export const cutTexts = (page: Page): Promise<ReadonlyArray<string>> => page.evaluate(findCut)

/** Ends the session of the page, which learns it from the next response. */
export const endSession = (page: Page) =>
  page.evaluate(
    "fetch('/console/session', { method: 'DELETE', headers: { 'x-console': sessionStorage.getItem('effect-relayer.proof') } })"
  )

export const keep = async (page: Page, route: string, { theme, width }: Look) => {
  if (pictures === undefined) return
  fs.mkdirSync(pictures, { recursive: true })
  const name = route.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "") || "console"
  await page.screenshot({ path: path.join(pictures, `${name}-${theme}-${width}.png`), fullPage: true })
}

/** The Tab key reaches each element of a page within so many presses. */
const furthest = 80

/** Moves the focus with the Tab key until it is on what the selector names. */
export const tabTo = async (page: Page, selector: string) => {
  await page.locator(selector).first().waitFor()
  for (let step = 0; step < furthest; step += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`the Tab key does not lead to ${selector} at ${page.url()}`)
}

/** No CSS selector finds a button or link by its text, so that an attribute marks the element for `tabTo`. */
export const tabToText = async (page: Page, role: "button" | "link", name: string) => {
  const wanted = page.getByRole(role, { name, exact: true }).first()
  await wanted.waitFor()
  await wanted.evaluate((element) => element.setAttribute("data-wanted", ""))
  await tabTo(page, "[data-wanted]")
  await wanted.evaluate((element) => element.removeAttribute("data-wanted"))
}
