// The documentation page and the start page in a real browser that can only reach this machine. Requires TEST_CHROMIUM.
import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { version } from "../../src/api/Version.ts"
import { Readiness } from "../../src/server/lifecycle/Readiness.ts"
import * as Documents from "../../src/server/http/Documents.ts"
import { layerHome } from "../../src/server/http/Documents.ts"
import { Strangers } from "../../src/server/limits/Strangers.ts"
import { browser } from "./ConsoleInBrowser.ts"

const healthy = { status: "healthy" } as const
const jobs = {
  status: "healthy",
  audit: "healthy",
  deliveries: "healthy",
  events: "healthy",
  gauges: "healthy",
  health_checks: "healthy",
  lanes: "healthy",
  retention: "healthy"
} as const
const components = { database: healthy, process: healthy, jobs, audit: healthy, events: healthy, rows: healthy }

const readiness = Layer.succeed(Readiness, {
  check: Effect.succeed({ ready: true, status: "healthy", version, components } as const)
})

const served = HttpRouter.serve(Layer.merge(Documents.layer(), layerHome({ hasConsole: true })), {
  disableLogger: true,
  disableListenLog: true
}).pipe(
  Layer.provide([Strangers.layer, readiness]),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

layer(served)("the documentation page", (it) => {
  it.effect("shows every operation without a request to another host", () =>
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const base = HttpServer.formatAddress(address)
      const opened = yield* browser
      const page = yield* Effect.promise(() => opened.newPage({ viewport: { width: 1280, height: 900 } }))
      const elsewhere: Array<string> = []
      const errors: Array<string> = []
      page.on("request", (request) => {
        const url = request.url()
        if (!url.startsWith(base) && !url.startsWith("data:") && !url.startsWith("blob:")) elsewhere.push(url)
      })
      page.on("pageerror", (error) => errors.push(String(error)))
      yield* Effect.promise(() => page.goto(`${base}/docs`))
      yield* Effect.promise(() => page.getByText("Create a relayer").first().waitFor({ timeout: 30_000 }))
      const text = yield* Effect.promise(() => page.locator("body").innerText())
      for (const shown of ["Relayers", "Signers", "Notifications", "Networks", "List relayers"]) {
        assert.include(text, shown)
      }
      assert.notInclude(text, "Username")
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(elsewhere, [])
      const picture = process.env.TEST_SCREENSHOT
      if (picture !== undefined) yield* Effect.promise(() => page.screenshot({ path: `${picture}.docs.png` }))
    })
  )

  it.effect("offers to send the example, without optional parameters and without buttons that lead nowhere", () =>
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const opened = yield* browser
      const page = yield* Effect.promise(() => opened.newPage({ viewport: { width: 1280, height: 900 } }))
      yield* Effect.promise(() =>
        page.goto(`${HttpServer.formatAddress(address)}/docs#tag/signers/POST/api/v1/signers`)
      )
      const sender = page
        .locator("button:visible", { hasText: "Test Request" })
        .filter({ hasText: "post /api/v1/signers)" })
      yield* Effect.promise(() => sender.click({ timeout: 30_000 }))
      const dialog = page.getByRole("dialog")
      const shown = dialog.getByText('"hot-1"')
      yield* Effect.promise(() => shown.waitFor({ timeout: 30_000 }))
      const text = (yield* Effect.promise(() => dialog.innerText())).replaceAll(/\s+/g, " ")
      assert.include(text, '{ "id": "hot-1", "type": "plain" }')
      const ticked = yield* Effect.promise(() =>
        dialog
          .getByRole("row")
          .filter({ has: page.locator("input[type=checkbox]:checked") })
          .allInnerTexts()
      )
      assert.isAbove(ticked.length, 0)
      assert.notMatch(ticked.join(" "), /X-Relayer-Debug|Idempotency-Key/)

      const buttons = yield* Effect.promise(() => page.locator("button").allInnerTexts())
      assert.notMatch(buttons.join("\n"), /Generate|Share|Deploy|Configure|Ask AI|Open API Client/i)
      const links = yield* Effect.promise(() => page.locator("a[href^=http]").allInnerTexts())
      for (const link of links) assert.match(link, /^\s*Powered by Scalar/i)
      const picture = process.env.TEST_SCREENSHOT
      if (picture !== undefined) yield* Effect.promise(() => page.screenshot({ path: `${picture}.request.png` }))
    })
  )

  it.effect("runs and loads only its own scripts", () =>
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const opened = yield* browser
      const page = yield* Effect.promise(() => opened.newPage())
      const refused: Array<string> = []
      page.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) refused.push(message.text())
      })
      yield* Effect.promise(() => page.goto(`${HttpServer.formatAddress(address)}/docs`))
      yield* Effect.promise(() => page.getByText("Create a relayer").first().waitFor({ timeout: 30_000 }))
      assert.deepStrictEqual(refused, [])

      const attempts = yield* Effect.promise(() =>
        page.evaluate(async () => {
          const script = document.createElement("script")
          script.textContent = "document.title = 'injected'"
          document.body.append(script)
          const elsewhere = await fetch("http://127.0.0.1:1/").then(
            () => "fetched",
            (error: unknown) => String(error)
          )
          return { title: document.title, elsewhere }
        })
      )
      assert.notStrictEqual(attempts.title, "injected")
      assert.include(attempts.elsewhere, "TypeError")
      assert.match(refused.join("\n"), /inline script[^]*connect-src/)
    })
  )
})

layer(served)("the start page", (it) => {
  it.effect("shows version and state with an icon, and links to the documentation", () =>
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const opened = yield* browser
      const page = yield* Effect.promise(() => opened.newPage({ viewport: { width: 1280, height: 900 } }))
      const problems: Array<string> = []
      page.on("console", (message) => problems.push(message.text()))
      yield* Effect.promise(() => page.goto(HttpServer.formatAddress(address)))
      const text = yield* Effect.promise(() => page.locator("body").innerText())
      assert.include(text, `effect-relayer ${version}`)
      assert.include(text, "This instance is healthy")
      const icon = yield* Effect.promise(() =>
        page.evaluate(async () => {
          const image = new Image()
          image.src = "/favicon.ico"
          await image.decode()
          return image.naturalWidth
        })
      )
      assert.isAbove(icon, 0)
      assert.deepStrictEqual(problems, [])
      const picture = process.env.TEST_SCREENSHOT
      if (picture !== undefined) yield* Effect.promise(() => page.screenshot({ path: `${picture}.home.png` }))
      yield* Effect.promise(() => page.getByRole("link", { name: "API documentation" }).click())
      yield* Effect.promise(() => page.getByText("Create a relayer").first().waitFor({ timeout: 30_000 }))
    })
  )
})
