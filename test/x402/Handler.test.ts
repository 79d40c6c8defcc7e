// The HTTP interface of the facilitator: who may ask, and what is not a request.
import { assert, describe, it } from "@effect/vitest"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { createHandler, createListener } from "../../packages/x402/src/Handler.ts"
import { bodyOf, seller, setUp } from "./fixtures.ts"
import { stuck } from "./Service.ts"

const bearer = { authorization: `Bearer ${seller.key}` }

const post = (path: string, body: unknown, headers: Record<string, string> = bearer) =>
  new Request(`http://facilitator${path}`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

describe("the handler", () => {
  it("verifies, settles, and says what it offers and what has become of a payment, below any prefix", async () => {
    const handle = createHandler(setUp().facilitator)
    const answerOf = async (asked: Request) => (await handle(asked)).json()
    assert.deepInclude(await answerOf(post("/verify", bodyOf())), { isValid: true })
    const settled = await answerOf(post("/x402/settle", bodyOf()))
    assert.deepInclude(settled, { success: true })
    const name = settled.extra.settlement
    const state = new Request(`http://facilitator/settlements/${name}`, { headers: bearer })
    assert.deepStrictEqual(await answerOf(state), { name, status: "settled", transaction: settled.transaction })
    const { kinds } = await answerOf(new Request("http://facilitator/supported"))
    assert.strictEqual(kinds.length, 1)
  })

  it("answers only sellers, and only what it has", async () => {
    const { facilitator, service } = setUp()
    const handle = createHandler(facilitator)
    const cases: ReadonlyArray<readonly [Request, number]> = [
      [post("/settle", bodyOf(), {}), 401],
      [post("/settle", bodyOf(), { authorization: "Bearer another" }), 401],
      [post("/settle", bodyOf(), { authorization: seller.key }), 401],
      [new Request("http://facilitator/settlements/x402-1"), 401],
      [new Request("http://facilitator/settlements/x402-1", { headers: bearer }), 404],
      [new Request("http://facilitator/settle", { headers: bearer }), 405],
      [post("/supported", {}), 405],
      [post("/", {}), 404],
      [post("/settle/more/paths", {}), 404],
      [post("/settle", "{"), 400],
      [post("/settle", " ".repeat(70_000)), 413]
    ]
    for (const [asked, status] of cases) {
      const response = await handle(asked)
      assert.strictEqual(response.status, status, asked.url)
      assert.isString((await response.json()).error)
    }
    assert.deepStrictEqual(service.rows, [])
  })

  it("answers a body that is no payment with a reason", async () => {
    const handle = createHandler(setUp().facilitator)
    const { errorReason, success } = await (await handle(post("/settle", {}))).json()
    assert.deepStrictEqual([success, errorReason], [false, "invalid_payload"])
  })
})

describe("the listener of node:http", () => {
  it("releases the claim of a seller that closes its connection", async () => {
    const { facilitator, service } = setUp()
    service.fate = stuck
    const server = createServer(createListener(facilitator)).listen(0, "127.0.0.1")
    await new Promise((resolve) => server.once("listening", resolve))
    const { port } = server.address() as AddressInfo
    const released = new Promise<void>((resolve) => {
      const release = service.release
      Object.assign(service, {
        release: async (name: string, by: string) => {
          await release(name, by)
          resolve()
        },
        waitFor: async (...[row]: Parameters<typeof service.waitFor>) => {
          asked.destroy()
          await closed
          return row
        }
      })
    })
    const asked = request({ port, host: "127.0.0.1", path: "/settle", method: "POST", headers: bearer })
    const closed = new Promise<void>((resolve) =>
      server.once("connection", (socket) => socket.once("close", () => resolve()))
    )
    asked.on("error", () => undefined)
    asked.end(JSON.stringify(bodyOf()))
    await released
    assert.deepStrictEqual([service.claims.size, service.rows[0]?.status, service.cancels], [0, "pending", 0])
    await new Promise((resolve) => server.close(resolve))
  })
})
