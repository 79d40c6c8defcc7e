// `effect-relayer apply` beside a running service: what it asks, what it writes, and what it never shows.
// Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { running } from "../../testkit/process/Commands.ts"

const signingKey = "0123456789abcdef0123456789abcdef"

const file = `version: 1
name: payments
signers:
  hot: {type: plain, config: {key: {generate: true}}}
notifications:
  ops: {url: https://hooks.example.com/relayer, signing_key: {env: RELAYER_SIGNING_KEY}}
networks:
  evm:nowhere: {from: sepolia, rpc_urls: [{url: "http://127.0.0.1:9/"}]}
relayers:
  treasury:
    name: Treasury
    network_type: evm
    network: nowhere
    signer_id: hot
    notification_id: ops
api_keys:
  dashboard: {name: Dashboard, scopes: ["relayers:read"]}
`

describe("apply", () => {
  it.live(
    "a saved plan is applied, and no other: a change by hand or of the file in between is refused and named",
    () =>
      Effect.gen(function* () {
        const { call, service, write } = yield* running({ WATCH: "off" })
        const document = (url: string) =>
          `version: 1\nname: payments\nnotifications:\n  ops: {url: "https://hooks.example.com/${url}"}\n`
        const run = (...flags: ReadonlyArray<string>) => call([...flags, "-f", "relayers.yaml"])
        const saved = Effect.fnUntraced(function* (url: string) {
          yield* write("relayers.yaml", document(url))
          return yield* run("plan", "--out", "plan.json")
        })
        const apply = run("apply", "--yes", "--plan", "plan.json")

        const planned = yield* saved("one")
        const [, short] = /unchanged {2}plan (\S+)/.exec(planned.stdout) ?? []
        const applied = yield* apply
        assert.strictEqual(applied.code, 0, applied.stderr)
        assert.include(applied.stdout, `plan ${short ?? "of no digest"}`)

        yield* saved("two")
        yield* service.call("/api/v1/notifications/ops", { method: "PATCH", body: { paused: true } })
        const outdated = yield* apply
        assert.strictEqual(outdated.code, 1)
        assert.match(
          outdated.stderr,
          /notifications\.ops: has changed since the plan, at \d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z by the administrator \(paused\)/
        )

        yield* saved("two")
        yield* write("relayers.yaml", document("three"))
        const other = yield* apply
        assert.strictEqual(other.code, 1)
        assert.include(other.stderr, "digest: is that of a plan of another document")
        const { text } = yield* service.call("/api/v1/notifications/ops")
        assert.include(text, "https://hooks.example.com/one")

        yield* write("plan.json", "{}")
        const noPlan = yield* apply
        assert.deepStrictEqual([noPlan.code, noPlan.stderr.includes("plan.json is not a plan")], [2, true])
      }).pipe(Effect.scoped)
  )

  it.live("an apply asks, writes new keys into a file alone, and has nothing to do the second time", () =>
    Effect.gen(function* () {
      const { call, home, service, write } = yield* running({ WATCH: "off", OUTBOUND_ALLOW: "127.0.0.1" })
      yield* write("relayers.yaml", file)
      const env = { RELAYER_SIGNING_KEY: signingKey }
      const run = (...flags: ReadonlyArray<string>) => call(["apply", "-f", "relayers.yaml", ...flags], env)

      const unasked = yield* run("--keys-out", "keys.json")
      assert.strictEqual(unasked.code, 2, unasked.stderr)
      assert.include(unasked.stdout, "payments: 5 to create")
      assert.include(unasked.stderr, "add --yes")
      const homeless = yield* run("--yes")
      assert.strictEqual(homeless.code, 2)
      assert.include(homeless.stderr, "dashboard")
      assert.include(homeless.stderr, "--keys-out")

      const first = yield* run("--yes", "--keys-out", "keys.json", "--revision", "abc", "--wait", "1s")
      assert.strictEqual(first.code, 0, first.stderr)
      assert.include(first.stdout, "applied 5 changes")
      assert.match(first.stdout, /relayers\.treasury: .*127\.0\.0\.1/)
      const keys = path.join(home, "keys.json")
      const { dashboard } = JSON.parse(yield* Effect.promise(() => fs.readFile(keys, "utf8"))) as { dashboard: string }
      assert.strictEqual((yield* Effect.promise(() => fs.stat(keys))).mode & 0o777, 0o600)
      assert.strictEqual((yield* service.call("/api/v1/relayers/treasury", { key: dashboard })).status, 200)
      const { text } = yield* service.call("/api/v1/configuration/payments")
      assert.deepInclude((JSON.parse(text) as { data: object }).data, {
        revision: "abc",
        objects: 5,
        applied_by: "administrator"
      })

      const second = yield* run("--yes")
      assert.deepStrictEqual([second.code, second.stdout.includes("nothing to do")], [0, true])
      const again = yield* run("--yes", "--output", "json")
      assert.deepStrictEqual((JSON.parse(again.stdout) as { changed: object }).changed, [])
      for (const { stdout, stderr } of [unasked, homeless, first, second, again]) {
        for (const secret of [dashboard, signingKey]) assert.notInclude(stdout + stderr, secret)
      }

      const exported = yield* call(["export", "--all", "--name", "first"])
      const [, schema = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(exported.stdout) ?? []
      assert.strictEqual(schema, `${service.baseUrl}/relayers.schema.json`)
      const { properties } = JSON.parse((yield* service.call("/relayers.schema.json")).text) as { properties: object }
      assert.containsAllKeys(properties, ["relayers", "signers", "api_keys"])
      assert.include(exported.stdout, "signing_key:\n      stored: true")
      yield* write("first.yaml", exported.stdout)
      const same = yield* call(["plan", "-f", "first.yaml", "--take-over", "--detailed-exitcode"])
      assert.strictEqual(same.code, 0, same.stdout + same.stderr)
      assert.include(same.stdout, "no changes")
      const moved = yield* call(["apply", "-f", "first.yaml", "--take-over", "--yes"])
      assert.strictEqual(moved.code, 0, moved.stderr)
      assert.match(moved.stdout, /^adopted 5 objects without changes$/m)

      yield* write("relayers.yaml", file.replace("dashboard:", "other:"))
      const taken = yield* run("--yes", "--take-over", "--keys-out", "keys.json")
      assert.strictEqual(taken.code, 2)
      assert.include(taken.stderr, "never overwritten")
    }).pipe(Effect.scoped)
  )
})
