// Relayers over HTTP: what is created comes back, and what refers to nothing is refused.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification, relayers, signer, solanaRelayer, stellarRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const addresses = {
  evm: "0x1a642f0e3c3af545e7acbd38b07251b3990914f1",
  solana: "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9",
  stellar: "GCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOJR"
}

/** A signer with the key of `addresses`. */
const ownSigner = { ...signer, config: { key: "01".repeat(32) } }

const references = Effect.andThen(Prepared.create("signers", ownSigner), Prepared.create("notifications", notification))

const createRelayers = Effect.forEach(relayers, (relayer) => Prepared.create("relayers", relayer))

layerEach(TestApi.layer())("what relayers refer to", (it) => {
  it.effect("a signer has the accounts of its key on every network type", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const answer = yield* api.call("/api/v1/signers", { body: ownSigner })
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers.get("location"), "/api/v1/signers/signer-1")
      assert.deepStrictEqual(answer.json, { success: true, data: { ...signer, config: {}, addresses } })
      assert.deepStrictEqual((yield* api.call("/api/v1/signers/signer-1")).json, answer.json)
    })
  )

  it.effect("a notification shows that it has a signing key, and not the key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { signing_key, ...shown } = notification
      const answer = yield* api.call("/api/v1/notifications", { body: notification })
      assert.strictEqual(answer.status, 201)
      assert.deepStrictEqual(answer.json.data, { ...shown, has_signing_key: true })
      const read = yield* api.call("/api/v1/notifications/notification-1")
      assert.strictEqual(read.text, answer.text)
      assert.notInclude(read.text, signing_key)
    })
  )
})

layerEach(Prepared.layer(references))("relayers over HTTP", (it) => {
  it.effect("a relayer of each network type comes back as it was sent, with its address and masked RPC URLs", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const relayer of relayers) {
        const created = yield* api.call("/api/v1/relayers", { body: relayer })
        assert.strictEqual(created.status, 201, created.text)
        assert.strictEqual(created.headers.get("location"), `/api/v1/relayers/${relayer.id}`)
        const read = yield* api.call(`/api/v1/relayers/${relayer.id}`)
        assert.strictEqual(read.status, 200)
        assert.deepStrictEqual(read.json, created.json)
      }
      const evm = yield* api.call("/api/v1/relayers/relayer-1")
      assert.deepStrictEqual(evm.json.data, {
        ...evmRelayer,
        address: addresses.evm,
        system_disabled: false,
        custom_rpc_urls: [
          { url: "https://rpc.example.com/***", weight: 50 },
          { url: "https://rpc.example.org", weight: 100 }
        ],
        policies: { ...evmRelayer.policies, min_balance: 2 ** 128 }
      })
      assert.include(evm.text, `"min_balance":340282366920938463463374607431768211455`)
      const solana = yield* api.call("/api/v1/relayers/relayer-2")
      assert.include(solana.text, `"min_balance":18446744073709551615`)
      assert.include(solana.text, `"address":"${addresses.solana}"`)
      const policies = { ...solanaRelayer.policies, min_balance: 2 ** 64 }
      assert.deepStrictEqual(solana.json.data, {
        ...solanaRelayer,
        policies,
        address: addresses.solana,
        system_disabled: false
      })
      const stellar = yield* api.call("/api/v1/relayers/relayer-3")
      assert.deepStrictEqual(stellar.json.data, {
        ...stellarRelayer,
        address: addresses.stellar,
        system_disabled: false
      })
    })
  )

  it.effect("the list has them in the order in which they were created", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* createRelayers
      const { json } = yield* api.call("/api/v1/relayers")
      assert.deepStrictEqual(
        (json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        ["relayer-1", "relayer-2", "relayer-3"]
      )
      assert.deepStrictEqual(json.pagination, { current_page: 1, per_page: 10, total_items: 3 })
    })
  )

  it.effect("omitted fields stay absent, and an omitted id is generated", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { json: made } = yield* api.call("/api/v1/signers", { body: { type: "plain" } })
      const { id: signer_id } = made.data as { id: string }
      assert.match(signer_id, /^[0-9a-f-]{36}$/)
      const request = { name: "x", network: "base", network_type: "evm", paused: false, signer_id }
      const { json } = yield* api.call("/api/v1/relayers", {
        body: { ...request, custom_rpc_urls: [], policies: null }
      })
      assert.sameMembers(Object.keys(json.data as object), [
        ...Object.keys(request),
        "id",
        "address",
        "system_disabled"
      ])
    })
  )

  it.effect("several relayers may use one signer on one network", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* Prepared.create("relayers", evmRelayer)
      const second = yield* api.call("/api/v1/relayers", { body: { ...evmRelayer, id: "relayer-4" } })
      assert.strictEqual(second.status, 201, second.text)
      assert.deepInclude(second.json.data, { signer_id: evmRelayer.signer_id, address: addresses.evm })
      const found = yield* api.call("/api/v1/relayers?signer_id=signer-1&network=sepolia")
      assert.deepStrictEqual(
        (found.json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        ["relayer-1", "relayer-4"]
      )
    })
  )

  it.effect("policies may be empty for every network type", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const relayer of relayers) {
        const body = { ...relayer, id: `empty-${relayer.network_type}`, policies: {} }
        const created = yield* api.call("/api/v1/relayers", { body })
        assert.strictEqual(created.status, 201, created.text)
        assert.deepInclude(created.json.data, { policies: {} })
      }
    })
  )

  it.effect("one error names all references to resources that do not exist", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const body = { ...evmRelayer, id: "lost", network: "nowhere", signer_id: "nobody", notification_id: "nothing" }
      const answer = yield* api.call("/api/v1/relayers", { body })
      assert.strictEqual(answer.status, 400)
      assert.match(
        answer.json.error ?? "",
        /^network: no evm network of this name \(known: .*, mainnet, .*, sepolia.*\); signer_id: no signer with this id; notification_id: no notification with this id$/
      )
      const asPlan = yield* api.call("/api/v1/relayers", { body: { ...body, network: "evm:sepolia" } })
      assert.match(
        asPlan.json.error ?? "",
        /^network: no evm network of this name; did you mean sepolia\?; signer_id: /
      )
      const known = yield* api.call("/api/v1/relayers", { body: { ...body, network: "sepolia" } })
      assert.strictEqual(
        known.json.error,
        "signer_id: no signer with this id; notification_id: no notification with this id"
      )
      assert.strictEqual((yield* api.call("/api/v1/relayers/lost")).status, 404)
    })
  )

  it.effect("an id that exists is 409, also if a reference is wrong, and also under a race", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* Prepared.create("relayers", evmRelayer)
      const faults = [
        {},
        { network: "nowhere" },
        { signer_id: "nobody" },
        { notification_id: "nothing" },
        { custom_rpc_urls: [{ url: "http://169.254.169.254/latest" }] }
      ]
      for (const fault of faults) {
        const again = yield* api.call("/api/v1/relayers", { body: { ...evmRelayer, ...fault } })
        assert.deepStrictEqual(
          [again.status, again.json.message],
          [409, "Relayer with this ID already exists"],
          JSON.stringify(fault)
        )
      }

      const ids = yield* Effect.forEach(Array.from({ length: 12 }), (_, n) =>
        api.call("/api/v1/signers", { body: { id: `racer-${n}`, type: "plain" } }).pipe(Effect.as(`racer-${n}`))
      )
      const answers = yield* Effect.forEach(
        ids,
        (signer_id) => api.call("/api/v1/relayers", { body: { ...evmRelayer, id: "raced", signer_id } }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [
        201,
        ...Array.from({ length: 11 }, () => 409)
      ])
    })
  )

  it.effect("secrets are sealed in the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* createRelayers
      const stored = JSON.stringify([
        yield* sql`SELECT id, encode(key_sealed, 'escape') AS sealed FROM signers`,
        yield* sql`SELECT id, url, encode(signing_key_sealed, 'escape') AS sealed FROM notifications`,
        yield* sql`SELECT id, custom_rpc_urls::text, encode(custom_rpc_urls_sealed, 'escape') AS sealed FROM relayers`
      ])
      for (const secret of ["01".repeat(32), notification.signing_key, "secret-path"]) assert.notInclude(stored, secret)
    })
  )
})
