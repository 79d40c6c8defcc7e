// Lists of events over HTTP.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ApiClient } from "../../../src/client/ApiClient.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

interface Event {
  readonly id: number
  readonly type: string
  readonly resource_id: string
  readonly at: string
  readonly request_id: string
  readonly data: { readonly [field: string]: unknown }
}

const path = "/api/v1/events"

const list = Effect.fnUntraced(function* (query = "", options?: TestApi.Call) {
  const answer = yield* TestApi.call(`${path}${query}`, options)
  assert.strictEqual(answer.status, 200, answer.text)
  const next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1]
  return { events: answer.json.data as ReadonlyArray<Event>, next }
})

/** Waits until the list has `count` events: older transactions of other tests on the same server delay them. */
const settled = (query: string, count: number) => awaited(list(query), ({ events }) => events.length >= count)

const makeKey = Effect.fnUntraced(function* (body: object) {
  const { json } = yield* TestApi.call("/api/v1/api-keys", { body: { name: "test", ...body } })
  return (json.data as { readonly key: string }).key
})

const relayer2 = { ...evmRelayer, id: "relayer-2", signer_id: "signer-2" }

const changes: ReadonlyArray<readonly [path: string, call: TestApi.Call]> = [
  ["signers", { body: signer }],
  // It has the id of a relayer.
  ["signers", { body: { ...signer, id: "relayer-1" } }],
  ["signers", { body: { ...signer, id: "signer-2" } }],
  ["notifications", { body: notification }],
  ["relayers", { body: evmRelayer }],
  ["relayers", { body: relayer2 }],
  ["relayers/relayer-1", { method: "PATCH", body: { paused: true } }],
  ["relayers/relayer-1", { method: "PATCH", body: { paused: false } }],
  ["relayers/relayer-2", { method: "DELETE" }]
]

const expected = [
  ["signer.created", "signer-1"],
  ["signer.created", "relayer-1"],
  ["signer.created", "signer-2"],
  ["notification.created", "notification-1"],
  ["relayer.created", "relayer-1"],
  ["relayer.created", "relayer-2"],
  ["relayer.updated", "relayer-1"],
  ["relayer.paused", "relayer-1"],
  ["relayer.updated", "relayer-1"],
  ["relayer.resumed", "relayer-1"],
  ["relayer.deleted", "relayer-2"]
]

const named = (events: ReadonlyArray<Event>) => events.map(({ type, resource_id }) => [type, resource_id])

/** Makes all `changes`. */
const change = Effect.forEach(changes, ([to, options]) =>
  Effect.gen(function* () {
    const headers = { "x-request-id": `for:${to.replace("/", ":")}` }
    const answer = yield* TestApi.call(`/api/v1/${to}`, { ...options, headers })
    assert.include([200, 201], answer.status, answer.text)
  })
)

layerEach(TestApi.layer())("events over HTTP", (it) => {
  it.effect("are none at first, without a link to continue", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* list(), { events: [], next: undefined })
      assert.deepStrictEqual((yield* list("?after=0&limit=0")).events, [])
    })
  )
})

const changed = Prepared.layer(Effect.andThen(change, settled("", expected.length)))

layerEach(changed)("events over HTTP", (it) => {
  it.effect("report every change with the resource after it and the request id", () =>
    Effect.gen(function* () {
      const { events } = yield* settled("", expected.length)
      assert.deepStrictEqual(named(events), expected)
      const paused = events.find(({ type }) => type === "relayer.paused")
      assert.deepInclude(paused, { resource_id: "relayer-1", request_id: "for:relayers:relayer-1" })
      assert.deepInclude(paused?.data, { id: "relayer-1", paused: true, name: "Payouts" })
      assert.isAbove(new Date(paused?.at ?? "").getTime(), Date.now() - 600_000)
      const { text } = yield* TestApi.call(path)
      assert.include(text, `"min_balance":340282366920938463463374607431768211455`)
      assert.notInclude(text, "secret-path")
      assert.notInclude(text, notification.signing_key)
    })
  )

  it.effect("have links that lead through each event once, and on from the end", () =>
    Effect.gen(function* () {
      const seen: Array<Event> = []
      let query = "?limit=4"
      for (const size of [4, 4, 3, 0]) {
        const { events, next } = yield* list(query)
        assert.strictEqual(events.length, size)
        seen.push(...events)
        assert.strictEqual(next, `${path}?limit=4&after=${seen.at(-1)?.id}`)
        query = (next ?? "").slice(path.length)
      }
      assert.deepStrictEqual(named(seen), expected)
      yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: "later" } })
      assert.deepStrictEqual(named((yield* settled(query, 1)).events), [["signer.created", "later"]])
      const last = (yield* list()).events.at(-1)?.id ?? 0
      const resumed = yield* list(`?after=1`, { headers: { "last-event-id": String(last) } })
      assert.deepStrictEqual(resumed.events, [])
    })
  )

  it.effect("are listed by the typed client", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      const { data } = yield* client.events.list({ query: { type: ["relayer.paused"], limit: 1 }, headers: {} })
      assert.deepInclude(data[0], { type: "relayer.paused", resource_id: "relayer-1" })
      const [event] = data
      assert.deepInclude(event?.data, { paused: true })
      const after = yield* client.events.list({ query: {}, headers: { "last-event-id": event?.id ?? 0 } })
      assert.isAbove(after.data[0]?.id ?? 0, event?.id ?? 0)
    })
  )

  it.effect("of the past are listed with the newest first, and links lead back to the first one", () =>
    Effect.gen(function* () {
      const seen: Array<Event> = []
      let next: string | undefined = `${path}?limit=4&before=latest`
      while (next !== undefined) {
        const found: { readonly events: ReadonlyArray<Event>; readonly next: string | undefined } = yield* list(
          next.slice(path.length)
        )
        seen.push(...found.events)
        next = found.next
      }
      assert.deepStrictEqual(named(seen), expected.toReversed())
      const [newest] = seen
      assert.deepStrictEqual(named((yield* list(`?before=${newest?.id}&limit=1`)).events), expected.slice(-2, -1))
    })
  )

  it.effect("after the newest one are none, with a link to those that follow", () =>
    Effect.gen(function* () {
      const { events, next } = yield* list("?after=latest")
      assert.deepStrictEqual(events, [])
      yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: "afterwards" } })
      const query = (next ?? assert.fail("no link")).slice(path.length)
      assert.deepStrictEqual(named((yield* settled(query, 1)).events), [["signer.created", "afterwards"]])
    })
  )

  it.effect("before a position that is not one, or together with a position to start from, are refused", () =>
    Effect.gen(function* () {
      const refused = [
        ["?before=999999999", {}, "before: is not the id of a stored event"],
        ["?before=x", {}, "before: Expected an integer, 0 or more, or latest"],
        ["?after=newest", {}, "after: Expected an integer, 0 or more, or latest"],
        ["?before=latest&after=1&wait=1", {}, "after: cannot be combined with before"],
        ["?before=latest", { headers: { "last-event-id": "1" } }, "last-event-id: cannot be combined with before"],
        ["?before=latest", { headers: { accept: "text/event-stream" } }, "before: is not possible for a stream"]
      ] as const
      for (const [query, options, error] of refused) {
        const { status, json } = yield* TestApi.call(`${path}${query}`, options)
        assert.strictEqual(status, 400, query)
        assert.include(json.error ?? "", error, query)
      }
    })
  )

  it.effect("of several types, and of one relayer, are selected in both directions", () =>
    Effect.gen(function* () {
      const of = (query: string) => Effect.map(list(query), ({ events }) => named(events))
      const types = "type=relayer.paused&type=relayer.deleted"
      const selected = [
        ["relayer.paused", "relayer-1"],
        ["relayer.deleted", "relayer-2"]
      ]
      assert.deepStrictEqual(yield* of(`?${types}`), selected)
      assert.deepStrictEqual(yield* of(`?before=latest&${types}`), selected.toReversed())
      const ofOne = expected.filter(([type = "", id]) => type.startsWith("relayer.") && id === "relayer-1")
      assert.deepStrictEqual(yield* of("?relayer_id=relayer-1"), ofOne)
      assert.deepStrictEqual(yield* of("?relayer_id=relayer-1&before=latest"), ofOne.toReversed())
    })
  )

  it.effect("are filtered by type and by resource", () =>
    Effect.gen(function* () {
      const of = (query: string) => Effect.map(list(query), ({ events }) => named(events))
      assert.deepStrictEqual(yield* of("?type=relayer.created"), [
        ["relayer.created", "relayer-1"],
        ["relayer.created", "relayer-2"]
      ])
      assert.deepStrictEqual(yield* of("?type=relayer.created&resource_id=relayer-2"), [
        ["relayer.created", "relayer-2"]
      ])
      assert.deepStrictEqual(yield* of("?resource_id=nothing"), [])
    })
  )

  it.effect("have an error that names the invalid parameter", () =>
    Effect.gen(function* () {
      const [{ id } = { id: 0 }] = (yield* list("?limit=1")).events
      const wrong: ReadonlyArray<readonly [query: string, headers: Record<string, string>, error: string]> = [
        ["?after=999999", {}, "after: is not the id of an event"],
        [`?after=${"9".repeat(40)}`, {}, "after: is not the id of an event"],
        ["?after=x", {}, "after: Expected an integer, 0 or more"],
        ["?after=-1", {}, "after: Expected an integer, 0 or more"],
        ["?type=relayer.eaten", {}, "type: Expected one of relayer.created, "],
        ["?wait=long", {}, "wait: Expected an integer, 0 or more"],
        ["?limit=1.5", {}, "limit: Expected an integer, 0 or more"],
        ["?cursor=1", {}, "cursor: is not a known field"],
        [`?after=${id}`, { "last-event-id": "abc" }, "last-event-id: Expected an integer, 0 or more"],
        [`?after=${id}`, { "last-event-id": "999999" }, "last-event-id: is not the id of an event"]
      ]
      for (const [query, headers, error] of wrong) {
        for (const accept of ["application/json", "text/event-stream"]) {
          const answer = yield* TestApi.call(`${path}${query}`, { headers: { ...headers, accept } })
          assert.strictEqual(answer.status, 400, `${query} ${answer.text}`)
          assert.strictEqual(answer.json.message, "Bad Request")
          assert.isTrue(answer.json.error?.startsWith(error), `${query} ${answer.text}`)
        }
      }
      const post = yield* TestApi.call(path, { body: {} })
      assert.strictEqual(post.status, 405)
    })
  )

  it.effect("come as a page to a client that prefers JSON, also if it accepts a stream", () =>
    Effect.gen(function* () {
      for (const accept of ["text/event-stream;q=0.5, application/json", "text/event-stream;q=0, */*", "*/*"]) {
        const { headers } = yield* TestApi.call(path, { headers: { accept } })
        assert.match(headers.get("content-type") ?? "", /^application\/json/, accept)
        assert.include(headers.get("vary") ?? "", "Accept")
      }
    })
  )

  it.effect("require a scope, and a limited key sees only its relayers", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* TestApi.call(path, { key: null })).status, 401)
      const other = yield* makeKey({ scopes: ["relayers:*", "audit:*"] })
      assert.strictEqual((yield* TestApi.call(path, { key: other })).status, 403)
      assert.strictEqual(
        (yield* TestApi.call(path, { key: other, headers: { accept: "text/event-stream" } })).status,
        403
      )
      const key = yield* makeKey({ scopes: ["events:*"], relayer_ids: ["relayer-1"] })
      const { events } = yield* list("", { key })
      assert.deepStrictEqual(
        named(events),
        expected.filter(([type, id]) => type?.startsWith("relayer.") === true && id === "relayer-1")
      )
      assert.deepStrictEqual((yield* list("?resource_id=relayer-2", { key })).events, [])
      assert.deepStrictEqual((yield* list("?type=signer.created", { key })).events, [])
    })
  )
})
