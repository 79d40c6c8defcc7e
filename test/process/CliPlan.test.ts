// `effect-relayer plan` and `diff` beside a running service: exit codes, outputs, and what they never show.
// Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { running } from "../../testkit/process/Commands.ts"
import * as Service from "../../testkit/process/Service.ts"

const signingKey = "0123456789abcdef0123456789abcdef"

const file = `version: 1
name: payments
signers:
  hot: {type: plain, config: {key: {generate: true}}}
notifications:
  ops: {url: "https://\${RELAYER_HOST}/relayer", signing_key: {env: RELAYER_SIGNING_KEY}}
relayers:
  treasury:
    name: Treasury
    network_type: evm
    network: sepolia
    signer_id: hot
    notification_id: ops
    policies: {gas_price_cap: 90000000000}
`

const env = { RELAYER_HOST: "hooks.example.com", RELAYER_SIGNING_KEY: signingKey }

/** A running service, and a folder with the file. */
const prepared = Effect.gen(function* () {
  const { call, service, write } = yield* running({ WATCH: "off" })
  yield* write("relayers.yaml", file)
  const run = (flags: ReadonlyArray<string>, more: Record<string, string> = env) => call(flags, more)
  return { service, run, write: (text: string) => write("relayers.yaml", text) }
})

/** Runs a command whose standard output is closed before it prints. */
const unread = (home: string, flags: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.promise(
    () =>
      new Promise<{ readonly code: number | null; readonly stderr: string }>((resolve) => {
        const child = spawn(process.execPath, [Service.main, ...flags], {
          cwd: home,
          env,
          stdio: ["ignore", "pipe", "pipe"]
        })
        child.stdout.destroy()
        const stderr = Service.collect(child.stderr)
        child.once("close", (code) => resolve({ code, stderr: stderr() }))
      })
  )

describe("plan and diff", () => {
  it.live("a closed pipe is no failure: diff still says that there are changes, and apply makes all of them", () =>
    Effect.gen(function* () {
      const { home, service, write } = yield* running({ WATCH: "off" })
      const ids = Array.from({ length: 300 }, (_, index) => `ops-${index}`)
      const lines = ids.map((id) => `  ${id}: {url: https://hooks.example.com/${id}}\n`)
      yield* write("relayers.yaml", `version: 1\nname: payments\nnotifications:\n${lines.join("")}`)
      const env = { PATH: "", HOME: home, API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl }
      const run = (...flags: ReadonlyArray<string>) => unread(home, flags, env)
      const file = ["--file", "relayers.yaml"]
      const ended = [
        yield* run("plan", ...file),
        yield* run("plan", ...file, "--output", "json", "--detailed-exitcode"),
        yield* run("diff", ...file),
        yield* run("apply", ...file, "--yes"),
        yield* run("diff", ...file),
        yield* run("export", "--name", "payments")
      ]
      assert.deepStrictEqual(
        ended.map(({ code }) => code),
        [0, 2, 2, 0, 0, 0],
        ended.map(({ stderr }) => stderr).join("\n")
      )
      for (const { stderr } of ended) assert.notMatch(stderr, /EPIPE|^\s+at /m)
      const { text } = yield* service.call("/api/v1/configuration/payments")
      assert.deepInclude((JSON.parse(text) as { data: object }).data, { objects: ids.length })
    }).pipe(Effect.scoped)
  )

  it.live("a plan names every object, and shows no value that came from outside of the file", () =>
    Effect.gen(function* () {
      const { run, write, service } = yield* prepared
      const first = yield* run(["plan", "-f", "relayers.yaml"])
      assert.strictEqual(first.code, 0, first.stderr)
      assert.strictEqual(
        first.stdout.replace(/ {2}plan [\w-]{4}…[\w-]{2}$/m, ""),
        [
          "payments: 3 to create, 0 to change, 0 to delete, 0 unchanged",
          "",
          "  + notifications.ops  https://${RELAYER_HOST}/relayer",
          "  + signers.hot        plain",
          "  + relayers.treasury  evm:sepolia  signer hot  notification ops",
          ""
        ].join("\n")
      )
      assert.strictEqual((yield* run(["plan", "-f", "relayers.yaml", "--detailed-exitcode"])).code, 2)
      assert.strictEqual((yield* run(["diff", "-f", "relayers.yaml"])).code, 2)

      yield* service.call("/api/v1/signers", { body: { id: "hot", type: "plain" } })
      const notification = { id: "ops", url: "https://old.example.com/relayer", signing_key: `${signingKey}x` }
      yield* service.call("/api/v1/notifications", { body: notification })
      const changed = yield* run(["plan", "-f", "relayers.yaml", "-o", "markdown"])
      assert.include(changed.stdout, "| `url` |")
      assert.include(changed.stdout, "(secret) changed")
      const json = yield* run(["plan", "-f", "relayers.yaml", "-o", "json"])
      assert.strictEqual((JSON.parse(json.stdout) as { counts: { create: number } }).counts.create, 1)
      for (const { stdout, stderr } of [first, changed, json]) {
        for (const value of [signingKey, "hooks.example.com"]) assert.notInclude(stdout + stderr, value)
      }

      yield* write("version: 1\nname: payments\nsigners:\n  hot: {type: plain}\n")
      const same = yield* run(["diff", "-f", "relayers.yaml"])
      assert.strictEqual(same.code, 0, "an object that only gets an owner does not change")
      yield* write("version: 1\nname: payments\n")
      const none = yield* run(["diff", "-f", "relayers.yaml", "--quiet"])
      assert.deepStrictEqual(
        [none.code, none.stdout.replace(/ {2}plan .*/, "")],
        [0, "payments: 0 to create, 0 to change, 0 to delete, 0 unchanged\n"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("exit codes tell a wrong file, a refusal, and a service that is not there", () =>
    Effect.gen(function* () {
      const { run, write } = yield* prepared
      const unset = yield* run(["plan", "-f", "relayers.yaml"], { RELAYER_HOST: "h" })
      assert.strictEqual(unset.code, 2)
      assert.include(
        unset.stderr,
        "notifications.ops.signing_key: the environment variable RELAYER_SIGNING_KEY is not set"
      )
      assert.strictEqual((yield* run(["diff", "-f", "relayers.yaml"], { RELAYER_HOST: "h" })).code, 1)
      const away = yield* run(["plan", "-f", "relayers.yaml", "--server", "http://127.0.0.1:1"])
      assert.strictEqual(away.code, 3)
      const open = yield* run(["plan", "-f", "relayers.yaml", "--server", "http://relayer.example.com"])
      assert.strictEqual(open.code, 3)
      assert.include(open.stderr, "--insecure")
      yield* write(file.replace("signer_id: hot", "signer_id: nobody"))
      const refused = yield* run(["plan", "-f", "relayers.yaml"])
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "relayers.treasury.signer_id: no signer with this id")
      const literal = file.replace(
        `"https://\${RELAYER_HOST}/relayer"`,
        "https://h.example.com/a1b2c3d4e5f6a7b8c9d0e1f2"
      )
      yield* write(literal)
      const warned = yield* run(["plan", "-f", "relayers.yaml"])
      assert.deepStrictEqual(
        [warned.code, /warning: notifications\.ops\.url: looks like/.test(warned.stderr)],
        [0, true]
      )
      assert.strictEqual((yield* run(["plan", "-f", "relayers.yaml", "--strict"])).code, 2)
    }).pipe(Effect.scoped)
  )
})
