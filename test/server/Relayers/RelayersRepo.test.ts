// The SQL repository against a reference model, on a real PostgreSQL.
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Effect, Equal, Layer, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NetworkName } from "../../../src/domain/Network.ts"
import { pageRequest } from "../../../src/domain/Page.ts"
import { CreateRelayer, RelayerId } from "../../../src/domain/Relayer.ts"
import type { Relayer } from "../../../src/domain/Relayer.ts"
import { maskRpc } from "../../../src/domain/Rpc.ts"
import { SignerId } from "../../../src/domain/Signer.ts"
import { RelayersRepo } from "../../../src/server/Relayers/RelayersRepo.ts"
import { SignersRepo } from "../../../src/server/Signers/SignersRepo.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"

const repos = Layer.mergeAll(RelayersRepo.layer, SignersRepo.layer).pipe(Layer.provideMerge(TestDatabase.layer))

const signerIds = ["s1", "s2", "s3"].map((id) => SignerId.make(id))

const addSigners = Effect.gen(function* () {
  const signers = yield* SignersRepo
  for (const id of signerIds) {
    const addresses = { evm: `evm-${id}`, solana: `solana-${id}`, stellar: `stellar-${id}` }
    yield* signers.insert({ id, type: "plain", config: {}, addresses }, new Uint8Array([1]))
  }
})

const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers`
  yield* addSigners
})

/** Few ids, signers and networks, so that requests meet. */
const Small = Schema.Struct({
  id: Schema.Literals(["a", "b", "c", "d"]),
  signer: Schema.Literals(["s1", "s2", "s3", "nobody"]),
  network: Schema.Literals(["n1", "n2"]),
  template: CreateRelayer
})

const toRequest = ({ id, signer, network, template }: typeof Small.Type): CreateRelayer => {
  const { notification_id: _, ...rest } = template
  return {
    ...rest,
    id: RelayerId.make(id),
    signer_id: SignerId.make(signer),
    network: NetworkName.make(network)
  } as CreateRelayer
}

const Command = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Create"), relayer: Small }),
  Schema.Struct({
    _tag: Schema.tag("CreateAtOnce"),
    relayers: Schema.Array(Small).check(Schema.isBetweenLength(2, 4))
  }),
  Schema.Struct({ _tag: Schema.tag("Get"), id: Schema.Literals(["a", "b", "c", "d", "e"]) }),
  Schema.Struct({
    _tag: Schema.tag("List"),
    page: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    per_page: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  })
])
const Commands = Schema.Array(Command).check(Schema.isBetweenLength(1, 25))

const insert = (request: CreateRelayer) =>
  Effect.gen(function* () {
    const repo = yield* RelayersRepo
    const urls = request.custom_rpc_urls
    return yield* repo.insert({
      id: request.id ?? RelayerId.make("never"),
      request,
      maskedRpcUrls: urls === undefined || urls.length === 0 ? undefined : urls.map(maskRpc),
      rpcUrlsSealed: undefined
    })
  })

/** What the repository ought to be: relayers in creation order. */
class Model {
  readonly relayers: Array<Relayer> = []

  outcome(request: CreateRelayer): string {
    if (!signerIds.some((id) => id === request.signer_id)) return "ReferenceMissing"
    if (this.relayers.some(({ id }) => id === request.id)) return "RelayerIdTaken"
    return this.relayers.some((other) => this.meets(other, request)) ? "SignerInUse" : "created"
  }

  meets(other: Relayer, request: CreateRelayer): boolean {
    return (
      other.signer_id === request.signer_id &&
      other.network_type === request.network_type &&
      other.network === request.network
    )
  }

  page(page: number, perPage: number): ReadonlyArray<Relayer> {
    const first = (Math.max(page, 1) - 1) * perPage
    return this.relayers.slice(first, first + perPage)
  }
}

const run = (model: Model, command: typeof Command.Type) =>
  Effect.gen(function* () {
    const repo = yield* RelayersRepo
    switch (command._tag) {
      case "Create": {
        const request = toRequest(command.relayer)
        const expected = model.outcome(request)
        const result = yield* Effect.result(insert(request))
        if (Result.isSuccess(result)) model.relayers.push(result.success)
        // The id and the signer may both be taken; which of them is told first is not promised here.
        const actual = Result.isSuccess(result) ? "created" : result.failure._tag
        if (expected === "RelayerIdTaken") assert.include(["RelayerIdTaken", "SignerInUse"], actual)
        else assert.strictEqual(actual, expected)
        return
      }
      case "CreateAtOnce": {
        const requests = command.relayers.map(toRequest)
        const results = yield* Effect.forEach(requests, (request) => Effect.result(insert(request)), {
          concurrency: "unbounded"
        })
        const created = results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
        assert.strictEqual(new Set(created.map(({ id }) => id)).size, created.length)
        for (const relayer of created) assert.isFalse(model.relayers.some(({ id }) => id === relayer.id))
        for (const [index, request] of requests.entries()) {
          const alone = requests.every(
            (other) => other === request || (other.id !== request.id && other.signer_id !== request.signer_id)
          )
          if (alone) assert.strictEqual(Result.isSuccess(results[index]!), model.outcome(request) === "created")
        }
        const stored = yield* repo.page(pageRequest({ per_page: 100 }))
        model.relayers.splice(0, Infinity, ...stored.items)
        for (const relayer of created) assert.isTrue(stored.items.some((item) => Equal.equals(item, relayer)))
        return
      }
      case "Get": {
        const found = yield* repo.find(RelayerId.make(command.id))
        const expected = Option.fromUndefinedOr(model.relayers.find(({ id }) => id === command.id))
        assert.isTrue(Equal.equals(found, expected))
        return
      }
      case "List": {
        const page = yield* repo.page(pageRequest(command))
        assert.strictEqual(page.total, model.relayers.length)
        assert.isTrue(Equal.equals(page.items, model.page(command.page, command.per_page)))
      }
    }
  })

layer(repos)("RelayersRepo", (it) => {
  it.effect.prop(
    "does what a list in memory does, for any sequence of commands, some of them at once",
    [Commands],
    ([commands]) =>
      Effect.gen(function* () {
        yield* clear
        const model = new Model()
        for (const command of commands) yield* run(model, command)
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect.prop(
    "gives back every field of any relayer, digit for digit",
    [Arbitrary.schema(Small)],
    ([small]) =>
      Effect.gen(function* () {
        yield* clear
        const request = toRequest({ ...small, signer: "s1" })
        const created = yield* insert(request)
        const repo = yield* RelayersRepo
        const found = Option.getOrThrow(yield* repo.find(created.id))
        assert.isTrue(Equal.equals(found, created))
        assert.isTrue(
          Equal.equals(found.policies, request.policies),
          JSON.stringify([found, request], (_, v) => (typeof v === "bigint" ? String(v) : v))
        )
        assert.strictEqual(found.name, request.name)
        assert.strictEqual(found.address, `${request.network_type}-s1`)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect.prop(
    "pages of any size partition the list, in order",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 14 }))
    ],
    ([count, per_page]) =>
      Effect.gen(function* () {
        yield* clear
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
          SELECT 'r' || n, 'x', 'evm', 'n' || n, 'a', false, 's1' FROM generate_series(1, ${count}::int) n`
        const repo = yield* RelayersRepo
        const seen: Array<string> = []
        for (let page = 1; ; page++) {
          const { items, total } = yield* repo.page(pageRequest({ page, per_page }))
          assert.strictEqual(total, count)
          if (items.length === 0) break
          seen.push(...items.map(({ id }) => id))
        }
        assert.deepStrictEqual(
          seen,
          Array.from({ length: count }, (_, n) => `r${n + 1}`)
        )
      }),
    { arbitrary: { runs: 40 } }
  )

  it.effect("a reader of pages sees every relayer once while others are created", () =>
    Effect.gen(function* () {
      yield* clear
      const sql = yield* SqlClient.SqlClient
      const repo = yield* RelayersRepo
      const add = (n: number) => sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        VALUES (${`r${n}`}, 'x', 'evm', ${`n${n}`}, 'a', false, 's1')`
      yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        add
      )
      const writer = Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n + 60),
        add,
        { concurrency: 4, discard: true }
      )
      const reader = Effect.gen(function* () {
        const seen: Array<string> = []
        for (let page = 1; page <= 6; page++) {
          const { items } = yield* repo.page(pageRequest({ page }))
          seen.push(...items.map(({ id }) => id))
        }
        return seen
      })
      const [, seen] = yield* Effect.all([writer, reader], { concurrency: 2 })
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 60 }, (_, n) => `r${n}`)
      )
    })
  )

  it.effect("a deep page reads no row of the pages before it", () =>
    Effect.gen(function* () {
      yield* clear
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        SELECT 'r' || n, repeat('x', 200), 'evm', 'n' || n, 'a', false, 's1' FROM generate_series(1, 20000) n`
      yield* sql`VACUUM ANALYZE relayers`
      const plan = yield* sql<{ "QUERY PLAN": string }>`
        EXPLAIN SELECT seq FROM relayers ORDER BY seq LIMIT 10 OFFSET 19000`
      assert.include(plan.map((row) => row["QUERY PLAN"]).join("\n"), "Index Only Scan using relayers_seq_key")
      const repo = yield* RelayersRepo
      const { items, total } = yield* repo.page(pageRequest({ page: 1901 }))
      assert.strictEqual(total, 20000)
      assert.strictEqual(items[0]?.id, "r19001")
    })
  )
})
