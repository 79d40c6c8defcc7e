// A network that is in use cannot be deleted, also under concurrency.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { networkId, NetworkName } from "../../../src/domain/network/Network.ts"
import { Networks } from "../../../src/server/networks/Networks.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { beforeStatement } from "../../../testkit/Interference.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork } from "./fixtures.ts"

const path = "/api/v1/networks"
const inUse = (error: string) => ({ success: false, data: null, message: "Network is in use", error })

const relayer = (id: string, network: string, signer_id = signer.id) => ({
  id,
  name: id,
  network,
  network_type: "evm",
  paused: false,
  signer_id
})

const post = Effect.fnUntraced(function* (to: string, body: object) {
  const api = yield* TestApi.TestApi
  return yield* api.call(`/api/v1/${to}`, { body })
})

const create = (name: string, more: object = {}) => post("networks", { ...evmNetwork, name, ...more })

const remove = Effect.fnUntraced(function* (id: string) {
  const api = yield* TestApi.TestApi
  return yield* api.call(`${path}/${id}`, { method: "DELETE" })
})

/** Waits until the delete of a network waits for a lock. */
const deleteWaits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const waiting = sql`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%networks%'`
  yield* awaited(waiting, (rows) => rows.length > 0)
})

const withSigner = Prepared.layer(Prepared.create("signers", signer))

layerEach(withSigner)("a network in use", (it) => {
  it.effect("cannot be deleted; the error names its relayers and its children", () =>
    Effect.gen(function* () {
      yield* create("used")
      yield* post("relayers", relayer("first", "used"))
      const byRelayer = yield* remove("evm:used")
      assert.strictEqual(byRelayer.status, 409)
      assert.deepStrictEqual(byRelayer.json, inUse("used by relayers: first"))
      yield* post("signers", { ...signer, id: "signer-2" })
      yield* post("relayers", relayer("second", "used", "signer-2"))
      yield* create("child", { from: "used" })
      const byBoth = yield* remove("evm:used")
      assert.deepStrictEqual(byBoth.json, inUse("used by relayers: first, second; used by networks: evm:child"))
      const api = yield* TestApi.TestApi
      assert.strictEqual((yield* api.call(`${path}/evm:used`)).status, 200)
    })
  )

  it.effect("can be deleted after its last use ends", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* create("used")
      yield* create("child", { from: "used" })
      for (const id of ["first", "second"]) yield* post("relayers", relayer(id, "used"))
      for (const id of ["first", "second"]) yield* api.call(`/api/v1/relayers/${id}`, { method: "DELETE" })
      assert.deepStrictEqual((yield* remove("evm:used")).json, inUse("used by networks: evm:child"))
      yield* api.call(`${path}/evm:child`, { method: "PATCH", body: { from: "mainnet" } })
      assert.strictEqual((yield* remove("evm:used")).json.data, "Network deleted successfully")
      assert.strictEqual((yield* remove("evm:child")).json.data, "Network deleted successfully")
    })
  )

  it.effect("has up to ten users named in the error", () =>
    Effect.gen(function* () {
      yield* create("popular")
      for (let index = 0; index < 12; index++) yield* create(`heir-${index}`, { from: "popular" })
      const { json } = yield* remove("evm:popular")
      const named = Array.from({ length: 10 }, (_, index) => `evm:heir-${index}`)
      assert.strictEqual(json.error, `used by networks: ${named.join(", ")}, and more`)
    })
  )

  it.effect("is deleted if its only relayer is deleted before the error names it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* create("left")
      yield* post("relayers", relayer("leaving", "left"))
      const leave = Effect.orDie(sql`DELETE FROM relayers WHERE id = 'leaving'`)
      const id = networkId("evm", NetworkName.make("left"))
      const done = yield* Effect.flatMap(Networks, (networks) => networks.delete(id)).pipe(
        Effect.provide(Layer.fresh(Networks.layer)),
        Effect.provideService(SqlClient.SqlClient, beforeStatement(sql, "SELECT 'relayers' AS kind", leave))
      )
      assert.strictEqual(done, "deleted")
    })
  )

  it.effect("can be overridden and reset if it is built in", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* post("relayers", relayer("on-sonic", "sonic"))
      yield* create("from-sonic", { from: "sonic" })
      yield* api.call(`${path}/evm:sonic`, { method: "PATCH", body: { symbol: "X" } })
      yield* api.call(`${path}/evm:from-sonic`, { method: "PATCH", body: { symbol: null } })
      const reset = yield* remove("evm:sonic")
      assert.strictEqual(reset.status, 200, reset.text)
      assert.strictEqual(reset.json.data, "Network reset successfully")
    })
  )

  it.effect("is not deleted while a relayer is being created on it; the delete waits and is refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* create("contested")
      const written = yield* Deferred.make<void>()
      const decided = yield* Deferred.make<void>()
      const insert = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`
            INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, own_network_id)
            VALUES ('slow', 'slow', 'evm', 'contested', '0x', false, ${signer.id}, 'evm:contested')`
          yield* Deferred.succeed(written, undefined)
          yield* Deferred.await(decided)
        })
      )
      const inserting = yield* Effect.forkChild(insert)
      yield* Deferred.await(written)
      const deleting = yield* Effect.forkChild(remove("evm:contested"))
      yield* deleteWaits
      yield* Deferred.succeed(decided, undefined)
      yield* Fiber.join(inserting)
      const answer = yield* Fiber.join(deleting)
      assert.strictEqual(answer.status, 409)
      assert.deepStrictEqual(answer.json, inUse("used by relayers: slow"))
    })
  )

  it.effect("is either deleted or gets a relayer if both are requested concurrently", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (let turn = 0; turn < 25; turn++) {
        const name = `race-${turn}`
        yield* create(name)
        const [deleted, created] = yield* Effect.all([remove(`evm:${name}`), post("relayers", relayer(name, name))], {
          concurrency: 2
        })
        const outcome = `${deleted.status} ${created.status}`
        assert.include(["200 400", "409 201"], outcome, `${deleted.text} ${created.text}`)
        const found = yield* sql`SELECT 1 FROM networks WHERE id = ${`evm:${name}`}`
        const bound = yield* sql`SELECT 1 FROM relayers WHERE own_network_id = ${`evm:${name}`}`
        assert.strictEqual(found.length, bound.length)
        assert.strictEqual(found.length, created.status === 201 ? 1 : 0)
      }
    })
  )

  it.effect("is either deleted or gets a child if both are requested concurrently", () =>
    Effect.gen(function* () {
      for (let turn = 0; turn < 10; turn++) {
        yield* create(`parent-${turn}`)
        const [deleted, created] = yield* Effect.all(
          [remove(`evm:parent-${turn}`), create(`child-${turn}`, { from: `parent-${turn}` })],
          { concurrency: 2 }
        )
        assert.include(["200 400", "409 201"], `${deleted.status} ${created.status}`)
      }
    })
  )

  it.effect("is created once by concurrent creates with one name", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.all(
        Array.from({ length: 12 }, () => create("wanted")),
        { concurrency: "unbounded" }
      )
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, [201, ...Array.from({ length: 11 }, () => 409)])
    })
  )

  it.effect("is not part of a circle that two concurrent patches would make together", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (let turn = 0; turn < 10; turn++) {
        const [one, other] = [`one-${turn}`, `other-${turn}`]
        yield* create(one)
        yield* create(other)
        const from = (child: string, parent: string) =>
          api.call(`${path}/evm:${child}`, { method: "PATCH", body: { from: parent } })
        const answers = yield* Effect.all([from(one, other), from(other, one)], { concurrency: 2 })
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 400])
        const refused = answers.find(({ status }) => status === 400)
        assert.include(refused?.json.error, "from: would make the network inherit from itself")
        assert.strictEqual((yield* api.call(`${path}?per_page=1000`)).status, 200)
      }
    })
  )

  it.effect("is found as a built-in or an own network; built-in ones are found without the database", () =>
    Effect.gen(function* () {
      yield* create("popular")
      const networks = yield* Networks
      const locate = (name: string) => networks.locate("evm", NetworkName.make(name))
      assert.strictEqual(yield* locate("sepolia"), "builtin")
      assert.strictEqual(yield* locate("popular"), "own")
      assert.isUndefined(yield* locate("nowhere"))
      assert.isUndefined(yield* networks.locate("solana", NetworkName.make("popular")))
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP TABLE networks CASCADE`
      assert.strictEqual(yield* locate("sepolia"), "builtin")
    })
  )
})
