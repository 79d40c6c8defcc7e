// One row that the service cannot read makes no list fail: the list has the others, and names the row.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../testkit/layerEach.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const post = (resource: string, body: unknown) =>
  Effect.map(TestApi.call(`/api/v1/${resource}`, { body }), ({ status, text }) => assert.strictEqual(status, 201, text))

const list = (resource: string) =>
  Effect.map(TestApi.call(`/api/v1/${resource}?per_page=1000`), ({ status, text, json }) => {
    assert.strictEqual(status, 200, text)
    const ids = (json.data as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
    const logs = (json.metadata?.logs ?? []) as ReadonlyArray<{ readonly level: string; readonly message: string }>
    const unreadable = json.metadata?.unreadable ?? []
    assert.deepStrictEqual(
      logs.map(({ message }) => message),
      unreadable.map(({ reason }) => `row_unreadable: ${reason}`)
    )
    return {
      ids,
      warnings: logs.map(({ level, message }) => `${level} ${message}`),
      unreadable: unreadable.map(({ id }) => id)
    }
  })

const relayer = (id: string, signer: string) => ({
  id,
  name: id,
  network: "sepolia",
  network_type: "evm",
  signer_id: signer,
  paused: false
})

const network = (name: string, more: object) => ({ network_type: "evm", name, chain_id: 31337, ...more })

layerEach(TestApi.layer())("a list with a row that cannot be read", (it) => {
  it.effect("has the other rows, and names the row of a signer, a relayer and a network with its code", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const id of ["one", "two"]) yield* post("signers", { id, type: "plain" })
      for (const id of ["one", "two"]) yield* post("relayers", relayer(id, id))
      yield* sql`UPDATE signers SET mac = 'of an earlier version' WHERE id = 'two'`
      yield* sql`UPDATE relayers SET mac = 'of an earlier version' WHERE id = 'two'`
      for (const resource of ["signers", "relayers"]) {
        const { ids, warnings, unreadable } = yield* list(resource)
        assert.deepStrictEqual([ids, unreadable], [["one"], ["two"]])
        assert.lengthOf(warnings, 1)
        assert.match(warnings[0] ?? "", new RegExp(`^warn row_unreadable: "two" of ${resource} cannot be verified: `))
      }

      yield* post("networks", network("base-of-two", { from: "sepolia" }))
      yield* post("networks", network("of-two", { from: "base-of-two" }))
      yield* post("networks", network("third", { from: "sepolia" }))
      yield* sql`UPDATE networks SET mac = 'of an earlier version' WHERE id = 'evm:base-of-two'`
      const networks = yield* list("networks")
      assert.includeMembers(networks.ids, ["evm:third", "evm:sepolia"])
      assert.notInclude(networks.ids, "evm:of-two")
      assert.sameMembers(networks.unreadable, ["evm:base-of-two", "evm:of-two"])
    })
  )

  it.effect("has the other rows if a value is of a newer version", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const id of ["one", "two"]) yield* post("signers", { id, type: "plain" })
      yield* sql`UPDATE signers SET type = 'of the future' WHERE id = 'two'`
      const { ids, warnings } = yield* list("signers")
      assert.deepStrictEqual(ids, ["one"])
      assert.match(
        warnings[0] ?? "",
        /^warn row_unreadable: "two" of signers has a value that this version does not know/
      )
    })
  )
})
