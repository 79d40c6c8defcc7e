// Imports that read the relayers of the running service, with the requests that they send.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import * as Import from "../../packages/import/src/Import.ts"
import * as LiveService from "../../packages/import/src/LiveService.ts"
import { openZeppelin } from "./OpenZeppelinInput.ts"

interface Sent {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
}

/** A server that answers with JSON, and what it was asked. */
const server = (answer: (path: string) => readonly [status: number, body: unknown]) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sent: Array<Sent> = []
      const listening = createServer((request: IncomingMessage, response) => {
        const { method = "", url = "", headers } = request
        sent.push({ method, path: url, authorization: headers.authorization })
        const [status, body] = answer(url)
        response.writeHead(status, { "content-type": "application/json", location: "http://127.0.0.1:1/" })
        response.end(typeof body === "string" ? body : JSON.stringify(body))
      })
      await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve))
      const { port } = listening.address() as AddressInfo
      return { listening, sent, url: `http://127.0.0.1:${port}` }
    }),
    ({ listening }) => Effect.promise(() => new Promise((resolve) => listening.close(resolve)))
  )

const open = (url: string) => LiveService.open(url, "Bearer secret", false)

const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => ({ id: `r${from + index}` }))

describe("the running service", () => {
  it.effect("OpenZeppelin Relayer is read page by page", () =>
    Effect.gen(function* () {
      const { sent, url } = yield* server((path) => [
        200,
        { success: true, data: path.includes("page=1&") ? numbered(100) : numbered(3, 100) }
      ])
      const { text } = yield* Effect.flatMap(open(`${url}/`), LiveService.openZeppelin)
      assert.deepStrictEqual(JSON.parse(text), { items: numbered(103) })
      assert.deepStrictEqual(sent, [
        { method: "GET", path: "/api/v1/relayers?page=1&per_page=100", authorization: "Bearer secret" },
        { method: "GET", path: "/api/v1/relayers?page=2&per_page=100", authorization: "Bearer secret" }
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("rrelayer is read until there is no next page, with every digit", () =>
    Effect.gen(function* () {
      const { sent, url } = yield* server((path) => [
        200,
        path.endsWith("offset=0")
          ? '{"items": [{"id": "a", "maxGasPrice": 12345678901234567890}], "next": {"limit": 1, "offset": 1}}'
          : { items: [{ id: "b" }], next: null }
      ])
      const { text } = yield* Effect.flatMap(open(url), LiveService.rrelayer)
      assert.strictEqual(text, '{"items":[{"id":"a","maxGasPrice":12345678901234567890},{"id":"b"}]}')
      assert.deepStrictEqual(
        sent.map(({ path }) => path),
        ["/relayers?limit=100&offset=0", "/relayers?limit=100&offset=1"]
      )
    }).pipe(Effect.scoped)
  )

  const failures: ReadonlyArray<readonly [what: string, status: number, body: unknown, exitCode: number]> = [
    ["refuses the credentials", 401, {}, 4],
    ["is another program", 200, "<html>", 1],
    ["has no list", 200, { data: "none" }, 1],
    ["redirects, which would send the credentials elsewhere", 302, {}, 1]
  ]
  it.effect.each(failures)("that %s ends the import", ([, status, body, exitCode]) =>
    Effect.gen(function* () {
      const { sent, url } = yield* server(() => [status, body])
      const failure = yield* Effect.flip(Effect.flatMap(open(url), LiveService.openZeppelin))
      assert.strictEqual(failure.exitCode, exitCode)
      assert.include(failure.message, url)
      assert.notInclude(failure.message, "secret")
      assert.lengthOf(sent, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("gets no credentials over http, unless it is this machine; one that is away is unreachable", () =>
    Effect.gen(function* () {
      const open_ = yield* Effect.flip(open("http://relayer.example.com"))
      assert.deepStrictEqual([open_.exitCode, open_.message.includes("--insecure")], [3, true])
      yield* LiveService.open("http://relayer.example.com", "Bearer secret", true)
      assert.strictEqual((yield* Effect.flip(open("ftp://relayer.example.com"))).exitCode, 2)
      const away = yield* Effect.flip(Effect.flatMap(open("http://127.0.0.1:1"), LiveService.rrelayer))
      assert.strictEqual(away.exitCode, 3)
    })
  )
})

const [first] = openZeppelin.relayers

const file = {
  ...openZeppelin,
  relayers: [
    {
      ...first,
      policies: { min_balance: 1, gas_price_cap: 2 },
      custom_rpc_urls: ["https://one.example/v1/file-key-0123456789abcdef0123"]
    },
    { ...first, id: "gone" }
  ]
}

/** What the running service says about relayers. */
const live = [
  {
    ...first,
    name: "Renamed",
    policies: { gas_price_cap: 2, min_balance: 1, whitelist_receivers: null },
    custom_rpc_urls: [{ url: "https://one.example/***", weight: 7 }, { url: "https://other.example/***" }],
    address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    system_disabled: true,
    disabled_reason: { type: "BalanceCheckFailed", details: "x" }
  },
  { ...first, id: "created", custom_rpc_urls: null, address: "0x1" }
]

describe("the import of OpenZeppelin Relayer with its running service", () => {
  const { document, entries, moved, yaml } = Result.getOrThrow(
    Import.openZeppelin(
      { name: "config.json", text: JSON.stringify(file) },
      "config",
      { folder: "/nowhere", allNetworks: false, keepPausedState: false },
      { name: "live", text: JSON.stringify({ items: live }) }
    )
  )
  const about = (prefix: string) =>
    entries.filter(({ at }) => at.startsWith(prefix)).map(({ at, code }) => `${at} ${code}`)

  it("takes the relayers of the service, and what only the file has", () => {
    assert.deepStrictEqual([...document.relayers.keys()], ["evm", "created"])
    assert.deepInclude(document.relayers.get("evm"), { name: "Renamed", paused: true })
    assert.include([...moved.values()], "https://one.example/v1/file-key-0123456789abcdef0123")
    assert.include(yaml, "# the account must be 0x70997970c51812dc3a010c7d01b50e0d17dc79c8")
  })

  it("reports what differs from the file, by its place, and nothing that is equal", () => {
    const found = about("live.relayers.0").filter((line) => !/paused|whitelist|private/.test(line))
    assert.deepStrictEqual(found, [
      "live.relayers.0.name note",
      "live.relayers.0.custom_rpc_urls.1 needs",
      "live.relayers.0.custom_rpc_urls.0 note"
    ])
    assert.include(about("live.relayers.1"), "live.relayers.1 note")
    assert.deepStrictEqual(about("relayers.1"), ["relayers.1 dropped"])
    assert.notInclude(entries.map(({ message }) => message).join(), "is not a known field")
  })
})
