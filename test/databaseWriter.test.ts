// What an attacker who writes the database cannot do: have a secret used in another way than it was sealed for.
import { assert } from "@effect/vitest"
import { Array, Cause, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../src/domain/relayer/Relayer.ts"
import { networks } from "../src/process/Networks.ts"
import { Relayers } from "../src/server/relayers/Relayers.ts"
import * as Services from "../src/server/Services.ts"
import { verifyWebhook } from "../src/client/Webhook.ts"
import { evmRelayer, notification, signer } from "../testkit/fixtures.ts"
import { layerEach } from "../testkit/layerEach.ts"
import * as Prepared from "../testkit/Prepared.ts"
import * as Receiver from "../testkit/Receiver.ts"
import * as TestApi from "../testkit/TestApi.ts"
import { Vault } from "../testkit/Vault.ts"
import { evmNetwork } from "./server/networks/fixtures.ts"
import { config, prepared } from "./server/signers/fixtures.ts"

const call = TestApi.callBelow("/api/v1/")

const verify = (id: string) => call(`signers/${id}/verify`, { method: "POST" })

const changed = /another program or a person changed (it|its row) in the database/

/** The response names the row that was changed. */
const isRefused = ({ status, json, text }: TestApi.Answer, ...named: ReadonlyArray<string>) => {
  assert.strictEqual(status, 500, text)
  for (const part of named) assert.include(json.error ?? "", part)
  assert.match(json.error ?? "", changed)
}

/** A read of the row alone is refused; a list has the other rows, and says which one is missing. */
const isHidden = (answer: TestApi.Answer, named: string) => {
  const { status, json, text } = answer
  if (!Array.isArray(json.data)) return isRefused(answer, named)
  assert.strictEqual(status, 200, text)
  assert.notInclude(JSON.stringify(json.data), named.split(" ")[0] ?? named)
  const [line = {}] = json.metadata?.logs ?? []
  assert.include(JSON.stringify(line), `row_unreadable: ${JSON.stringify(named).slice(1, -1)} cannot be verified`)
}

const inNewInstance = Effect.provide(
  Services.layerNoAuthentication({
    networks,
    masterKey: Redacted.make(TestApi.masterKey),
    jobs: false,
    outboundAllow: ["127.0.0.0/8"]
  }),
  { local: true }
)

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
      assert.match(text, changed)
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

  it.effect("cannot show another address of a signer or a relayer, or give a relayer another signer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("signers", { id: "thief", type: "plain" })
      yield* Prepared.create("relayers", evmRelayer)
      const relayer = `relayers/${evmRelayer.id}`
      const reads = [relayer, "relayers", "relayers?sort=name", `${relayer}/explain`]
      for (const path of reads) assert.strictEqual((yield* call(path)).status, 200, path)

      const stranger = "0x000000000000000000000000000000000000dead"
      const changes = [
        sql`address = ${stranger}`,
        sql`signer_id = 'thief', address = (SELECT evm_address FROM signers WHERE id = 'thief')`,
        sql`network = 'mainnet'`,
        sql`address = ${stranger}, mac = NULL`
      ]
      for (const change of changes) {
        yield* sql`CREATE TABLE kept AS SELECT id, address, signer_id, network, mac FROM relayers`
        yield* sql`UPDATE relayers SET ${change}`
        for (const path of reads) isHidden(yield* call(path), `"${evmRelayer.id}" of relayers`)
        for (const body of [{ name: "x" }, { paused: true }]) {
          isRefused(yield* call(relayer, { method: "PATCH", body }), `"${evmRelayer.id}" of relayers`)
        }
        isRefused(yield* call(`${relayer}/check`, { method: "POST" }), `"${evmRelayer.id}" of relayers`)
        yield* sql`
          UPDATE relayers r SET address = k.address, signer_id = k.signer_id, network = k.network, mac = k.mac FROM kept k`
        yield* sql`DROP TABLE kept`
        for (const path of reads) assert.strictEqual((yield* call(path)).status, 200, path)
      }

      yield* sql`UPDATE signers SET evm_address = ${stranger} WHERE id = ${signer.id}`
      for (const path of [`signers/${signer.id}`, "signers"]) isHidden(yield* call(path), `"${signer.id}" of signers`)
      isRefused(yield* call("relayers", { body: { ...evmRelayer, id: "another" } }), `"${signer.id}" of signers`)

      // A row that was changed can be deleted.
      yield* sql`UPDATE relayers SET address = ${stranger}`
      assert.strictEqual((yield* call(relayer, { method: "DELETE" })).status, 200)
      assert.strictEqual((yield* call(`signers/${signer.id}`, { method: "DELETE" })).status, 200)
    })
  )

  it.effect("does not disturb the reads of other relayers by changing one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* Prepared.create("signers", { id: "other", type: "plain" })
      yield* Prepared.create("relayers", { ...evmRelayer, id: "other", signer_id: "other" })
      yield* sql`UPDATE relayers SET mac = 'x' WHERE id = ${evmRelayer.id}`
      // Reads that arrive at the same time share a statement.
      const ids = Array.makeBy(20, (n) => (n % 2 === 0 ? "other" : evmRelayer.id))
      const answers = yield* Effect.forEach(ids, (id) => call(`relayers/${id}`), { concurrency: "unbounded" })
      for (const [n, answer] of answers.entries()) {
        if (n % 2 === 0) assert.strictEqual(answer.status, 200, answer.text)
        else isRefused(answer, `"${evmRelayer.id}" of relayers`)
      }
    })
  )

  it.effect("cannot lead a network to another chain or to providers of its own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const thief = yield* Receiver.make
      const { id } = yield* Prepared.create("networks", evmNetwork)
      yield* Prepared.references
      yield* Prepared.create("relayers", {
        id: "r",
        name: "r",
        network_type: "evm",
        network: evmNetwork.name,
        paused: false,
        signer_id: signer.id
      })
      const reads = [`networks/${id}`, "networks?per_page=1000"]
      const changes = [
        sql`definition = jsonb_set(definition, '{chain_id}', '1')`,
        sql`definition = jsonb_set(definition, '{rpc_urls}', ${JSON.stringify([{ url: thief.url, weight: 100 }])}::text::jsonb), rpc_urls_sealed = NULL`
      ]
      for (const change of changes) {
        yield* sql`CREATE TABLE kept AS SELECT id, definition, rpc_urls_sealed FROM networks`
        yield* sql`UPDATE networks SET ${change}`
        for (const path of reads) isHidden(yield* call(path), `"${id}" of networks`)
        isRefused(yield* call(`networks/${id}`, { method: "PATCH", body: { tags: ["x"] } }), `"${id}" of networks`)
        isRefused(yield* call("relayers/r/check", { method: "POST" }), `"${id}" of networks`)
        yield* sql`
          UPDATE networks n SET definition = k.definition, rpc_urls_sealed = k.rpc_urls_sealed FROM kept k WHERE k.id = n.id`
        yield* sql`DROP TABLE kept`
        for (const path of reads) assert.strictEqual((yield* call(path)).status, 200, path)
      }
      assert.isEmpty(thief.seen)
      yield* sql`UPDATE networks SET mac = 'x'`
      assert.strictEqual((yield* call("relayers/r", { method: "DELETE" })).status, 200)
      assert.strictEqual((yield* call(`networks/${id}`, { method: "DELETE" })).status, 200)
    })
  )

  it.effect("cannot have changed rows authenticated by removing the key of the MACs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* sql`UPDATE relayers SET mac = NULL`
      yield* sql`DELETE FROM service_secrets WHERE name = 'row_macs'`
      const exit = yield* Effect.exit(
        inNewInstance(Effect.flatMap(Relayers, (relayers) => relayers.get(RelayerId.make(evmRelayer.id))))
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("cannot be verified"))
    })
  )

  it.effect("cannot have rows without a MAC authenticated, also without the key of the MACs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* sql`UPDATE relayers SET mac = NULL`
      yield* sql`DELETE FROM service_secrets WHERE name = 'row_macs'`
      const page = yield* inNewInstance(Effect.flatMap(Relayers, (relayers) => relayers.list({})))
      assert.isEmpty(page.items)
      assert.include(page.unreadable?.[0]?.reason, "cannot be verified")
      assert.deepStrictEqual(yield* sql`SELECT mac FROM relayers`, [{ mac: null }])
    })
  )
})
