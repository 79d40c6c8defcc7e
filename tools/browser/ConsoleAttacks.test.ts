// Attacks on a session of the console by pages and servers of other ports and hosts, in Chromium: what the browser really sends
// decides. The second service of the host is innocent.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { createServer, request as send } from "node:http"
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page, Request } from "playwright-core"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import { browser, call, open, signIn, textOf, until } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

/** A server of somebody else on this machine. Its pages can be opened as 127.0.0.1, and as localhost, which is another host. */
interface Attacker {
  readonly port: number
  readonly seen: ReadonlyArray<IncomingMessage>
  /** The page that it answers, and further header fields. */
  answer: { readonly html: string; readonly headers?: OutgoingHttpHeaders }
}

const attacker = Effect.gen(function* () {
  const seen: Array<IncomingMessage> = []
  const made: Attacker = { port: 0, seen, answer: { html: "" } }
  const server = createServer((request, response) => {
    seen.push(request)
    const { html, headers } = made.answer
    response.writeHead(200, { "content-type": "text/html", ...headers }).end(`<!doctype html>${html}`)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return Object.assign(made, { port: (server.address() as AddressInfo).port })
})

const service = Effect.gen(function* () {
  return yield* Service.listen({ folder: yield* folder, env: { API_KEY: Service.apiKey } })
})

interface Attacked extends Running {
  readonly other: Running
  readonly attacker: Attacker
}

class Host extends Context.Service<Host, Attacked>()("effect-relayer-browser/ConsoleAttacks.test/Host") {
  static readonly layer = Layer.effect(
    Host,
    Effect.gen(function* () {
      const opened = yield* browser
      const [one, two] = yield* Effect.all([service, service], { concurrency: "unbounded" })
      const running = { baseUrl: one.baseUrl, key: Service.apiKey, browser: opened }
      return { ...running, other: { ...running, baseUrl: two.baseUrl }, attacker: yield* attacker }
    })
  )
}

const relayersPage = (page: Page) => page.getByRole("heading", { name: "Relayers", level: 1 }).waitFor()

const proofOf = (page: Page) => page.evaluate("sessionStorage.getItem('effect-relayer.proof')")

/** The status of a request that a program makes with any header fields, also those that browsers do not let scripts set. */
const replay = (baseUrl: string, path: string, headers: OutgoingHttpHeaders) =>
  new Promise<number>((resolve, reject) => {
    send(`${baseUrl}${path}`, { headers }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end()
  })

/** Opens the attacker's page beside the session, and waits until it has done what it does. */
const visit = async (page: Page, url: string) => {
  const evil = await page.context().newPage()
  await evil.goto(url)
  await evil.waitForLoadState("networkidle")
  return evil
}

const isStillSignedIn = async (page: Page, { baseUrl }: Running) => {
  await page.goto(`${baseUrl}/console/relayers`)
  await relayersPage(page)
}

layer(Host.layer, { timeout: 240_000, excludeTestServices: true })(
  "a session beside other servers of its host",
  (it) => {
    it.effect(
      "is worth nothing to a server of another port, which receives the cookie and replays it with every header",
      () =>
        Effect.gen(function* () {
          const running = yield* Host
          const { attacker, baseUrl } = running
          yield* Effect.promise(async () => {
            const { page } = await signIn(running)
            const cookieName = `relayer-console-${new URL(baseUrl).port}=`
            await visit(page, `http://127.0.0.1:${attacker.port}/console/api/v1/relayers`)
            const cookie = attacker.seen.find(({ url }) => url?.startsWith("/console/"))?.headers.cookie ?? ""
            // Without this the test would prove nothing.
            assert.isTrue(cookie.startsWith(cookieName), "the browser sends the cookie to the other port")
            const asPage = { cookie, "sec-fetch-site": "same-origin", origin: baseUrl, referer: `${baseUrl}/console/` }
            for (const path of [
              "/console/api/v1/relayers",
              "/console/session",
              "/console/sessions",
              "/api/v1/relayers"
            ]) {
              for (const proof of [undefined, "1", cookie.slice(cookieName.length), "x".repeat(43)]) {
                const headers = { ...asPage, ...(proof === undefined ? {} : { "x-console": proof }) }
                assert.strictEqual(await replay(baseUrl, path, headers), 401, path)
              }
            }
            // The same request with the other half, which only the page has: the refusals above are for its absence.
            const whole = { ...asPage, "x-console": String(await proofOf(page)) }
            assert.strictEqual(await replay(baseUrl, "/console/api/v1/relayers", whole), 200)
            await isStillSignedIn(page, running)
            await page.context().close()
          })
        })
    )

    it.effect("is not used by pages of another port or another host: forms, requests and frames are refused", () =>
      Effect.gen(function* () {
        const running = yield* Host
        const { attacker, baseUrl } = running
        yield* Effect.promise(async () => {
          const { page } = await signIn(running)
          const proof = String(await proofOf(page))
          const target = `${baseUrl}/console/api/v1/master-key/rotate`
          const before = await call(running, "GET", "audit?limit=100")
          for (const host of ["127.0.0.1", "localhost"]) {
            for (const [method, type] of [
              ["post", "text/plain"],
              ["get", "application/x-www-form-urlencoded"]
            ]) {
              attacker.answer = {
                html: `<form method="${method}" enctype="${type}" action="${target}"><input name="x" value="y"></form>
                <script>document.forms[0].submit()</script>`
              }
              const evil = await page.context().newPage()
              const answered = evil.waitForResponse(target.concat(method === "get" ? "?x=y" : ""))
              await evil.goto(`http://${host}:${attacker.port}/`)
              assert.strictEqual((await answered).status(), 403, `${method} from ${host}`)
              await evil.close()
            }
            attacker.answer = {
              html: `<iframe src="${baseUrl}/console/relayers"></iframe><script>
              const tries = [
                ["POST", {}], ["POST", { "x-console": "${proof}" }], ["GET", { "x-console": "${proof}" }], ["DELETE", {}]
              ]
              Promise.all(tries.map(([method, headers]) =>
                fetch("${target}", { method, headers, credentials: "include" })
                  .then((response) => response.status, () => "refused")
              )).then((results) => { document.title = results.join() })</script>`
            }
            const evil = await visit(page, `http://${host}:${attacker.port}/`)
            await evil.waitForFunction("document.title !== ''")
            assert.strictEqual(await evil.title(), "refused,refused,refused,refused", host)
            const framed = evil.frames().find((frame) => frame !== evil.mainFrame())
            assert.match(framed?.url() ?? "", /^chrome-error:/, "the browser shows no page of the console in a frame")
            await evil.close()
          }
          const after = await call(running, "GET", "audit?limit=100")
          assert.deepStrictEqual(after.data, before.data)
          await isStillSignedIn(page, running)
          await page.context().close()
        })
      })
    )

    it.effect("is never that of an attacker who sets the cookie, so that nobody works in it unknowingly", () =>
      Effect.gen(function* () {
        const running = yield* Host
        const { attacker, baseUrl } = running
        yield* Effect.promise(async () => {
          const { page } = await signIn(running)
          const theirs = await signIn(running)
          const [cookie] = await theirs.page.context().cookies(`${baseUrl}/console/`)
          assert(cookie !== undefined)
          attacker.answer = {
            html: "",
            headers: { "set-cookie": `${cookie.name}=${cookie.value}; Path=/console; HttpOnly; SameSite=Strict` }
          }
          await (await visit(page, `http://127.0.0.1:${attacker.port}/`)).close()
          await page.goto(`${baseUrl}/console/relayers`)
          await page.locator("#key").waitFor()
          assert.strictEqual(await page.getByRole("heading", { name: "Relayers", level: 1 }).count(), 0)
          attacker.answer = { html: "" }
          await page.context().close()
          await theirs.page.context().close()
        })
      })
    )

    it.effect("that begins at a link to the sign-in opens the overview, and no page of another host", () =>
      Effect.gen(function* () {
        const running = yield* Host
        yield* Effect.promise(async () => {
          for (const next of ["//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
            const { page, elsewhere, problems } = await open(running)
            await page.goto(`${running.baseUrl}/console/sign-in?next=${next}`)
            await page.locator("#key").fill(running.key)
            await page.getByRole("button", { name: "Sign in" }).click()
            await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
            assert.strictEqual(page.url(), `${running.baseUrl}/console/`, next)
            assert.deepStrictEqual([elsewhere, problems], [[], []])
            await page.context().close()
          }
        })
      })
    )
    it.effect("stays when its person signs in to a second service on another port, and out of it", () =>
      Effect.gen(function* () {
        const running = yield* Host
        const { other } = running
        yield* Effect.promise(async () => {
          const { page, problems } = await signIn(running)
          const second = await page.context().newPage()
          await second.goto(`${other.baseUrl}/console/relayers`)
          // The proof of the first service is not that of the second one.
          await second.locator("#key").fill(other.key)
          await second.getByRole("button", { name: "Sign in" }).click()
          await relayersPage(second)
          await isStillSignedIn(page, running)
          await isStillSignedIn(second, other)
          await second.getByRole("button", { name: "Sign out" }).click()
          await second.locator("#key").waitFor()
          await isStillSignedIn(page, running)
          assert.deepStrictEqual(problems, [])
          await page.context().close()
        })
      })
    )

    it.effect(
      "ends on an open page when its key is revoked, together with its stream of events and what is shown",
      () =>
        Effect.gen(function* () {
          const running = yield* Host
          yield* Effect.promise(async () => {
            const created = await call(running, "POST", "api-keys", {
              name: "laptop",
              scopes: ["relayers:read", "events:read"]
            })
            const { page } = await signIn(running, {}, false, textOf(created.data, "key"))
            const streams = new Set<Request>()
            page.on("request", (sent) => {
              if (sent.headers()["accept"] === "text/event-stream") streams.add(sent)
            })
            page.on("requestfinished", (sent) => streams.delete(sent))
            page.on("requestfailed", (sent) => streams.delete(sent))
            await page.goto(`${running.baseUrl}/console/events`)
            await page.getByRole("heading", { name: "Events", level: 1 }).waitFor()
            await until(async () => (streams.size === 1 ? true : undefined))
            await call(running, "DELETE", `api-keys/${textOf(created.data, "id")}`)
            await until(async () => (streams.size === 0 ? true : undefined))
            await page.getByRole("dialog").locator("#key").waitFor()
            await page.reload()
            await page.locator("#key").waitFor()
            assert.strictEqual(await page.locator("tbody tr").count(), 0)
            await page.context().close()
          })
        })
    )
  }
)
