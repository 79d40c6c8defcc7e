// The commands except `serve`, run as processes against a running service. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { promisify } from "node:util"
import { Api } from "../../src/api/Api.ts"
import { migrations } from "../../src/sql/migrations/index.ts"
import { notification, relayers, signer } from "../../testkit/fixtures.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { ran, running } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

/** A proxy that forwards requests and drops the first response to a POST after the service has handled the request. */
const losingTheFirstPost = Effect.fnUntraced(function* (target: string) {
  const seen: Array<string> = []
  const forward = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const body = await request.toArray()
    const { method, url, headers } = request
    const { host: _, connection: __, "content-length": ___, ...rest } = headers
    const answer = await fetch(`${target}${url}`, {
      ...(method === undefined ? {} : { method }),
      headers: Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
      ...(method === "POST" ? { body: Buffer.concat(body) } : {})
    })
    if (method === "POST") seen.push(String(headers["idempotency-key"]))
    if (method === "POST" && seen.length === 1) response.destroy()
    else response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  }
  const made = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const made = http.createServer((request, response) => void forward(request, response))
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.callback<void>((resume) => void made.close(() => resume(Effect.void)))
  )
  return { url: `http://127.0.0.1:${(made.address() as AddressInfo).port}`, seen }
})

const json = (text: string): unknown => JSON.parse(text)

describe("the command line", () => {
  it.live("creates, changes and deletes, and prints the data of the responses with every digit", () =>
    Effect.gen(function* () {
      const { service, call, output, write } = yield* running()
      const key = yield* write("hot.key", `${"1".repeat(64)}\n`)
      const created = yield* output(
        "signers",
        "create",
        "--id",
        "signer-1",
        "--type",
        "plain",
        "--private-key-file",
        key
      )
      // The address of the key 0x11…11.
      assert.include(created, "addresses.evm      0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a")
      yield* service.call("/api/v1/notifications", { body: notification })
      const data = yield* write("relayer.json", JSON.stringify(relayers[0]))
      const made = yield* output("relayers", "create", "--data", `@${data}`, "--name", "By flag", "-o", "json")
      const { text } = yield* service.call("/api/v1/relayers/relayer-1")
      assert.include(made, '"min_balance": 340282366920938463463374607431768211455,\n')
      assert.deepInclude(json(made), { id: "relayer-1", name: "By flag" })
      assert.deepStrictEqual({ data: json(made), success: true }, json(text))

      const env = { API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl }
      const piped = yield* Effect.promise(() => {
        const flags = ["relayers", "update", "relayer-1", "--data", "@-", "-o", "json"]
        const update = promisify(execFile)(process.execPath, [Service.main, ...flags], { env })
        update.child.stdin?.end('{"name": "By pipe"}')
        return update
      })
      assert.deepInclude(json(piped.stdout), { name: "By pipe" })
      const shown = yield* output("relayers", "get", "relayer-1")
      const tag = /^\(etag\) +"(\d+\.2)"$/m.exec(shown)?.[1] ?? assert.fail(shown)
      const paused = yield* output("relayers", "pause", "relayer-1", "--if-match", tag)
      assert.match(paused, /^paused +true\n(?:.*\n)*\(etag\) +"\d+\.3"\n$/m)
      const late = yield* call(["relayers", "resume", "relayer-1", "--if-match", tag])
      assert.strictEqual(late.code, 1)
      assert.match(late.stderr, /^effect-relayer: Precondition Failed \(x-request-id [0-9a-f-]{36}\)\n$/)
      const inUse = yield* call(["signers", "delete", "signer-1", "--yes"])
      assert.strictEqual(inUse.code, 1)
      assert.include(inUse.stderr, "effect-relayer: Signer is in use: used by relayers: relayer-1")
      const unasked = yield* call(["relayers", "delete", "relayer-1"])
      assert.strictEqual(unasked.code, 2)
      assert.strictEqual(
        unasked.stderr,
        "effect-relayer: this would delete the relayer relayer-1: add --yes to do it without a question\n"
      )
      assert.strictEqual((yield* service.call("/api/v1/relayers/relayer-1")).status, 200)
      assert.strictEqual(yield* output("relayers", "delete", "relayer-1", "--yes"), "Relayer deleted successfully\n")
    })
  )

  it.live("prints one page as a table, and all pages with cursors or page numbers", () =>
    Effect.gen(function* () {
      const { service, call, output } = yield* running()
      yield* service.call("/api/v1/notifications", { body: notification })
      for (const id of [signer.id, "signer-2", "signer-3"]) {
        yield* service.call("/api/v1/signers", { body: { ...signer, id } })
      }
      for (const body of relayers) yield* service.call("/api/v1/relayers", { body })
      const page = yield* call(["relayers", "list", "--per-page", "1", "--sort=-name", "--no-paused"])
      const [head, row, ...rest] = page.stdout.trimEnd().split("\n")
      assert.match(head ?? "", /^ID +NAME +NETWORK +SIGNER +STATE +ADDRESS$/)
      assert.match(row ?? "", /^relayer-3 +Stellar +stellar:testnet +signer-1 +active +G[A-Z2-7]{55}$/)
      assert.isEmpty(rest)
      assert.include(page.stderr, "--all")
      const { text } = yield* service.call("/api/v1/relayers")
      const all = yield* output("relayers", "list", "--all", "--per-page", "1", "--output", "json")
      assert.lengthOf(json(all) as ReadonlyArray<unknown>, relayers.length)
      assert.deepInclude(json(text), { data: json(all) })
      const signers = yield* output("signers", "list", "--all", "--per-page", "2")
      assert.deepStrictEqual(signers.match(/^signer-\d/gm), ["signer-1", "signer-2", "signer-3"])
    })
  )

  it.live("creates keys with scopes, and reports failures with exit codes", () =>
    Effect.gen(function* () {
      const { service, call, output, write } = yield* running()
      const arguments_ = ["keys", "create", "--name", "ci", "--scope", "signers:read", "--expires-in", "1h", "--quiet"]
      const key = (yield* output(...arguments_)).trimEnd()
      assert.strictEqual((yield* service.call("/api/v1/signers", { key })).status, 200)
      const file = yield* write("ci.key", `${key}\n`)
      assert.strictEqual((yield* call(["signers", "list", "--key-file", file], { API_KEY: "x".repeat(40) })).code, 0)

      const ends: ReadonlyArray<readonly [number, string, ReadonlyArray<string>, Record<string, string>?]> = [
        [4, "Forbidden", ["relayers", "list"], { API_KEY: key }],
        [
          4,
          "Unauthorized: the API key is unknown, expired or revoked; the API key is from API_KEY (",
          ["relayers", "list"],
          { API_KEY: "x".repeat(40) }
        ],
        [1, "Relayer not found; the request was for /api/v1/relayers/nobody (", ["relayers", "get", "nobody"]],
        [
          1,
          "network: no evm network of this name; did you mean sepolia?",
          ["relayers", "create", "--network-type", "evm", "--network", "seploia", "--signer-id", "s", "--name", "r"]
        ],
        [2, "There is no file ", ["restore", "--replace", "/nowhere/backup"]],
        [
          2,
          "signing_key is a secret, and other users can read the command line: use --data @file or --signing-key-file",
          ["notifications", "create", "--data", '{"id": "n", "signing_key": "s"}']
        ],
        [
          2,
          "it is a secret, and other users can read the command line; use --signing-key-file FILE",
          ["notifications", "create", "--id", "n", "--url", "https://example.com", "--signing-key", "s".repeat(40)]
        ],
        [
          1,
          "Bad Request: signer_id: no signer with this id",
          [
            "relayers",
            "create",
            "--data",
            `@${yield* write("relayer.json", JSON.stringify({ ...relayers[0], notification_id: undefined }))}`
          ]
        ],
        [2, "Unknown subcommand", ["relayer", "list"]],
        [2, "id: Expected 1 to 36 letters", ["signers", "create", "--type", "plain", "--id", "a b"]],
        [2, "there is no API key", ["relayers", "list"], { API_KEY: "" }],
        [
          3,
          "cannot reach http://127.0.0.1:9: bad port; --server or RELAYER_URL names the address of the service",
          ["relayers", "list"],
          { RELAYER_URL: "http://127.0.0.1:9" }
        ]
      ]
      for (const [code, line, flags, env] of ends) {
        const ended = yield* call(flags, env)
        assert.strictEqual(ended.code, code, ended.stderr)
        assert.include(ended.stderr, line)
        assert.match(ended.stderr, /^effect-relayer: [^\n]+\n$/)
        assert.strictEqual(ended.stdout, "")
        assert.notMatch(ended.stderr, /er_key|x{40}|s{40}/)
      }
    })
  )

  it.live("names the key of dev if there is no other one", () =>
    Effect.gen(function* () {
      const { call } = yield* running()
      const home = yield* folder
      yield* Effect.promise(() => fs.mkdir(path.join(home, "dev")))
      const key = path.join(home, "dev", "api-key")
      yield* Effect.promise(() => fs.writeFile(key, "k".repeat(40)))
      const ended = yield* call(["relayers", "list"], { API_KEY: "", DATA_DIR: home })
      assert.strictEqual(
        ended.stderr,
        `effect-relayer: there is no API key: set API_KEY, or use --key-file, such as --key-file ${key} for effect-relayer dev (${path.join(home, "api-key")} does not exist)\n`
      )
    })
  )

  it.live("sends a create without a response again, which takes effect once", () =>
    Effect.gen(function* () {
      const { service, call, output } = yield* running()
      const proxy = yield* losingTheFirstPost(service.baseUrl)
      const made = yield* call(["signers", "create", "--type", "plain", "-o", "json"], { RELAYER_URL: proxy.url })
      assert.strictEqual(made.code, 0, made.stderr)
      assert.lengthOf(proxy.seen, 2)
      assert.match(proxy.seen[0] ?? "", /^[0-9a-f-]{36}$/)
      assert.strictEqual(proxy.seen[0], proxy.seen[1])
      assert.deepStrictEqual(json(yield* output("signers", "list", "-o", "json")), [json(made.stdout)])
    })
  )

  it.live("verifies the audit log against an earlier head", () =>
    Effect.gen(function* () {
      const { service, call, output } = yield* running()
      yield* service.call("/api/v1/signers", { body: signer })
      const head = /^head +(1:[0-9a-f]{64})$/m.exec(yield* output("audit", "verify"))?.[1] ?? assert.fail("no head")
      yield* output("audit", "verify", "--head", head)
      const other = yield* call(["audit", "verify", "--head", `1:${"0".repeat(64)}`])
      assert.strictEqual(other.code, 1)
      assert.strictEqual(other.stderr, "effect-relayer: the audit log is broken at record 1\n")
      assert.match(yield* output("audit", "list"), /^1 .* signer\.created +signer-1 /m)
    })
  )
})

describe("without a service", () => {
  it.live("config check prints every setting with its source, or every problem, and creates nothing", () =>
    Effect.gen(function* () {
      const home = yield* folder
      yield* Effect.promise(() => fs.writeFile(path.join(home, ".env"), "RATE_LIMIT_BURST_SIZE=11\n"))
      const env = { API_KEY: "config-secret-".repeat(3), OTEL_EXPORTER_OTLP_ENDPOINT: "http://u:otel-secret@collector" }
      const fits = yield* ran({ folder: home, flags: ["config", "check", "--host", "::1"], env })
      assert.strictEqual(fits.code, 0, fits.stderr)
      assert.match(fits.stdout, /^HOST +::1 +flag$/m)
      assert.match(fits.stdout, /^API_KEY +\(secret\) +environment$/m)
      assert.match(fits.stdout, /^RATE_LIMIT_BURST_SIZE +11 +\.env$/m)
      assert.match(fits.stdout, /^MAX_BODY_BYTES +1048576 +default$/m)
      assert.match(fits.stdout, /\nthe configuration is valid\n$/)
      assert.notMatch(fits.stdout, /config-secret|otel-secret/)
      const misspelled = yield* ran({ folder: home, flags: ["config", "check"], env: { DATABSE_URL: "x" } })
      assert.include(misspelled.stdout, "warning: DATABSE_URL is not a setting: did you mean DATABASE_URL?")
      const wrong = yield* ran({
        folder: home,
        flags: ["config", "check", "--port", "abc"],
        env: { LOG_LEVEL: "loud" }
      })
      assert.strictEqual(wrong.code, 2)
      assert.match(wrong.stderr, /^ {2}PORT: .*\n {2}LOG_LEVEL: /m)
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(home)), [".env"])
    })
  )

  it.live("migrate brings a database up to date without a key and prints what it applied", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const database = yield* TestDatabase.makeEmpty
      const migrate = (name: string) => {
        const { DATABASE_URL = "" } = Service.onServer(server, name)
        return ran({ folder: home, flags: ["migrate"], env: { DATABASE_URL, PORT: "wrong, which does not matter" } })
      }
      const names = Object.keys(migrations).map((name) => `applied ${name}`)
      const done = "the database is up to date"
      assert.strictEqual((yield* migrate(database)).stdout, [...names, done, ""].join("\n"))
      assert.strictEqual((yield* migrate(database)).stdout, `${done}\n`)
      const away = yield* migrate("no_such_database")
      assert.strictEqual(away.code, 1)
      assert.include(away.stderr, "no_such_database")
    })
  )

  it.live("openapi prints the contract, help has examples, and completion knows subcommands", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const output = (...flags: ReadonlyArray<string>) =>
        Effect.map(ran({ folder: home, flags }), ({ stdout }) => stdout)
      assert.deepStrictEqual(json(yield* output("openapi")), json(JSON.stringify(OpenApi.fromApi(Api))))
      const help = yield* output("keys", "create", "--help")
      assert.match(help, /^EXAMPLES\n {2}effect-relayer keys create --name ci /m)
      const script = yield* output("--completions", "bash")
      assert.include(script, "_effect_relayer_relayers_list()")
      assert.match(script, /'relayer\.created'/)
    })
  )
})
