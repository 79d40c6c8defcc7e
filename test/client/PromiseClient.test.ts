// The client with promises against the real server: plain values in both directions, and errors as values with their types.
import { assert, expectTypeOf } from "@effect/vitest"
import { Effect } from "effect"
import { createClient, orThrow } from "../../src/client/promise/createClient.ts"
import type { Options } from "../../src/client/promise/createClient.ts"
import { RelayerIdTaken, RelayerNotFound } from "../../src/domain/relayer/Relayer.ts"
import { evmRelayer } from "../../testkit/fixtures.ts"
import { layerEach } from "../../testkit/layerEach.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const connect = (options: Partial<Options> = {}) =>
  Effect.map(TestApi.TestApi, ({ baseUrl }) => createClient({ baseUrl, apiKey: TestApi.apiKey, ...options }))

const payload = {
  id: "treasury",
  name: "Treasury",
  network: "sepolia",
  network_type: "evm",
  paused: false,
  signer_id: evmRelayer.signer_id,
  policies: { min_balance: 2n ** 128n - 1n, gas_price_cap: "90000000000" }
} as const

const reason = new Error("enough")

/** Aborts a call as soon as its request is sent. */
const abortedCall = async (baseUrl: string) => {
  const controller = new AbortController()
  let requestEnded = false
  const hanging: typeof fetch = (_, init) =>
    new Promise((_, reject) => {
      init?.signal?.addEventListener("abort", () => {
        requestEnded = true
        reject(new Error("aborted"))
      })
      controller.abort(reason)
    })
  const client = createClient({ baseUrl, apiKey: TestApi.apiKey, fetch: hanging })
  const error: unknown = await client.relayers.list({}, controller).catch((error: unknown) => error)
  return { error, requestEnded }
}

layerEach(Prepared.layer(Prepared.references))("the client with promises", (it) => {
  it.effect("creates, reads, changes, lists and deletes with plain values", () =>
    Effect.gen(function* () {
      const { relayers } = yield* connect()
      yield* Effect.promise(async () => {
        const { data } = orThrow(await relayers.create({ query: {}, payload }))
        expectTypeOf(data.id).toEqualTypeOf<string>()
        assert.isTrue(data.network_type === "evm" && data.policies?.min_balance === 2n ** 128n - 1n)
        const params = { relayer_id: data.id }
        assert.deepStrictEqual(orThrow(await relayers.get({ params })).data, data)
        const changed = orThrow(await relayers.update({ params, payload: { paused: true } }))
        assert.isTrue(changed.data.paused)
        const page = orThrow(await relayers.list({ query: { per_page: 5, paused: true } }))
        assert.deepStrictEqual(page.data, [changed.data])
        assert.deepStrictEqual(page.pagination, { current_page: 1, per_page: 5, total_items: 1 })
        assert.isTrue((await relayers.delete({ params })).ok)
        assert.deepStrictEqual(orThrow(await relayers.list()).data, [])
      })
    })
  )

  it.effect("returns errors as values with the classes of the contract", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      yield* Effect.promise(async () => {
        orThrow(await client.relayers.create({ query: {}, payload }))
        const taken = await client.relayers.create({ query: {}, payload })
        assert.isTrue(!taken.ok && taken.error instanceof RelayerIdTaken)
        const none = await client.relayers.get({ params: { relayer_id: "none" } })
        assert.isTrue(!none.ok && none.error._tag === "RelayerNotFound")
        assert.throws(() => orThrow(none), RelayerNotFound)
        const refused = await client.signers.delete({ params: { signer_id: evmRelayer.signer_id } })
        assert.isTrue(!refused.ok && refused.error._tag === "SignerInUse" && refused.error.message.includes("treasury"))
      })
    })
  )

  it.effect("takes and returns secrets and date-times as texts", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      yield* Effect.promise(async () => {
        const expires_at = new Date(Date.UTC(2090, 0, 2))
        const { data } = orThrow(
          await client.apiKeys.create({ payload: { name: "reader", scopes: ["relayers:read"], expires_at } })
        )
        assert.match(data.key, /^er_key_/)
        assert.strictEqual(data.expires_at, "2090-01-02T00:00:00.000Z")
        const url = "https://hooks.example.com/"
        const signing_key = "0123456789abcdef0123456789abcdef"
        const hook = orThrow(
          await client.notifications.create({ payload: { id: "plain", url, type: "webhook", signing_key } })
        )
        assert.isTrue(hook.data.has_signing_key)
      })
    })
  )

  it.effect("refuses an invalid request before it is sent, and names the field", () =>
    Effect.gen(function* () {
      const client = yield* connect({ fetch: () => Promise.reject(new Error("sent")) })
      const result = yield* Effect.promise(() => client.relayers.get({ params: { relayer_id: "no such id" } }))
      assert.isTrue(!result.ok && result.error._tag === "BadRequest" && result.error.message.startsWith("relayer_id: "))
      const params = { relayer_id: "payer" }
      const sent = yield* Effect.promise(() => client.transactions.send({ params, payload: { to: "0x12", value: 1n } }))
      assert.strictEqual(!sent.ok && sent.error.message, "to: Expected an address: 0x and 40 hex digits")
    })
  )

  it.effect("returns an error if the service cannot be reached", () =>
    Effect.gen(function* () {
      const client = yield* connect({ baseUrl: "http://127.0.0.1:1" })
      const result = yield* Effect.promise(() => client.relayers.list())
      // `fetch` says why only in the causes of its error.
      assert.isTrue(!result.ok && result.error._tag === "HttpClientError" && /bad port/.test(result.error.message))
    })
  )

  it.effect("rejects with the reason of its signal, and ends the request", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      assert.deepStrictEqual(yield* Effect.promise(() => abortedCall(baseUrl)), { error: reason, requestEnded: true })
    })
  )
})
