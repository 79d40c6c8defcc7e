// Limits of the size of resources and of pages.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { maxResourceBytes } from "../../../src/domain/request/Request.ts"
import { maxPageBytes } from "../../../src/sql/Rows.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** 45 kB of JSON. */
const whitelist = { whitelist_receivers: Array.from({ length: 1000 }, (_, n) => `0x${String(n).padStart(40, "0")}`) }

const urls = (length: number, characters: number) =>
  Array.from({ length }, (_, n) => ({ url: `https://rpc.example.com/${n}/${"x".repeat(characters)}` }))

/** Together 4.5 MB of JSON, and as much again in each log. */
const count = 100

const { custom_rpc_urls: _, ...relayer } = evmRelayer

/** Those of the relayers, of a signer and of a notification. */
const changes = count + 2

interface Item {
  readonly id?: string | number
  readonly position?: number
}

/** Follows the `Link` header from the first page to the last one. */
const walk = Effect.fnUntraced(function* (first: string) {
  const pages: Array<{ readonly bytes: number; readonly items: ReadonlyArray<Item> }> = []
  let path: string | undefined = first
  while (path !== undefined) {
    const answer: TestApi.Answer = yield* TestApi.call(path)
    assert.strictEqual(answer.status, 200, answer.text.slice(0, 500))
    const items = answer.json.data as ReadonlyArray<Item>
    if (items.length === 0) break
    pages.push({ items, bytes: answer.text.length })
    path = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1]
  }
  return pages
})

const prepared = Effect.gen(function* () {
  yield* Prepared.references
  yield* Effect.forEach(
    Array.from({ length: count }, (_, n) => `r${n}`),
    (id) => Prepared.create("relayers", { ...relayer, id, policies: whitelist }),
    { concurrency: 10 }
  )
  // Events are listed when all older transactions on the server have ended, and other test files have theirs on it.
  yield* awaited(walk("/api/v1/events?limit=1000"), (pages) => pages.flatMap(({ items }) => items).length === changes)
})

/** A page may be one row and its envelope larger than the limit. */
const largest = maxPageBytes + 2 * maxResourceBytes

layer(Prepared.layer(prepared))("of resources of 45 kB", (it) => {
  it.effect("a relayer may have 64 kB; the error names its largest field, and nothing is stored", () =>
    Effect.gen(function* () {
      const body = { ...relayer, id: "large", policies: whitelist, custom_rpc_urls: urls(100, 180) }
      const created = yield* TestApi.call("/api/v1/relayers", { body })
      assert.strictEqual(created.status, 400)
      assert.match(
        created.json.error ?? "",
        /^policies: makes the resource \d{5} bytes of JSON; at most 65536 are allowed$/
      )
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers/large")).status, 404)
      const patched = yield* TestApi.call("/api/v1/relayers/r0", {
        method: "PATCH",
        body: { custom_rpc_urls: urls(300, 180) }
      })
      assert.strictEqual(patched.status, 400)
      assert.match(patched.json.error ?? "", /^custom_rpc_urls: makes the resource/)
    })
  )

  it.effect("a network may have 64 kB", () =>
    Effect.gen(function* () {
      const body = { name: "large", network_type: "evm", chain_id: 424242, symbol: "ETH", rpc_urls: urls(40, 1900) }
      const created = yield* TestApi.call("/api/v1/networks", { body })
      assert.strictEqual(created.status, 400)
      assert.match(created.json.error ?? "", /^rpc_urls: makes the resource/)
    })
  )

  it.effect("a page of relayers by number is whole, or refused if it has more than 2 MiB", () =>
    Effect.gen(function* () {
      const fits = yield* TestApi.call("/api/v1/relayers?per_page=40")
      assert.strictEqual((fits.json.data as ReadonlyArray<Item>).length, 40)
      const refused = yield* TestApi.call("/api/v1/relayers?per_page=1000")
      assert.strictEqual(refused.status, 400)
      assert.match(refused.json.error ?? "", /^per_page: only 4\d of these relayers fit into 2097152 bytes$/)
    })
  )

  for (const sort of ["created_at", "-created_at", "name", "-name"]) {
    it.effect(`pages of relayers by cursor have 1 MiB, and together every relayer once, in the order ${sort}`, () =>
      Effect.gen(function* () {
        const first = yield* TestApi.call(`/api/v1/relayers?per_page=1&sort=${sort}`)
        const next = /<([^>]+)>/.exec(first.headers.get("link") ?? "")?.[1] ?? ""
        const pages = yield* walk(next.replace("per_page=1", "per_page=1000"))
        assert.isAbove(pages.length, 3)
        for (const { bytes } of pages) assert.isBelow(bytes, largest)
        const ids = pages.flatMap(({ items }) => items).map(({ id }) => id)
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.strictEqual(ids.length, count - 1)
      })
    )
  }

  for (const [path, entries] of [
    ["events?limit=1000", changes],
    ["audit?limit=1000", changes],
    ["audit?limit=1000&order=oldest", changes],
    ["notifications/notification-1/deliveries?limit=100", count]
  ] as const) {
    it.effect(`pages of ${path} have 1 MiB, and together every entry once`, () =>
      Effect.gen(function* () {
        const pages = yield* walk(`/api/v1/${path}`)
        assert.isAbove(pages.length, 1)
        for (const { bytes } of pages) assert.isBelow(bytes, largest)
        const ids = pages.flatMap(({ items }) => items).map(({ id, position }) => id ?? position)
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.strictEqual(ids.length, entries)
      })
    )
  }
})
