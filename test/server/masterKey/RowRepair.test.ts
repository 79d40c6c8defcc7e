// The repair of rows that cannot be verified: what the evidence tells apart, and which rows an operator may accept.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as RowRepair from "../../../src/server/masterKey/RowRepair.ts"
import * as Sql from "../../../src/sql/Sql.ts"
import { evmRelayer, signer } from "../../../testkit/fixtures.ts"
import * as FormerDatabase from "../../../testkit/FormerDatabase.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as UnreadableRows from "../../../testkit/UnreadableRows.ts"
import { evmNetwork, solanaNetwork, stellarNetwork } from "../networks/fixtures.ts"

const call = TestApi.callBelow("/api/v1/")

const inherited = {
  name: "our-child",
  network_type: "evm",
  from: evmNetwork.name,
  chain_id: 987_655,
  tags: ["child"],
  rpc_urls: ["https://rpc.example.com/v1/child"]
}

/** A signer, a relayer, and networks of each type. Returns the ids of the networks. */
const resources = Effect.gen(function* () {
  yield* Prepared.references
  yield* Prepared.create("relayers", evmRelayer)
  const networks = [evmNetwork, inherited, solanaNetwork, stellarNetwork]
  const made = yield* Effect.forEach(networks, (network) => Prepared.create("networks", network))
  return made.map(({ id }) => `networks/${id}`)
})

const list = Effect.flatMap(RowRepair.make, (rows) => rows.list)

const nameOf = ({ table, id }: { readonly table: string; readonly id: string }) => `${table}/${id}`

/** The verdicts of a row, by what they are about. */
const verdicts = ({ evidence }: RowRepair.FoundRow) =>
  Object.fromEntries(evidence.map(({ about, verdict }) => [about, verdict]))

const one = Effect.fnUntraced(function* (name: string) {
  const { unreadable } = yield* list
  return unreadable.find((row) => nameOf(row) === name) ?? assert.fail(`${name} is not listed`)
})

const decisionsOf = (rows: ReadonlyArray<RowRepair.FoundRow>) =>
  rows.map(({ table, id, fingerprint }) => ({ table, id, fingerprint: fingerprint ?? assert.fail(`${table}/${id}`) }))

const accept = (...decisions: ReadonlyArray<RowRepair.RepairDecision>) =>
  Effect.flatMap(RowRepair.make, (rows) => rows.accept(decisions))

const refusal = (...decisions: ReadonlyArray<RowRepair.RepairDecision>) =>
  Effect.map(Effect.flip(accept(...decisions)), ({ message }) => message)

const macs = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    SELECT id, mac FROM signers UNION ALL SELECT id, mac FROM relayers UNION ALL SELECT id, mac FROM networks ORDER BY 1`
)

layerEach(TestApi.layer())("the repair of rows", (it) => {
  it.effect("lists no row while all can be verified", () =>
    Effect.gen(function* () {
      yield* resources
      assert.deepStrictEqual(yield* list, { total: 6, unreadable: [] })
    })
  )

  it.effect("accepts each row whose secret was lost, after which it is read again, with a record of each", () =>
    Effect.gen(function* () {
      const networks = yield* resources
      yield* UnreadableRows.loseEarlierSecret
      const { total, unreadable } = yield* list
      assert.strictEqual(total, 6)
      const names = [`signers/${signer.id}`, `relayers/${evmRelayer.id}`, ...networks]
      assert.sameMembers(unreadable.map(nameOf), names)
      for (const row of unreadable) {
        const fits = { "audit log": "fits", order: "fits" }
        const urls = { "RPC URLs": "fits" }
        const own = { signers: { seal: "proves" }, relayers: { signer: "fits", ...urls }, networks: urls }
        assert.deepStrictEqual<object>(verdicts(row), { ...own[row.table as keyof typeof own], ...fits })
      }
      assert.notInclude(JSON.stringify(unreadable), "secret-path")
      // A shorter one would let a program that writes the database find two rows that have the same.
      for (const { fingerprint = "" } of unreadable) assert.match(fingerprint, /^[0-9a-f]{64}$/)

      yield* accept(...decisionsOf(unreadable))
      assert.deepStrictEqual(yield* list, { total: 6, unreadable: [] })
      for (const path of names) assert.strictEqual((yield* call(path)).status, 200, path)
      for (const action of ["signer.repaired", "relayer.repaired"]) {
        const { text } = yield* call(`audit?action=${action}`)
        assert.include(text, '"key_id":"program"')
        assert.include(text, '"verdict":"fits"')
      }
    })
  )

  it.effect("accepts rows of a database that the baseline has taken over since the secret was lost", () =>
    Effect.gen(function* () {
      yield* resources
      yield* UnreadableRows.loseEarlierSecret
      yield* FormerDatabase.make
      const { unreadable } = yield* list
      assert.lengthOf(unreadable, 6)
      assert.deepStrictEqual(yield* Sql.migrate, [])
      assert.isTrue(yield* FormerDatabase.isTakenOver)
      assert.deepStrictEqual(yield* list, { total: 6, unreadable })
      yield* accept(...decisionsOf(unreadable))
      assert.deepStrictEqual(yield* list, { total: 6, unreadable: [] })
    })
  )

  it.effect("changes nothing by listing, and accepts one row without the others", () =>
    Effect.gen(function* () {
      yield* resources
      yield* UnreadableRows.loseEarlierSecret
      const before = yield* macs
      const { unreadable } = yield* list
      assert.deepStrictEqual(yield* macs, before)
      yield* accept(...decisionsOf(unreadable.filter(({ table }) => table === "relayers")))
      const left = (yield* list).unreadable.map(({ table }) => table)
      assert.deepStrictEqual([...new Set(left)], ["signers", "networks"])
    })
  )

  it.effect("accepts no signer whose columns another program changed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      const stranger = "0x000000000000000000000000000000000000dead"
      yield* sql`UPDATE signers SET evm_address = ${stranger}`
      const name = `signers/${signer.id}`
      const row = yield* one(name)
      assert.deepStrictEqual(verdicts(row), { seal: "contradicts", "audit log": "differs", order: "differs" })
      assert.isUndefined(row.fingerprint)
      const message = yield* refusal({ table: "signers", id: signer.id, fingerprint: "0000000000000000" })
      assert.include(message, "does not open with these columns")
      assert.isAbove((yield* call(name)).status, 499)
    })
  )

  it.effect("accepts no signer whose deleted row was put back with a lost secret", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      yield* sql`CREATE TABLE kept AS SELECT * FROM signers`
      assert.strictEqual((yield* call(`signers/${signer.id}`, { method: "DELETE" })).status, 200)
      yield* sql`
        INSERT INTO signers (id, type, config, evm_address, solana_address, stellar_address, key_sealed, mac)
        SELECT id, type, config, evm_address, solana_address, stellar_address, key_sealed, mac FROM kept`
      yield* UnreadableRows.loseSecret("signers")
      const row = yield* one(`signers/${signer.id}`)
      assert.deepInclude(verdicts(row), { seal: "proves", "audit log": "contradicts" })
      assert.isUndefined(row.fingerprint)
    })
  )

  it.effect("accepts no relayer whose address is not that of its signer, or whose signer was changed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      const stranger = "0x000000000000000000000000000000000000dead"
      const name = `relayers/${evmRelayer.id}`
      yield* sql`UPDATE relayers SET address = ${stranger}`
      assert.deepInclude(verdicts(yield* one(name)), { signer: "contradicts", "audit log": "differs" })
      // Both rows in the same way.
      yield* sql`UPDATE signers SET evm_address = ${stranger}`
      const row = yield* one(name)
      assert.deepInclude(verdicts(row), { signer: "contradicts" })
      assert.isUndefined(row.fingerprint)
    })
  )

  it.effect("accepts no relayer with the signer of somebody else while the audit log names another one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* Prepared.create("signers", { id: "thief", type: "plain" })
      yield* sql`
        UPDATE relayers SET signer_id = 'thief', address = (SELECT evm_address FROM signers WHERE id = 'thief')`
      const row = yield* one(`relayers/${evmRelayer.id}`)
      assert.deepInclude(verdicts(row), { signer: "fits", "audit log": "differs", order: "differs" })
      const message = yield* refusal({ table: "relayers", id: evmRelayer.id, fingerprint: "0000000000000000" })
      assert.include(message, "has other values of address, signer_id")
    })
  )

  it.effect("accepts no network with another chain id, other RPC URLs, or without its sealed RPC URLs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* Prepared.create("networks", evmNetwork)
      const changes = [
        [sql`definition = jsonb_set(definition, '{chain_id}', '1')`, { "RPC URLs": "fits", "audit log": "differs" }],
        [
          sql`definition = jsonb_set(definition, '{rpc_urls,0,url}', '"https://thief.example.com"')`,
          { "RPC URLs": "contradicts", "audit log": "differs" }
        ],
        [sql`rpc_urls_sealed = NULL, mac = 'x'`, { "RPC URLs": "contradicts", "audit log": "fits" }]
      ] as const
      yield* sql`CREATE TABLE kept AS SELECT * FROM networks`
      for (const [change, expected] of changes) {
        yield* sql`UPDATE networks SET ${change}`
        const row = yield* one(`networks/${id}`)
        assert.deepInclude(verdicts(row), expected)
        assert.isUndefined(row.fingerprint)
        yield* sql`
          UPDATE networks n SET definition = k.definition, rpc_urls_sealed = k.rpc_urls_sealed, mac = k.mac FROM kept k`
      }
      assert.isEmpty((yield* list).unreadable)
    })
  )

  it.effect("accepts no network that lacks a field or a label of its record, unless it could inherit it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("networks", evmNetwork)
      yield* Prepared.create("networks", inherited)
      const own = `networks/evm:${evmNetwork.name}`
      const heir = `networks/evm:${inherited.name}`
      const textOf = ({ evidence }: RowRepair.FoundRow) => evidence.find(({ about }) => about === "audit log")?.text
      yield* sql`CREATE TABLE kept AS SELECT * FROM networks`
      const without = (field: string) =>
        sql`UPDATE networks n SET definition = (k.definition::jsonb - ${field})::json FROM kept k WHERE k.id = n.id`

      yield* without("required_confirmations")
      const row = yield* one(own)
      assert.isUndefined(row.fingerprint)
      assert.match(textOf(row) ?? "", /has other values of required_confirmations$/)

      yield* sql`
        UPDATE networks n SET definition = jsonb_set(k.definition::jsonb, '{features}', '[]')::json FROM kept k
        WHERE k.id = n.id AND n.id = ${own.slice("networks/".length)}`
      assert.match(textOf(yield* one(own)) ?? "", /has other values of features$/)

      yield* without("rpc_urls")
      assert.match(
        textOf(yield* one(heir)) ?? "",
        /has the same values\. It also has (?=.*\brpc_urls\b).*or another program removed them/
      )
    })
  )

  it.effect(
    "accepts no network and no relayer whose private URLs were replaced, also without a record of the row",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Prepared.references
        const privately = { url: "https://private.example.com/v1/secret-path", weight: 50 }
        yield* Prepared.create("networks", { ...evmNetwork, private_rpc_urls: [privately] })
        yield* Prepared.create("relayers", { ...evmRelayer, custom_private_rpc_urls: [privately] })
        yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
        yield* sql`DELETE FROM audit`
        yield* UnreadableRows.loseSecret("relayers")
        yield* UnreadableRows.loseSecret("networks")
        yield* sql`CREATE TABLE kept_networks AS SELECT * FROM networks`
        yield* sql`CREATE TABLE kept_relayers AS SELECT * FROM relayers`
        const putBack = Effect.gen(function* () {
          yield* sql`
          UPDATE networks n SET definition = k.definition, private_rpc_urls_sealed = k.private_rpc_urls_sealed FROM kept_networks k`
          yield* sql`
          UPDATE relayers r SET custom_private_rpc_urls = k.custom_private_rpc_urls,
            custom_private_rpc_urls_sealed = k.custom_private_rpc_urls_sealed FROM kept_relayers k`
        })
        const names = [`networks/evm:${evmNetwork.name}`, `relayers/${evmRelayer.id}`]
        const thief = '[{"url": "https://thief.example.com", "weight": 50}]'
        const replaced = [
          sql`UPDATE networks SET definition = jsonb_set(definition::jsonb, '{private_rpc_urls}', ${thief}::text::jsonb)::json`,
          sql`UPDATE relayers SET custom_private_rpc_urls = ${thief}::text::json`
        ]
        const moved = [
          sql`UPDATE networks SET private_rpc_urls_sealed = rpc_urls_sealed`,
          sql`UPDATE relayers SET custom_private_rpc_urls_sealed = custom_rpc_urls_sealed`
        ]
        const removed = [
          sql`UPDATE networks SET private_rpc_urls_sealed = NULL`,
          sql`UPDATE relayers SET custom_private_rpc_urls_sealed = NULL`
        ]
        for (const change of [replaced, moved, removed]) {
          yield* Effect.all(change)
          for (const name of names) {
            const row = yield* one(name)
            const expected = { "RPC URLs": "fits", "private RPC URLs": "contradicts", "audit log": "open" } as const
            assert.deepInclude(verdicts(row), expected)
            assert.isUndefined(row.fingerprint)
            const { table, id } = row
            const message = yield* refusal({ table, id, fingerprint: "0000000000000000" })
            assert.include(message, "private RPC URLs: they are not the masked form of the sealed ones")
          }
          yield* putBack
        }
        for (const name of names) {
          const row = yield* one(name)
          assert.deepInclude(verdicts(row), { "RPC URLs": "fits", "private RPC URLs": "fits" })
          yield* accept(...decisionsOf([row]))
        }
        assert.isEmpty((yield* list).unreadable)
      })
  )

  it.effect("refuses a row whose sealed private URLs have changed since it was listed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      const at = (path: string) => [{ url: `https://private.example.com/${path}`, weight: 50 }]
      yield* Prepared.create("networks", { ...evmNetwork, private_rpc_urls: at("former") })
      yield* sql`CREATE TABLE kept AS SELECT * FROM networks`
      const path = `networks/evm:${evmNetwork.name}`
      const patched = yield* call(path, { method: "PATCH", body: { private_rpc_urls: at("present") } })
      assert.strictEqual(patched.status, 200)
      yield* UnreadableRows.loseSecret("networks")
      const listed = yield* one(path)
      // Both lists look the same when they are masked.
      yield* sql`UPDATE networks n SET private_rpc_urls_sealed = k.private_rpc_urls_sealed FROM kept k`
      assert.include(yield* refusal(...decisionsOf([listed])), "the row or the evidence is not as it was listed")
    })
  )

  it.effect("shows a row without a record, and leaves the decision to the operator", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
      yield* sql`DELETE FROM audit`
      yield* UnreadableRows.loseSecret("relayers")
      const row = yield* one(`relayers/${evmRelayer.id}`)
      assert.deepInclude(verdicts(row), { signer: "fits", "audit log": "open" })
      yield* accept(...decisionsOf([row]))
      assert.isEmpty((yield* list).unreadable)
    })
  )

  it.effect("refuses a row that has changed since it was listed, and then accepts none of the others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.references
      yield* Prepared.create("relayers", evmRelayer)
      yield* UnreadableRows.loseEarlierSecret
      const decisions = decisionsOf((yield* list).unreadable)
      yield* sql`UPDATE relayers SET mac = 'x'`
      const before = yield* macs
      assert.include(
        yield* refusal(...decisions),
        `relayers/${evmRelayer.id}: the row or the evidence is not as it was listed`
      )
      assert.deepStrictEqual(yield* macs, before)
    })
  )

  it.effect("refuses rows that do not exist, that need no repair, and that have no MAC", () =>
    Effect.gen(function* () {
      yield* Prepared.references
      const fingerprint = "0000000000000000"
      assert.include(
        yield* refusal({ table: "signers", id: "nobody", fingerprint }),
        "signers/nobody: there is no such row"
      )
      assert.include(yield* refusal({ table: "signers", id: signer.id, fingerprint }), "needs no repair")
      assert.include(yield* refusal({ table: "api_keys", id: "x", fingerprint }), "signers, relayers, networks")
    })
  )
})
