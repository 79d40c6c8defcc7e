// The documentation page in a real browser that can only reach this machine. Requires TEST_CHROMIUM.
import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { chromium } from "playwright-core"
import { Strangers } from "../../src/server/limits/Strangers.ts"
import { DocsHttp } from "../../src/server/http/DocsHttp.ts"

const served = HttpRouter.serve(DocsHttp, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provide(Strangers.layer),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

const browser = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({
      executablePath: process.env.TEST_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    })
  ),
  (opened) => Effect.promise(() => opened.close())
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
      if (picture !== undefined) yield* Effect.promise(() => page.screenshot({ path: picture }))
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
