// What an attacker who writes the database cannot do: have a secret used in another way than it was sealed for.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { verifyWebhook } from "../src/client/Webhook.ts"
import { notification, signer } from "../testkit/fixtures.ts"
import { layerEach } from "../testkit/layerEach.ts"
import * as Prepared from "../testkit/Prepared.ts"
import * as Receiver from "../testkit/Receiver.ts"
import * as TestApi from "../testkit/TestApi.ts"
import { Vault } from "../testkit/Vault.ts"
import { config, prepared } from "./server/signers/fixtures.ts"

const call = (path: string, options?: TestApi.Call) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(`/api/v1/${path}`, options))

const verify = (id: string) => call(`signers/${id}/verify`, { method: "POST" })

/** The response names the row that was changed. */
const isRefused = ({ status, json, text }: TestApi.Answer, ...named: ReadonlyArray<string>) => {
  assert.strictEqual(status, 500, text)
  for (const part of [...named, "was changed in the database"]) assert.include(json.error ?? "", part)
}

layerEach(Layer.provideMerge(TestApi.layer(), Vault.layer))("an attacker who writes the database", (it) => {
  it.effect("gets no credentials of Vault by changing where they are sent, or what they are used for", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const vault = yield* prepared
      const thief = yield* Receiver.make
      yield* Prepared.create("signers", { id: "vlt", type: "vault", config: config(vault) })
      assert.include((yield* verify("vlt")).text, '"verified":true')
      const [row] = yield* sql<{ config: Record<string, string> }>`SELECT config FROM signers`
      const seen = vault.seen.length
      for (const change of [
        { address: thief.url },
        { namespace: "other" },
        { mount_point: "other" },
        { key_name: "other" }
      ]) {
        yield* sql`UPDATE signers SET config = ${JSON.stringify({ ...row?.config, ...change })}::text::jsonb`
        isRefused(yield* verify("vlt"), "signers.config", '"vlt"')
      }
      assert.isEmpty(thief.seen)
      assert.lengthOf(vault.seen, seen)
    })
  )

  it.effect("gets no webhook signed for another URL", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [receiver, thief] = [yield* Receiver.make, yield* Receiver.make]
      yield* Prepared.create("notifications", { ...notification, url: receiver.url })
      const test = call(`notifications/${notification.id}/test`, { method: "POST" })
      assert.include((yield* test).text, '"delivered"')
      yield* sql`UPDATE notifications SET url = ${thief.url}`
      const { text } = yield* test
      assert.include(text, '"outcome":"error"')
      assert.include(text, "was changed in the database")
      assert.isEmpty(thief.seen)

      // A change over the API is in order, and both keys sign for the new URL.
      yield* sql`UPDATE notifications SET url = ${receiver.url}`
      const path = `notifications/${notification.id}`
      const next = "fedcba9876543210fedcba9876543210"
      assert.strictEqual((yield* call(path, { method: "PATCH", body: { signing_key: next } })).status, 200)
      assert.strictEqual((yield* call(path, { method: "PATCH", body: { url: thief.url } })).status, 200)
      assert.include((yield* test).text, '"delivered"')
      const [sent] = thief.seen
      for (const secret of [next, notification.signing_key]) {
        yield* verifyWebhook({ secret, headers: sent?.headers ?? {}, body: sent?.body ?? "" })
      }
    })
  )

  it.effect("cannot move a sealed value to another row, or give a signer another type or address", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      yield* Prepared.create("signers", { id: "thief", type: "plain" })
      yield* sql`
        UPDATE signers t SET key_sealed = o.key_sealed, evm_address = o.evm_address, solana_address = o.solana_address,
          stellar_address = o.stellar_address FROM signers o WHERE o.id = ${signer.id} AND t.id = 'thief'`
      isRefused(yield* verify("thief"), "signers.key", '"thief"')
      yield* sql`UPDATE signers SET evm_address = '0x0000000000000000000000000000000000000000' WHERE id = ${signer.id}`
      isRefused(yield* verify(signer.id), "signers.key")
    })
  )
})
