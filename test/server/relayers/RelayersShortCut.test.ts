// The short cut of reading relayers: taken by plain reads, and nobody can tell by the answer.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import * as RelayersShortCut from "../../../src/server/relayers/RelayersShortCut.ts"
import { ShortCut } from "../../../src/server/http/ShortCut.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const { notification_id: _, ...relayer } = evmRelayer
const names = ["a", "b", "c", "d", "e"]

const setUp = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  for (const id of names) {
    yield* call("/api/v1/signers", { body: { id, type: "plain" } })
    yield* call("/api/v1/relayers", { body: { ...relayer, id, name: `${id} "é" \\ \u0007 \u{1f680}`, signer_id: id } })
  }
  const makeKey = (scope: string, relayer_ids?: ReadonlyArray<string>) =>
    Effect.map(
      call("/api/v1/api-keys", { body: { name: "k", scopes: [scope], ...(relayer_ids && { relayer_ids }) } }),
      ({ json }) => (json.data as { readonly key: string }).key
    )
  return [
    TestApi.apiKey,
    yield* makeKey("relayers:read"),
    yield* makeKey("relayers:read", ["b", "d"]),
    yield* makeKey("signers:read"),
    "er_key_unknown",
    "+/=",
    "not a token"
  ]
})

const told = ({ status, headers, text }: TestApi.Answer) => ({
  status,
  text,
  headers: [...headers]
    .filter(([name]) => !["x-request-id", "date"].includes(name))
    .map(([name, value]) => (name === "ratelimit" ? [name, value.replace(/r=\d+/, "r=…")] : [name, value]))
})

layer(TestApi.layer())("the short cut of reading relayers", (it) => {
  it.effect("answers as the long way does, byte for byte, whoever asks for whatever", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const keys = yield* setUp
      const first = yield* call("/api/v1/relayers?per_page=2")
      const cursor = /cursor=([\w-]+)/.exec(first.headers.get("link") ?? "")?.[1]
      const queries = (
        " ? ?page=1 ?page=2&per_page=2 ?per_page=2&page=3 ?per_page=0 ?page=0 ?page=9 ?per_page=999999999 ?page=-1 ?page= " +
        "?per_page=9999999999 ?page=1&page=2 ?page=%32 ?pages=1 ?cursor=x ?cursor= ?sort=name&per_page=3 " +
        `?per_page=2&cursor=${cursor} ?cursor=${cursor}&page=1 ` +
        "/a /b /z /a?page=1 /A%20 /a/ // /relayer-with-a-very-long-name-of-more-than-36"
      ).split(" ")
      const seen = new Set<number>()
      for (const key of keys) {
        for (const query of queries) {
          // The scheme's name is of any case, and the short cut knows one.
          const [short, long] = yield* Effect.forEach(["Bearer", "bearer"], (scheme) =>
            call(`/api/v1/relayers${query}`, { key: null, headers: { authorization: `${scheme} ${key}` } })
          )
          if (short === undefined || long === undefined) return assert.fail("no answers")
          assert.deepStrictEqual(told(short), told(long), `${key} ${query}`)
          seen.add(short.status)
        }
      }
      assert.sameMembers([...seen], [200, 400, 401, 403, 404])
    })
  )

  it.effect("is taken by plain reads, and by nothing else", () =>
    Effect.gen(function* () {
      const { find } = yield* ShortCut
      const endpointOf = (path: string, headers: Record<string, string> = {}, method = "GET") =>
        find(
          HttpServerRequest.fromWeb(
            new Request(`http://localhost${path}`, { method, headers: { authorization: "Bearer k", ...headers } })
          )
        )?.endpoint
      for (const path of ["", "?page=2", "?per_page=5&page=1", "?cursor=abc"]) {
        assert.strictEqual(endpointOf(`/api/v1/relayers${path}`), "/api/v1/relayers", path)
      }
      assert.strictEqual(endpointOf("/api/v1/relayers/a"), "/api/v1/relayers/:relayer_id")
      for (const path of ["?sort=name", "?page=x", "/a/status", "/a?x", "s"]) {
        assert.strictEqual(endpointOf(`/api/v1/relayers${path}`), undefined, path)
      }
      assert.strictEqual(endpointOf("/api/v1/relayers", { "x-relayer-debug": "true" }), undefined)
      assert.strictEqual(endpointOf("/api/v1/relayers", { authorization: "" }), undefined)
      assert.strictEqual(endpointOf("/api/v1/relayers", {}, "POST"), undefined)
    }).pipe(Effect.provide(RelayersShortCut.layer))
  )

  it.effect("counts a read in the metrics once, under its route", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const requests = Effect.map(call("/metrics/requests_total", { key: null }), ({ text }) =>
        [...text.matchAll(/endpoint="\/api\/v1\/relayers[^}]*status="(200|404)"\} (\d+)/g)].map(([, , n]) => Number(n))
      )
      const sum = (counts: ReadonlyArray<number>) => counts.reduce((one, other) => one + other, 0)
      const before = sum(yield* requests)
      for (const path of ["", "/a", "/z"]) yield* call(`/api/v1/relayers${path}`)
      assert.strictEqual(sum(yield* requests), before + 3)
    })
  )
})
