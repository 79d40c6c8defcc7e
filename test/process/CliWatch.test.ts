// The commands for health, deliveries and events. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { evmRelayer, signer } from "../../testkit/fixtures.ts"
import * as EvmRpc from "../../testkit/EvmRpc.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import { running, runningApart } from "../../testkit/process/Commands.ts"
import { freePort } from "../../testkit/process/Ports.ts"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const json = (text: string) => JSON.parse(text)

const settings = { OUTBOUND_ALLOW: "127.0.0.0/8" }

const { custom_rpc_urls: _, notification_id: __, policies: ___, ...relayer } = evmRelayer

describe("the command line", () => {
  it.live("shows the health of a relayer and its reasons", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 2n ** 127n })
      const { service, call, output } = yield* running(settings)
      yield* service.call("/api/v1/signers", { body: signer })
      yield* service.call("/api/v1/relayers", { body: { ...relayer, custom_rpc_urls: [{ url: rpc.url }] } })
      assert.match(yield* output("relayers", "explain", "relayer-1"), /^code +not_checked$/m)
      assert.match(yield* output("relayers", "check", "relayer-1"), /^health +healthy$/m)
      assert.match(
        yield* output("relayers", "balance", "relayer-1"),
        new RegExp(`^balance +${2n ** 127n}\nunit +wei$`, "m")
      )
      const status = json(yield* output("relayers", "status", "relayer-1", "-o", "json"))
      assert.deepInclude(status, { live: true, nonce: "7", balance: String(2n ** 127n), health: "healthy" })
      assert.match(yield* output("relayers", "status", "relayer-1"), /^providers\.0\.breaker +closed$/m)

      rpc.fail("html")
      const listed = yield* output("relayers", "list", "--balances")
      const whole = "170141183460469231731.687303715884105728"
      assert.match(listed, new RegExp(`^ID .* BALANCE\nrelayer-1 .* ${whole} ETH( \\(last check\\))?$`, "m"))
      const away = yield* call(["relayers", "balance", "relayer-1"])
      assert.strictEqual(away.code, 1)
      assert.include(away.stderr, "Bad Gateway")
      const check = service.call("/api/v1/relayers/relayer-1/check", { method: "POST" })
      yield* Effect.andThen(check, check)
      const explained = yield* output("relayers", "explain", "relayer-1")
      assert.match(explained, /^state +disabled\ncode +RpcValidationFailed$/m)
      assert.match(explained, /^next +The relayer is checked again, and enabled as soon as one check succeeds\.$/m)
      assert.include((yield* call(["relayers", "check", "nobody"])).stderr, "Relayer not found")
    })
  )

  it.live("lists deliveries, sends them again, and sends a test", () =>
    Effect.gen(function* () {
      const [rpc, receiver] = [yield* EvmRpc.make(), yield* Receiver.make]
      const { service, call, output } = yield* running({ ...settings, WATCH: "on" })
      const created = yield* call(["notifications", "create", "--id", "ops", "--url", receiver.url])
      assert.include(created.stderr, "webhooks of this notification are not signed")
      assert.match(yield* output("notifications", "test", "ops"), /^outcome +delivered\nstatus +200$/m)
      receiver.answer = () => ({ status: 500 })
      const failed = yield* call(["notifications", "test", "ops"])
      assert.strictEqual(failed.code, 1)
      assert.strictEqual(failed.stderr, "effect-relayer: the test was not delivered: rejected with 500\n")
      assert.match(failed.stdout, /^outcome +rejected$/m)
      receiver.answer = () => undefined

      yield* service.call("/api/v1/signers", { body: signer })
      const body = { ...relayer, notification_id: "ops", custom_rpc_urls: [{ url: rpc.url }] }
      assert.strictEqual((yield* service.call("/api/v1/relayers", { body })).status, 201)
      const isDelivered = Effect.map(
        output("notifications", "deliveries", "ops", "--state", "delivered", "--limit", "1", "-o", "json"),
        (text) => json(text).find(({ type }: { readonly type: string }) => type === "relayer.created")
      )
      const delivery = yield* until("a delivery", isDelivered)
      const table = (yield* output("notifications", "deliveries", "ops", "--all")).trimEnd().split("\n")
      assert.lengthOf(table, 4)
      assert.match(table[0] ?? "", /^ID +CREATED +TYPE +RELAYER +STATE +ATTEMPTS +LAST +NEXT$/)
      assert.match(table[1] ?? "", /relayer\.created +relayer-1 +delivered +1 +delivered 200 +-$/)
      assert.match(table[2] ?? "", /test +- +failed +1 +rejected 500 +-$/)

      const again = json(yield* output("notifications", "retry", "ops", delivery.id, "-o", "json"))
      assert.deepInclude(again, { id: delivery.id, state: "pending" })
      yield* receiver.arrived(4)
      yield* until("its answer", isDelivered)
      const range = ["--since", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"]
      assert.match(yield* output("notifications", "replay", "ops", ...range), /^replayed +1$/m)
      yield* receiver.arrived(5)
      const ids = receiver.seen.slice(2).map(({ headers }) => headers["webhook-id"])
      assert.deepStrictEqual(ids, [delivery.id, delivery.id, delivery.id])

      assert.match(yield* output("notifications", "update", "ops", "--paused"), /^paused +true$/m)
    })
  )

  it.live("reports invalid input for notifications and deliveries", () =>
    Effect.gen(function* () {
      const { call, output } = yield* running(settings)
      yield* output("notifications", "create", "--id", "ops", "--url", "http://127.0.0.1:9/hook")
      const backwards = ["--since", "2100-01-01T00:00:00Z", "--until", "2020-01-01T00:00:00Z"]
      const ends: ReadonlyArray<readonly [number, string, ReadonlyArray<string>]> = [
        [2, "until: is required", ["notifications", "replay", "ops", "--since", "2020-01-01T00:00:00Z"]],
        [2, "until: must be later than since", ["notifications", "replay", "ops", ...backwards]],
        [1, "Notification not found", ["notifications", "test", "nobody"]],
        [1, "Delivery not found", ["notifications", "retry", "ops", "none"]]
      ]
      for (const [code, line, flags] of ends) {
        const ended = yield* call(flags)
        assert.strictEqual(ended.code, code, ended.stderr)
        assert.include(ended.stderr, line)
      }
    })
  )

  it.live("lists events from any position, and follows them across a restart of the service", () =>
    Effect.gen(function* () {
      // The service is started again at the same port.
      const PORT = String(yield* freePort)
      const { home, env, service, call, output } = yield* runningApart({ ...settings, PORT })
      const create = (service: Service.Listening, id: string) =>
        service.call("/api/v1/signers", { body: { ...signer, id } })
      for (const id of ["a", "b", "c"]) yield* create(service, id)
      // Transactions of other tests, which are older, hold events back for a moment.
      yield* until(
        "three events",
        Effect.map(service.call("/api/v1/events"), ({ text }) => (json(text).data.length === 3 ? true : undefined))
      )
      const { stdout, stderr } = yield* call(["events", "list", "--limit", "2"])
      assert.match(
        stdout,
        /^ID +AT +TYPE +RESOURCE\n(\d+) +\S+Z +signer\.created +a\n(\d+) +\S+Z +signer\.created +b\n$/
      )
      const after = /^Continue with --after (\d+)\.$/m.exec(stderr)?.[1] ?? assert.fail(stderr)
      const rest = json(yield* output("events", "list", "--after", after, "-o", "json"))
      assert.deepStrictEqual(json((yield* service.call(`/api/v1/events?after=${after}`)).text).data, rest)
      assert.deepInclude(rest, { ...rest[0], resource_id: "c" })
      assert.lengthOf(json(yield* output("events", "list", "--all", "-o", "json")), 3)
      assert.lengthOf(json(yield* output("events", "list", "--all", "--resource-id", "b", "-o", "json")), 1)
      const none = yield* call(["events", "list", "--after", "999999"])
      assert.strictEqual(none.code, 1)
      assert.include(none.stderr, "after: is not the id of an event")

      const caller = { API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl }
      const follower = yield* Service.start({
        folder: home,
        flags: ["events", "follow", "-o", "json", "--after", after],
        env: caller
      })
      const followed = () => follower.stdout().trimEnd().split("\n").filter(Boolean).map(json)
      const shows = (...ids: Array<string>) =>
        until(
          `events of ${ids.join()}`,
          Effect.sync(() => followed().length >= ids.length || undefined)
        ).pipe(
          Effect.andThen(
            Effect.sync(() =>
              assert.deepStrictEqual(
                followed().map(({ resource_id }) => resource_id),
                ids
              )
            )
          )
        )
      yield* shows("c")
      yield* create(service, "d")
      yield* shows("c", "d")
      assert.deepStrictEqual(yield* Service.stop(service), { code: 0, signal: null })
      yield* until(
        "a line that says that the service cannot be reached",
        Effect.sync(() => /cannot reach .*; retrying\n/.test(follower.stderr()) || undefined)
      )
      const next = yield* Service.listen({ folder: home, env })
      yield* create(next, "e")
      yield* shows("c", "d", "e")
      yield* follower.kill("SIGINT")
      yield* follower.exited
      assert.notInclude(follower.stderr(), "    at ")
    })
  )

  it.live("follows events until its output is closed, which is not a failure", () =>
    Effect.gen(function* () {
      const { service, home } = yield* running(settings)
      yield* service.call("/api/v1/signers", { body: signer })
      const env = { API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl }
      const follower = spawn(process.execPath, [Service.main, "events", "follow"], { env, cwd: home })
      const errors = Service.collect(follower.stderr)
      const exited = new Promise((resolve) => follower.once("close", resolve))
      // Like `head -1`. The reader may get several lines at once, so the command needs further events to notice.
      follower.stdout.once("data", () => follower.stdout.destroy())
      const furtherEvents = Effect.forever(service.call("/api/v1/signers", { body: { type: "plain" } }))
      assert.strictEqual(
        yield* Effect.raceFirst(
          Effect.promise(() => exited),
          furtherEvents
        ),
        0,
        errors()
      )
      assert.strictEqual(errors(), "")
    })
  )

  it.live("does not follow a service that it never reached, or events that it may not read", () =>
    Effect.gen(function* () {
      const { service, call, output } = yield* running(settings)
      const key = (yield* output("keys", "create", "--name", "x", "--scope", "relayers:read", "-q")).trimEnd()
      assert.strictEqual((yield* call(["events", "follow"], { API_KEY: key })).code, 4)
      assert.strictEqual((yield* call(["events", "follow"], { RELAYER_URL: "http://127.0.0.1:9" })).code, 3)
      assert.strictEqual((yield* call(["events", "follow", "--after", "999999"])).code, 1)
      assert.strictEqual((yield* service.call("/v1/health")).status, 200)
    })
  )
})
