// Several services on one PostgreSQL that is not theirs.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

const listenTwice = (options: Service.Options) =>
  Effect.all([Service.listen(options), Service.listen(options)], { concurrency: "unbounded" })

describe.concurrent("two services on one DATABASE_URL", () => {
  it.live("see each other's writes, and one of two equal creates wins", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const [one, two] = yield* listenTwice({ folder: home, env: Service.onServer(server, yield* TestDatabase.make) })
      const created = yield* one.call("/api/v1/signers", { body: { id: "shared", type: "plain" } })
      assert.strictEqual(created.status, 201)
      assert.strictEqual((yield* two.call("/api/v1/signers/shared")).text, created.text)

      for (let count = 0; count < 10; count++) {
        const body = { id: `contested-${count}`, type: "plain" }
        const answers = yield* Effect.all(
          [one.call("/api/v1/signers", { body }), two.call("/api/v1/signers", { body })],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, 409])
      }

      assert.deepStrictEqual(yield* Service.stop(one), { code: 0, signal: null })
      assert.strictEqual((yield* two.call("/api/v1/ready")).status, 200)
      assert.isEmpty(yield* Effect.promise(() => fs.readdir(home)))
    })
  )

  it.live("may both be the first to see an empty database", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const database = yield* TestDatabase.makeEmpty
      const [one, two] = yield* listenTwice({ folder: home, env: Service.onServer(server, database) })
      assert.strictEqual((yield* one.call("/api/v1/signers", { body: { id: "s", type: "plain" } })).status, 201)
      assert.strictEqual((yield* two.call("/api/v1/signers/s")).status, 200)
    })
  )
})
