// What refusals reveal: they name no resource that the caller may not read.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { evmRelayer, notification } from "../../../testkit/fixtures.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault, ed25519, transitKey } from "../../../testkit/Vault.ts"
import { transitConfig } from "../signers/fixtures.ts"

const call = TestApi.callBelow("/api/v1/")

const hidden = { signer_id: "hidden-signer", notification_id: "hidden-notification", network: "hidden-network" }
const network = { name: hidden.network, network_type: "evm", from: "sepolia", chain_id: 7 }

const setUp = Effect.gen(function* () {
  yield* Prepared.create("signers", { id: hidden.signer_id, type: "plain" })
  yield* Prepared.create("notifications", { ...notification, id: hidden.notification_id })
  yield* Prepared.create("networks", { ...network, rpc_urls: ["https://rpc.example.com"] })
  yield* Prepared.create("networks", { name: "hidden-child", network_type: "evm", from: hidden.network })
  yield* Prepared.create("relayers", { ...evmRelayer, ...hidden, id: "hidden-relayer", custom_rpc_urls: [] })
  yield* Prepared.create("relayers", { ...evmRelayer, ...hidden, id: "mine", notification_id: undefined })
})

layer(Layer.merge(Prepared.layer(setUp), Vault.layer))("a refusal", (it) => {
  for (const resource of ["signer", "notification"]) {
    it.effect(`to delete a ${resource} names its relayers only to a key that may read them`, () =>
      Effect.gen(function* () {
        const path = `${resource}s/hidden-${resource}`
        const writer = yield* Prepared.createKey({ scopes: [`${resource}s:*`] })
        const refused = yield* call(path, { method: "DELETE", key: writer })
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(refused.json.error, "used by relayers that this API key may not read")
        const reader = yield* Prepared.createKey({ scopes: [`${resource}s:*`, "relayers:read"] })
        assert.include((yield* call(path, { method: "DELETE", key: reader })).json.error, "hidden-relayer")
      })
    )
  }

  it.effect("to delete a network names its relayers and networks only to a key that may read them", () =>
    Effect.gen(function* () {
      const errorFor = Effect.fnUntraced(function* (...scopes: ReadonlyArray<string>) {
        const key = yield* Prepared.createKey({ scopes })
        const { status, json } = yield* call(`networks/evm:${hidden.network}`, { method: "DELETE", key })
        assert.strictEqual(status, 409)
        return json.error
      })
      const noRelayers = "used by relayers that this API key may not read"
      const noNetworks = "used by networks that this API key may not read"
      assert.strictEqual(yield* errorFor("networks:write"), `${noRelayers}; ${noNetworks}`)
      assert.strictEqual(yield* errorFor("networks:*"), `${noRelayers}; used by networks: evm:hidden-child`)
      const relayers = "used by relayers: hidden-relayer, mine"
      assert.strictEqual(yield* errorFor("networks:write", "relayers:read"), `${relayers}; ${noNetworks}`)
    })
  )

  it.effect("to make a network inherit from itself names no network in between", () =>
    Effect.gen(function* () {
      const key = yield* Prepared.createKey({ scopes: ["networks:write"] })
      const to = `networks/evm:${hidden.network}`
      const refused = yield* call(to, { method: "PATCH", key, body: { from: "hidden-child" } })
      assert.strictEqual(refused.status, 400)
      assert.strictEqual(refused.json.error, "from: would make the network inherit from itself")
    })
  )

  it.effect("to use a signer names its type only to a key that may read it", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      vault.keys.set("solana.1", transitKey(ed25519()))
      yield* Prepared.create("signers", { id: "in-vault", type: "vault_transit", config: transitConfig(vault) })
      const errorFor = Effect.fnUntraced(function* (...scopes: ReadonlyArray<string>) {
        const key = yield* Prepared.createKey({ scopes })
        const body = { name: "x", network: "sepolia", network_type: "evm", paused: false, signer_id: "in-vault" }
        return (yield* call("relayers", { key, body })).json.error
      })
      const rest = " cannot serve evm: these can: "
      assert.include(yield* errorFor("relayers:write"), `signer_id: this signer${rest}`)
      assert.include(yield* errorFor("relayers:write", "signers:read"), `signer_id: a vault_transit signer${rest}`)
    })
  )

  it.effect("of a narrowed key names nothing that belongs to other relayers", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("mine")
      const key = yield* Prepared.createKey({
        scopes: ["relayers:*", "events:read", "notifications:read"],
        relayer_ids: ["mine"]
      })
      const other = "relayers/hidden-relayer"
      const requests: ReadonlyArray<readonly [string, TestApi.Call]> = [
        [other, {}],
        [other, { method: "PATCH", body: { name: "x" } }],
        [other, { method: "DELETE" }],
        [`${other}/explain`, {}],
        [`${other}/check`, { method: "POST" }],
        ["relayers", { body: { ...evmRelayer, ...hidden, id: "mine-too" } }],
        ["relayers/mine", { method: "PATCH", body: { notification_id: hidden.notification_id } }],
        ["relayers/mine", { method: "PATCH", body: { signer_id: hidden.signer_id } }],
        [`notifications/${hidden.notification_id}`, {}],
        [`notifications/${hidden.notification_id}`, { method: "DELETE" }],
        [`signers/${hidden.signer_id}`, { method: "DELETE" }],
        [`networks/evm:${hidden.network}`, { method: "DELETE" }],
        ["audit?resource_id=hidden-relayer", {}]
      ]
      for (const [path, options] of requests) {
        const { status, text } = yield* call(path, { ...options, key })
        assert.include([400, 403, 404], status, path)
        assert.notInclude(text, "hidden", path)
      }
    })
  )
})
