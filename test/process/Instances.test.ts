// Several instances on one machine that share a database. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

const listenTwice = (options: Service.Options) =>
  Effect.all([Service.listen(options), Service.listen(options)], { concurrency: "unbounded" })

const createSigner = (instance: Service.Listening, id: string) =>
  instance.call("/api/v1/signers", { body: { id, type: "plain" } })

const readyStatus = (instance: Service.Listening) => Effect.map(instance.call("/api/v1/ready"), ({ status }) => status)

const untilReady = (instance: Service.Listening, expected: number) =>
  until(
    `readiness ${expected}`,
    Effect.map(readyStatus(instance), (status) => (status === expected ? true : undefined))
  )

/** The settings of a second instance, as an operator reads them from the output and the data directory of the first. */
const settingsOfSecond = Effect.fnUntraced(function* (first: Service.Listening, dataDir: string) {
  const url = /^ {2}DATABASE_URL for another instance on this machine: (\S+)$/m.exec(first.stdout())?.[1]
  const read = (name: string) =>
    Effect.promise(async () => (await fs.readFile(path.join(dataDir, name), "utf8")).trim())
  return {
    DATABASE_URL: url ?? assert.fail("the first instance printed no URL"),
    STORAGE_ENCRYPTION_KEY: yield* read("storage-encryption-key"),
    API_KEY: yield* read("api-key")
  }
})

describe.concurrent("two instances on one DATABASE_URL", () => {
  it.live("without API_KEY have one administrator's key, that of the first", () =>
    Effect.gen(function* () {
      const { API_KEY: _, ...env } = Service.onServer(server, yield* TestDatabase.make)
      const keyOf = (home: string) =>
        Effect.promise(async () => (await fs.readFile(path.join(home, "data", "api-key"), "utf8")).trim())
      const homes = [yield* folder, yield* folder] as const
      const one = yield* Service.listen({ folder: homes[0], env })
      const two = yield* Service.listen({ folder: homes[1], env })
      const key = yield* keyOf(homes[0])
      assert.strictEqual(yield* keyOf(homes[1]), key)
      for (const instance of [one, two]) {
        assert.strictEqual((yield* instance.call("/api/v1/signers", { key })).status, 200)
      }
    })
  )

  it.live("see each other's writes, and exactly one of two equal creates succeeds", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const [one, two] = yield* listenTwice({ folder: home, env: Service.onServer(server, yield* TestDatabase.make) })
      const created = yield* createSigner(one, "shared")
      assert.strictEqual(created.status, 201)
      assert.strictEqual((yield* two.call("/api/v1/signers/shared")).text, created.text)

      for (let count = 0; count < 10; count++) {
        const answers = yield* Effect.all(
          [createSigner(one, `contested-${count}`), createSigner(two, `contested-${count}`)],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, 409])
      }

      assert.deepStrictEqual(yield* Service.stop(one), { code: 0, signal: null })
      assert.strictEqual(yield* readyStatus(two), 200)
      assert.isEmpty(yield* Effect.promise(() => fs.readdir(home)))
    })
  )

  it.live("can both be the first to open an empty database", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const database = yield* TestDatabase.makeEmpty
      const [one, two] = yield* listenTwice({ folder: home, env: Service.onServer(server, database) })
      assert.strictEqual((yield* createSigner(one, "s")).status, 201)
      assert.strictEqual((yield* two.call("/api/v1/signers/s")).status, 200)
    })
  )
})

describe("a second instance on the embedded database of the first", () => {
  it.live(
    "shares everything with it, loses its database when the first stops, and recovers when the first is back",
    () =>
      Effect.gen(function* () {
        const [home, elsewhere] = [yield* folder, yield* folder]
        const first = yield* Service.listen({ folder: home, env: {} })
        const settings = yield* settingsOfSecond(first, path.join(home, "data"))
        const key = settings.API_KEY
        const second = yield* Service.listen({ folder: elsewhere, env: settings })
        assert.notInclude(second.stdout(), "DATABASE_URL")
        assert.isEmpty(yield* Effect.promise(() => fs.readdir(elsewhere)))

        const body = { id: "shared", type: "plain" }
        assert.strictEqual((yield* second.call("/api/v1/signers", { key, body })).status, 201)
        const verify = { key, method: "POST" }
        assert.strictEqual((yield* first.call("/api/v1/signers/shared/verify", verify)).status, 200)

        assert.deepStrictEqual(yield* Service.stop(first), { code: 0, signal: null })
        yield* untilReady(second, 503)
        const away = yield* second.call("/api/v1/signers/shared", { key })
        assert.strictEqual(away.status, 503)
        assert.match(away.headers.get("retry-after") ?? "", /^\d+$/)
        assert.strictEqual((yield* second.call("/v1/health")).status, 200)

        yield* Service.listen({ folder: home, env: {} })
        yield* untilReady(second, 200)
        assert.strictEqual((yield* second.call("/api/v1/signers/shared", { key })).status, 200)
        assert.deepStrictEqual(yield* Service.stop(second), { code: 0, signal: null })
      })
  )
})
