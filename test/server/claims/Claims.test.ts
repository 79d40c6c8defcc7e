// Claims of names: who gets a name, who keeps it, and who can make its claim final.
import { assert, describe } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CurrentCaller } from "../../../src/domain/access/Caller.ts"
import type { Claim } from "../../../src/domain/claim/Claim.ts"
import { ClaimName, ClaimRequest } from "../../../src/domain/claim/Claim.ts"
import { Claims } from "../../../src/server/claims/Claims.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Instances, layer as twoInstances } from "../Instances.ts"
import { makeKey, prepare } from "../transactions/Fixtures.ts"

type Shown = (typeof Claim)["Encoded"]

const path = "/api/v1/claims"
const name = "x402-1"

const post = (body: object, key?: string) =>
  TestApi.call(path, { body: { name, ...body }, ...(key === undefined ? {} : { key }) })

const remove = (by: string, key?: string) =>
  TestApi.call(`${path}/${name}?by=${by}`, { method: "DELETE", ...(key === undefined ? {} : { key }) })

const pass = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE claims SET ends_at = clock_timestamp() - interval '1 second'`
)

const claimOf = ({ json }: TestApi.Answer) => json.data as Shown

const refusalOf = ({ status, json }: TestApi.Answer) => [status, json.message]

layerEach(TestApi.layer())("a claim of a name", (it) => {
  it.effect("belongs to the first holder, who extends, releases and takes it again", () =>
    Effect.gen(function* () {
      const first = yield* post({ by: "a", seconds: 15 })
      assert.strictEqual(first.status, 200, first.text)
      assert.deepInclude(claimOf(first), { name, by: "a", final: false })
      assert.strictEqual((yield* post({ by: "a", seconds: 15, final: false })).status, 200, "false is as absent")
      assert.deepStrictEqual(refusalOf(yield* post({ by: "b", seconds: 15 })), [409, "Name is claimed"])
      assert.deepStrictEqual(refusalOf(yield* remove("b")), [409, "Name is claimed"])
      const extended = claimOf(yield* post({ by: "a", seconds: 60 }))
      assert.strictEqual(extended.claimed_at, claimOf(first).claimed_at)
      assert.isAbove(Date.parse(extended.ends_at) - Date.parse(claimOf(first).ends_at), 40_000)
      assert.deepStrictEqual(claimOf(yield* TestApi.call(`${path}/${name}`)), extended)
      assert.strictEqual((yield* remove("a")).status, 200)
      assert.deepStrictEqual(refusalOf(yield* remove("a")), [404, "Claim not found"])
      assert.deepStrictEqual(refusalOf(yield* TestApi.call(`${path}/${name}`)), [404, "Claim not found"])
      assert.strictEqual((yield* post({ by: "b", seconds: 15 })).status, 200)
    })
  )

  it.effect("is free for others when its lease has ended, and its former holder makes nothing final", () =>
    Effect.gen(function* () {
      yield* post({ by: "a", seconds: 15 })
      yield* pass
      assert.strictEqual((yield* TestApi.call(`${path}/${name}`)).status, 404)
      assert.deepStrictEqual(refusalOf(yield* post({ by: "a", final: true })), [409, "Claim has lapsed"])
      assert.strictEqual((yield* post({ by: "b", seconds: 15 })).status, 200)
      assert.deepStrictEqual(refusalOf(yield* post({ by: "a", final: true })), [409, "Name is claimed"])
      assert.deepStrictEqual(refusalOf(yield* remove("a")), [409, "Name is claimed"])
      assert.strictEqual((yield* post({ by: "b", final: true })).status, 200)
    })
  )

  it.effect("is made final once, by its holder, and then nobody has or releases the name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(refusalOf(yield* post({ by: "a", final: true })), [409, "Claim has lapsed"])
      yield* post({ by: "a", seconds: 15 })
      const final = yield* post({ by: "a", final: true })
      assert.deepInclude(claimOf(final), { by: "a", final: true })
      assert.deepStrictEqual(claimOf(yield* post({ by: "a", final: true })), claimOf(final), "a repetition")
      for (const by of ["a", "b"]) {
        assert.deepStrictEqual(refusalOf(yield* post({ by, seconds: 15 })), [409, "Claim is final"])
        assert.deepStrictEqual(refusalOf(yield* remove(by)), [409, "Claim is final"])
      }
      assert.deepStrictEqual(refusalOf(yield* post({ by: "b", final: true })), [409, "Claim is final"])
      const { json } = yield* TestApi.call("/api/v1/audit?action=claim.finalized")
      assert.lengthOf(json.data as ReadonlyArray<unknown>, 1)
      // Transactions of other tests on the same server hold events back for a moment.
      const published = Effect.map(
        TestApi.call("/api/v1/events?type=claim.finalized"),
        ({ json }) => json.data as ReadonlyArray<{ readonly data: object }>
      )
      const [event, ...others] = yield* Effect.repeat(published, { until: (found) => found.length > 0 })
      assert.deepStrictEqual([Object.keys(event?.data ?? {}), others], [["name", "claimed_at", "ends_at"], []])
    })
  )

  it.effect("excludes other API keys, which neither read its holder nor act for it", () =>
    Effect.gen(function* () {
      const [own, other] = [yield* makeKey(["claims:*"]), yield* makeKey(["claims:*"])]
      yield* post({ by: "secret", seconds: 15 }, own)
      assert.deepInclude(claimOf(yield* TestApi.call(`${path}/${name}`, { key: own })), { by: "secret" })
      for (const key of [other, TestApi.apiKey]) {
        assert.notProperty(claimOf(yield* TestApi.call(`${path}/${name}`, { key })), "by")
        for (const body of [{ seconds: 15 }, { final: true }]) {
          assert.deepStrictEqual(refusalOf(yield* post({ by: "secret", ...body }, key)), [409, "Name is claimed"])
        }
        assert.deepStrictEqual(refusalOf(yield* remove("secret", key)), [409, "Name is claimed"])
      }
      assert.strictEqual((yield* post({ by: "secret", final: true }, own)).status, 200)
      assert.notProperty(claimOf(yield* TestApi.call(`${path}/${name}`, { key: other })), "by")
    })
  )

  it.effect("needs the scope of reading or writing, which a key of some relayers may have", () =>
    Effect.gen(function* () {
      const reader = yield* makeKey(["claims:read"])
      assert.strictEqual((yield* post({ by: "a", seconds: 15 }, reader)).status, 403)
      assert.strictEqual((yield* remove("a", reader)).status, 403)
      const writer = yield* makeKey(["claims:write"])
      assert.strictEqual((yield* TestApi.call(`${path}/${name}`, { key: writer })).status, 403)
      yield* prepare()
      const narrow = yield* makeKey(["claims:*"], { relayer_ids: ["sender"] })
      assert.strictEqual((yield* post({ by: "a", seconds: 15 }, narrow)).status, 200)
    })
  )

  it.effect("names each invalid field, and claims nothing", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [object, string]> = [
        [{ by: "a" }, "seconds: give either seconds or final, and not both"],
        [{ by: "a", seconds: 15, final: true }, "seconds: give either seconds or final, and not both"],
        [{ by: "a", seconds: 0 }, "seconds: "],
        [{ by: "a", seconds: 3601 }, "seconds: "],
        [{ by: "a", seconds: 1.5 }, "seconds: "],
        [{ by: "a", final: false }, "seconds: give either seconds or final, and not both"],
        [{ by: "a", final: "yes" }, "final: "],
        [{ by: "", seconds: 15 }, "by: "],
        [{ by: "b".repeat(129), seconds: 15 }, "by: "],
        [{ seconds: 15 }, "by: is required"],
        [{ by: "a", seconds: 15, name: ".." }, "name: "],
        [{ by: "a", seconds: 15, name: "a/b" }, "name: "],
        [{ by: "a", seconds: 15, name: "a".repeat(129) }, "name: "],
        [{ by: "a", seconds: 15, more: 1 }, "more: "]
      ]
      for (const [body, error] of cases) {
        const refused = yield* post(body)
        assert.strictEqual(refused.status, 400, JSON.stringify(body))
        assert.isTrue(refused.json.error?.startsWith(error), refused.json.error)
      }
      const unnamed = yield* TestApi.call(`${path}/${name}`, { method: "DELETE" })
      assert.deepStrictEqual([unnamed.status, unnamed.json.error], [400, "by: is required"])
      assert.strictEqual((yield* TestApi.call(`${path}/${name}`)).status, 404)
    })
  )

  it.effect("is deleted when it has ended, and not before", () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      yield* post({ by: "a", seconds: 15 })
      yield* post({ by: "a", final: true })
      yield* TestApi.call(path, { body: { name: "other", by: "a", seconds: 15 } })
      assert.strictEqual(yield* claims.prune(10), 0)
      yield* pass
      assert.strictEqual(yield* claims.prune(1), 1)
      assert.strictEqual(yield* claims.prune(10), 1)
      assert.strictEqual((yield* post({ by: "b", seconds: 15 })).status, 200, "after its retention, the name is free")
    })
  )
})

describe("claims of two instances", () => {
  layerEach(twoInstances)("of one name at once", (it) => {
    const request = (by: string, what: object) => ClaimRequest.make({ name: ClaimName.make("once"), by, ...what })

    it.effect("are won by one holder, and made final by one holder", () =>
      Effect.gen(function* () {
        const instances = yield* Instances
        const claims = instances.map((instance) => Context.get(instance, Claims))
        const sql = yield* SqlClient.SqlClient
        for (let round = 0; round < 10; round++) {
          yield* sql`DELETE FROM claims`
          const takers = Array.from({ length: 5 }, (_, index) =>
            claims.map((on, instance) => ({ by: `${instance}-${index}`, on }))
          ).flat()
          const takeAll = (what: object) =>
            Effect.forEach(
              takers,
              ({ by, on }) =>
                Effect.isSuccess(on.take(request(by, what))).pipe(
                  Effect.provideService(CurrentCaller, { id: "facilitator" })
                ),
              { concurrency: "unbounded" }
            )
          const leased = yield* takeAll({ seconds: 60 })
          assert.lengthOf(leased.filter(Boolean), 1)
          const finished = yield* takeAll({ final: true })
          assert.deepStrictEqual(finished, leased)
          yield* pass
          yield* sql`UPDATE claims SET is_final = false`
          const renewed = yield* takeAll({ seconds: 60 })
          assert.lengthOf(renewed.filter(Boolean), 1, "of those that take over a lapsed lease, one gets it")
        }
      })
    )
  })
})
