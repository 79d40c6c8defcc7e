// The sources of settings, and the errors about invalid settings. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

interface Sources {
  readonly flags?: ReadonlyArray<string>
  readonly env?: Record<string, string>
  readonly dotEnv?: string
}

/** The burst limit of a service with these sources. */
const burst = Effect.fnUntraced(function* (database: string, { flags = [], env, dotEnv }: Sources) {
  const home = yield* folder
  if (dotEnv !== undefined) yield* Effect.promise(() => fs.writeFile(path.join(home, ".env"), dotEnv))
  const service = yield* Service.listen({
    folder: home,
    flags,
    env: { ...Service.onServer(inject("postgres"), database), ...env }
  })
  const { headers } = yield* service.call("/api/v1/signers")
  return /^"default";q=(\d+)/.exec(headers.get("ratelimit-policy") ?? "")?.[1]
}, Effect.scoped)

describe.concurrent("settings", () => {
  it.live("come from flags, then the environment, then .env, then defaults; an empty value counts as unset", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      const dotEnv = "# ours\nRATE_LIMIT_BURST_SIZE=11\n"
      const sources: ReadonlyArray<Sources> = [
        {},
        { dotEnv, env: { RATE_LIMIT_BURST_SIZE: "" } },
        { dotEnv, env: { RATE_LIMIT_BURST_SIZE: "12" } },
        { dotEnv, env: { RATE_LIMIT_BURST_SIZE: "12" }, flags: ["--rate-limit-burst-size", "13"] }
      ]
      const bursts = yield* Effect.forEach(sources, (given) => burst(database, given), { concurrency: 2 })
      assert.deepStrictEqual(bursts, ["300", "11", "12", "13"])
    })
  )

  it.live("that are invalid are all reported with name, form and example, and without secrets", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const ended = yield* Service.run({
        folder: home,
        env: {
          PORT: "abc",
          API_KEY: "short-secret",
          LOG_LEVEL: "loud",
          DATABASE_URL: "mysql://root:database-secret@db/x",
          REDIS_URL: "http://:redis-secret@redis",
          RATE_LIMIT_BURST_SIZE: "-1",
          PKCS11_MODULES: "hsm=relative.so",
          CORS_ORIGINS: "https://console.example.com/path",
          TRUSTED_PROXIES: "10.0.0.0/8, 10.1.2.3/16"
        }
      })
      assert.strictEqual(ended.code, 1)
      const [first, ...lines] = ended.stderr.trimEnd().split("\n")
      assert.strictEqual(first, "effect-relayer: the configuration is invalid:")
      const forms = {
        PORT: "an integer from 0 to 65535",
        API_KEY: "at least 32 characters",
        LOG_LEVEL: '"info"',
        DATABASE_URL: "postgres://",
        STORAGE_ENCRYPTION_KEY: "is required with DATABASE_URL",
        REDIS_URL: "redis://",
        RATE_LIMIT_BURST_SIZE: "an integer from 1 to",
        PKCS11_MODULES: "names with absolute paths, such as hsm=",
        CORS_ORIGINS: "origins such as https://console.example.com",
        TRUSTED_PROXIES: 'entry "10.1.2.3/16" is not an IP address or a range'
      }
      assert.lengthOf(lines, Object.keys(forms).length)
      for (const [name, form] of Object.entries(forms)) {
        const line = lines.find((line) => line.startsWith(`  ${name}: `)) ?? assert.fail(`${name} is not documented`)
        assert.include(line, form)
        assert.match(line, /\(for example .+\)$/)
      }
      assert.notMatch(ended.stderr + ended.stdout, /secret|abc|loud|mysql/)
      assert.isEmpty(yield* Effect.promise(() => fs.readdir(home)))
    })
  )

  it.live("are named by the error about a URL that OUTBOUND_ALLOW does not contain", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Service.listen({
        folder: home,
        env: Service.onServer(inject("postgres"), yield* TestDatabase.make)
      })
      const refused = yield* service.call("/api/v1/notifications", { body: { url: "http://127.0.0.1:1/hook" } })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "url: points to a loopback address: add its host to OUTBOUND_ALLOW to allow it")
    })
  )

  it.live("have flags, except secrets, and an unknown flag is refused", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const ended = yield* Service.run({ folder: home, flags: ["--api-key", "x"] })
      assert.strictEqual(ended.code, 1)
      assert.include(ended.stderr, "--api-key")
      const help = yield* Service.run({ folder: home, flags: ["serve", "--help"] })
      assert.strictEqual(help.code, 0)
      assert.include(help.stdout, "--data-dir")
      assert.notInclude(help.stdout, "--api-key")
    })
  )
})
