// The search over HTTP: each form of a text finds its resource, and only what the key may read.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import { notification } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

interface Item {
  readonly kind: string
  readonly id: string
  readonly relayer_id?: string
  readonly label: string
  readonly state?: string
}

const find = Effect.fnUntraced(function* (q: string, key: string = TestApi.apiKey) {
  const answer = yield* TestApi.call(`/api/v1/search?q=${encodeURIComponent(q)}`, { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as ReadonlyArray<Item>
})

const kinds = (items: ReadonlyArray<Item>) => items.map(({ kind, id }) => [kind, id])

const hash = `0x${"5c".repeat(32)}`
const signature = `aB${"5".repeat(86)}`

/** A transaction of relayer 1 with two hashes, and one of relayer 2. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(3)
  const [one = ""] = yield* LedgerRows.insert(LedgerRows.account(1), 1, { externalId: "order-1" })
  const [two = ""] = yield* LedgerRows.insert(LedgerRows.account(2), 1, { externalId: "order-1" })
  yield* sql`UPDATE transactions SET state = 'signed', nonce = 42 WHERE id = ${one}::uuid`
  yield* sql`
    INSERT INTO attempts (transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at)
    SELECT ${one}::uuid, ordinal, 'original', 1, hash, '\\x02c0', 42, '{"type":"legacy","gasPrice":"1","gasLimit":"21000"}', 1, now()
    FROM unnest(${[hash, signature]}::text[]) WITH ORDINALITY AS given (hash, ordinal)`
  return { one, two }
})

layerEach(TestApi.layer())("a search", (it) => {
  it.effect("finds a transaction by its id, hash, signature, external_id, and nonce", () =>
    Effect.gen(function* () {
      const { one, two } = yield* prepare
      const found = { kind: "transaction", id: one, relayer_id: "r1", label: "order-1", state: "sent" }
      for (const q of [
        one,
        one.toUpperCase(),
        hash,
        hash.slice(2),
        ` ${hash.toUpperCase().replace("X", "x")} `,
        signature
      ]) {
        assert.deepStrictEqual(yield* find(q), [found], q)
      }
      assert.deepStrictEqual(yield* find(`https://etherscan.io/tx/${hash}`), [found])
      for (const q of ["r1#42", "r1 42"]) assert.deepStrictEqual(yield* find(q), [found], q)
      assert.deepStrictEqual(kinds(yield* find("order-1")), [
        ["transaction", two],
        ["transaction", one]
      ])
      for (const q of [signature.toLowerCase(), "order", "order-2", "r1#41", "r2#42", "r9#42"])
        assert.isEmpty(yield* find(q), q)
    })
  )

  it.effect("finds relayers by id, address and the beginning of their name, and other resources by id", () =>
    Effect.gen(function* () {
      yield* prepare
      yield* Prepared.create("notifications", notification)
      yield* Prepared.createKey({ id: "support", scopes: ["relayers:read"] })
      assert.deepStrictEqual(kinds(yield* find("r2")), [["relayer", "r2"]])
      assert.deepStrictEqual(kinds(yield* find(`0x${"3".padStart(40, "0")}`)), [["relayer", "r3"]])
      assert.deepStrictEqual(kinds(yield* find("Relayer")), [
        ["relayer", "r1"],
        ["relayer", "r2"],
        ["relayer", "r3"]
      ])
      assert.deepStrictEqual(kinds(yield* find("s1")), [["signer", "s1"]])
      assert.deepStrictEqual(kinds(yield* find("evm:sepolia")), [["network", "evm:sepolia"]])
      assert.deepStrictEqual(kinds(yield* find(notification.id)), [["notification", notification.id]])
      assert.deepStrictEqual(kinds(yield* find("support")), [["key", "support"]])
    })
  )

  it.effect("finds what a request has changed, as far as the key may read it", () =>
    Effect.gen(function* () {
      yield* prepare
      yield* authenticateRows()
      const created = yield* TestApi.call("/api/v1/notifications", { body: notification })
      const request = created.headers.get("x-request-id") ?? ""
      assert.deepStrictEqual(kinds(yield* find(request)), [["notification", notification.id]])
      const headers = { "x-request-id": "change:1" }
      for (const id of ["r1", "r3"]) {
        const body = { notification_id: notification.id }
        const { status } = yield* TestApi.call(`/api/v1/relayers/${id}`, { method: "PATCH", body, headers })
        assert.strictEqual(status, 200)
      }
      assert.deepStrictEqual(kinds(yield* find("change:1")), [
        ["relayer", "r1"],
        ["relayer", "r3"]
      ])
      const limited = yield* Prepared.createKey({ scopes: ["relayers:read"], relayer_ids: ["r3"] })
      assert.deepStrictEqual(kinds(yield* find("change:1", limited)), [["relayer", "r3"]])
      const signers = yield* Prepared.createKey({ scopes: ["signers:read"] })
      assert.isEmpty(yield* find("change:1", signers))
      assert.isEmpty(yield* find("change:2"))
    })
  )

  it.effect("finds only what the key may read", () =>
    Effect.gen(function* () {
      const { one, two } = yield* prepare
      const limited = yield* Prepared.createKey({ scopes: ["transactions:read", "relayers:read"], relayer_ids: ["r2"] })
      assert.deepStrictEqual(kinds(yield* find("order-1", limited)), [["transaction", two]])
      assert.isEmpty(yield* find(one, limited))
      assert.isEmpty(yield* find("r1#42", limited))
      assert.deepStrictEqual(kinds(yield* find("Relayer", limited)), [["relayer", "r2"]])
      assert.isEmpty(yield* find("s2", limited))
      const signers = yield* Prepared.createKey({ scopes: ["signers:read"] })
      assert.isEmpty(yield* find(one, signers))
      assert.isEmpty(yield* find("Relayer", signers))
      assert.deepStrictEqual(kinds(yield* find("s1", signers)), [["signer", "s1"]])
    })
  )

  it.effect("of any text is no fault: nothing is found, or the field is named", () =>
    Effect.gen(function* () {
      yield* prepare
      for (const q of [
        "%",
        "_",
        "'",
        "\\",
        "<img src=x>",
        "\u202e",
        "x".repeat(512),
        "   ",
        "https://",
        "r1#999999999999999999999"
      ]) {
        assert.isEmpty(yield* find(q), q)
      }
      for (const query of ["", "q=", `q=${"x".repeat(10_000)}`, "q=a&q=b", "q=%00", "q=a&p=b"]) {
        const { status, json } = yield* TestApi.call(`/api/v1/search?${query}`)
        assert.strictEqual(status, 400, query.slice(0, 20))
        assert.match(json.error ?? "", /^(q|p)/)
      }
      assert.strictEqual((yield* TestApi.call("/api/v1/search?q=x", { key: null })).status, 401)
    })
  )
})
