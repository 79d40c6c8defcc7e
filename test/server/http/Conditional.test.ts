// Versions of resources: conditional reads and conditional changes.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer, notification } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { layerEach } from "../../../testkit/layerEach.ts"

interface Resource {
  readonly collection: string
  readonly id: string
  readonly body: Record<string, unknown>
  readonly patch: Record<string, unknown>
}

const key = "0123456789-0123456789-0123456789-0123456789"

const { notification_id: _, ...relayer } = evmRelayer

const resources: ReadonlyArray<Resource> = [
  { collection: "relayers", id: relayer.id, body: { ...relayer, signer_id: "signer" }, patch: { name: "Renamed" } },
  {
    collection: "notifications",
    id: notification.id,
    body: notification,
    // Does not show, but a version that was read before is out of date.
    patch: { signing_key: key }
  },
  {
    collection: "networks",
    id: "evm:own",
    body: { name: "own", network_type: "evm", from: "sepolia", rpc_urls: ["https://rpc.example.com/1"] },
    patch: { rpc_urls: ["https://rpc.example.com/2"] }
  }
]

const transfer = { to: "0x00112233445566778899aabbccddeeff00112233", value: 1, gas_limit: 21_000 }

const setUp = Effect.gen(function* () {
  yield* Prepared.create("signers", { type: "plain", id: "signer" })
  for (const { collection, body } of resources) yield* Prepared.create(collection, body)
})

const tagOf = ({ headers }: TestApi.Answer) => headers.get("etag") ?? assert.fail("there is no entity tag")

layerEach(Prepared.layer(setUp))("a resource", (it) => {
  for (const { collection, id, body, patch } of resources) {
    const path = `/api/v1/${collection}/${id}`

    it.effect(`${id} is not sent again to a client that has its version`, () =>
      Effect.gen(function* () {
        const { call } = yield* TestApi.TestApi
        const found = yield* call(path)
        const tag = tagOf(found)
        assert.match(tag, /^"[\w.-]+"$/)
        for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
          const same = yield* call(path, { headers: { "if-none-match": known } })
          assert.deepStrictEqual([same.status, same.text, tagOf(same)], [304, "", tag], known)
          assert.strictEqual(same.headers.get("cache-control"), "no-store")
        }
        const head = yield* call(path, { method: "HEAD", headers: { "if-none-match": tag } })
        assert.strictEqual(head.status, 304)
        const other = yield* call(path, { headers: { "if-none-match": '"other"' } })
        assert.deepStrictEqual([other.status, other.text], [200, found.text])
      })
    )

    it.effect(`${id} has another version after a change, also one that does not show`, () =>
      Effect.gen(function* () {
        const { call } = yield* TestApi.TestApi
        const before = tagOf(yield* call(path))
        const patched = yield* call(path, { method: "PATCH", body: patch, headers: { "if-match": before } })
        assert.strictEqual(patched.status, 200, patched.text)
        const after = tagOf(patched)
        assert.notStrictEqual(after, before)
        assert.strictEqual(tagOf(yield* call(path)), after)
        assert.strictEqual((yield* call(path, { headers: { "if-none-match": before } })).status, 200)
      })
    )

    it.effect(`${id} is only changed and deleted at the version that If-Match names`, () =>
      Effect.gen(function* () {
        const { call } = yield* TestApi.TestApi
        const current = tagOf(yield* call(path))
        for (const stale of ['"0.0"', `W/${current}`, ""]) {
          for (const [method, change] of [["PATCH", patch], ["DELETE"]] as const) {
            const refused = yield* call(path, {
              method,
              headers: { "if-match": stale },
              ...(change && { body: change })
            })
            assert.deepStrictEqual([refused.status, refused.json.message], [412, "Precondition Failed"])
          }
        }
        assert.strictEqual(tagOf(yield* call(path)), current)
        assert.strictEqual((yield* call(path, { method: "DELETE", headers: { "if-match": current } })).status, 200)
      })
    )

    it.effect(`${id} has other versions when it is created again`, () =>
      Effect.gen(function* () {
        const { call } = yield* TestApi.TestApi
        const before = tagOf(yield* call(path))
        assert.strictEqual((yield* call(path, { method: "DELETE" })).status, 200)
        const created = yield* call(`/api/v1/${collection}`, { body })
        assert.strictEqual(created.status, 201)
        assert.notStrictEqual(tagOf(created), before)
        assert.strictEqual(tagOf(yield* call(path)), tagOf(created))
      })
    )
  }

  it.effect("that is in use is 412 for another version, and 409 for the current one", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const user = { ...relayer, id: "user", signer_id: "signer", notification_id: notification.id, network: "own" }
      yield* Prepared.create("relayers", user)
      const sent = yield* call("/api/v1/relayers/user/transactions", { body: transfer })
      assert.strictEqual(sent.status, 200, sent.text)
      for (const used of ["relayers/user", `notifications/${notification.id}`, "networks/evm:own"]) {
        const remove = (tag: string) => call(`/api/v1/${used}`, { method: "DELETE", headers: { "if-match": tag } })
        assert.strictEqual((yield* remove('"0.0"')).status, 412, used)
        assert.strictEqual((yield* remove(tagOf(yield* call(`/api/v1/${used}`)))).status, 409, used)
      }
    })
  )

  it.effect("that inherits has another version after a change of what it inherits from", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const heir = "/api/v1/networks/evm:heir"
      yield* Prepared.create("networks", { name: "heir", network_type: "evm", from: "own" })
      const before = tagOf(yield* call(heir))
      yield* call("/api/v1/networks/evm:other", { method: "PATCH", body: { symbol: "X" } })
      assert.strictEqual(tagOf(yield* call(heir)), before)
      yield* call("/api/v1/networks/evm:own", { method: "PATCH", body: { symbol: "X" } })
      assert.notStrictEqual(tagOf(yield* call(heir)), before)
    })
  )

  it.effect("that is built in has a version, which a reset brings back", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const path = "/api/v1/networks/evm:mainnet"
      const builtin = tagOf(yield* call(path))
      const overridden = yield* call(path, { method: "PATCH", body: { symbol: "X" }, headers: { "if-match": builtin } })
      assert.strictEqual(overridden.status, 200)
      yield* call(path, { method: "DELETE", headers: { "if-match": tagOf(overridden) } })
      assert.strictEqual(tagOf(yield* call(path)), builtin)
    })
  )
})

layer(TestApi.layer())("a list", (it) => {
  it.effect("has no version", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { status, headers } = yield* call("/api/v1/relayers", { headers: { "if-none-match": "*" } })
      assert.deepStrictEqual([status, headers.get("etag")], [200, null])
    })
  )
})
