// The sources of settings, and the errors about invalid settings. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { ran, serving } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

describe.concurrent("settings", () => {
  it.live("come from flags, then the environment, then .env, then defaults; an empty value counts as unset", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const dotEnv = [
        "# ours",
        "RATE_LIMIT_BURST_SIZE=11",
        "MAX_BODY_BYTES=5000",
        "RATE_LIMIT_REQUESTS_PER_SECOND=2",
        ""
      ]
      yield* Effect.promise(() => fs.writeFile(path.join(home, ".env"), dotEnv.join("\n")))
      const service = yield* Service.listen({
        folder: home,
        flags: ["--rate-limit-burst-size", "13"],
        env: {
          ...Service.onServer(inject("postgres"), yield* TestDatabase.make),
          RATE_LIMIT_BURST_SIZE: "12",
          MAX_BODY_BYTES: "1000",
          RATE_LIMIT_REQUESTS_PER_SECOND: "",
          DOCS: ""
        }
      })
      const { headers } = yield* service.call("/api/v1/signers")
      const [, burst, seconds] = /^"default";q=(\d+);w=(\d+)/.exec(headers.get("ratelimit-policy") ?? "") ?? []
      assert.strictEqual(burst, "13", "the flag")
      const large = { id: "x".repeat(1500), type: "plain" }
      assert.strictEqual((yield* service.call("/api/v1/signers", { body: large })).status, 413, "the environment")
      assert.strictEqual(seconds, "7", ".env: 13 requests at 2 per second")
      assert.strictEqual((yield* service.call("/docs")).status, 200, "the default")
    })
  )

  it.live("that are invalid are all reported with name, form and example, and without secrets", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const ended = yield* ran({
        folder: home,
        flags: ["serve"],
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
      const service = yield* serving(home, Service.onServer(inject("postgres"), yield* TestDatabase.make))
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
      const help = yield* ran({ folder: home, flags: ["serve", "--help"] })
      assert.strictEqual(help.code, 0)
      assert.include(help.stdout, "--data-dir")
      assert.notInclude(help.stdout, "--api-key")
    })
  )
})
