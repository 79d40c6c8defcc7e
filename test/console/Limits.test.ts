// The console: what a session sees whose API key has transaction_limits. The service refuses it changes of policies, RPC URLs and networks.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ConsoleWindow, objectOf, textOf } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const relayerPath = "/api/v1/relayers/dev-evm"

const limited = {
  id: "6b0f2c1d9a3e4f5867ab01cd23ef4567",
  key_id: "tests",
  key_name: "tests",
  read_only: false,
  scopes: ["*"],
  has_transaction_limits: true,
  created_at: "2026-01-02T03:04:05.678Z",
  expires_at: "2036-01-02T03:04:05.678Z",
  idle_ends_at: "2036-01-02T03:04:05.678Z"
}

const why = /^The key of this session has transaction_limits/

/** Names and values of a list of facts. */
const factsOf = (shown: Shown, region: string) => {
  const place = shown.region(region) ?? assert.fail(region)
  const values = shown.all("dd", place).map(textOf)
  return Object.fromEntries(shown.all("dt", place).map((name, index) => [textOf(name), values[index]]))
}

layer(ConsoleWindow.layer, { excludeTestServices: true })("a session whose key has limits", (it) => {
  it.effect("sees the policies and the RPC URLs of a relayer, and why it cannot change them", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const relayer = {
        ...objectOf(recorded(relayerPath)),
        policies: {
          gas_price_cap: "90000000000",
          min_balance: "1500000000000000000",
          top_up: { from: "treasury", below: "1", to: "2000000000000000000", max_per_day: "3" }
        },
        custom_rpc_urls: [
          { url: "https://a.example/***", weight: 70 },
          { url: "https://b.example", weight: 30 }
        ]
      }
      const shown = yield* open({
        answer: ({ path }) => {
          if (path === "/session") return limited
          return path === relayerPath ? relayer : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/policies")
        await shown.shows(why, "p.mut")
        assert.deepStrictEqual(factsOf(shown, "Policies"), {
          min_balance: "1.5 ETH",
          gas_price_cap: "90 gwei",
          "top_up.from": "treasury",
          "top_up.below": "0.000000000000000001 ETH",
          "top_up.to": "2 ETH",
          "top_up.max_per_day": "0.000000000000000003 ETH"
        })
        assert.isEmpty(shown.all("main section form"))
        await shown.goto("relayers/dev-evm/urls")
        await shown.shows("https://a.example/*** 70", "bdi")
        await shown.shows("https://b.example 30", "bdi")
        assert.lengthOf(
          shown.all("p.mut").filter((one) => why.test(textOf(one))),
          2,
          "of the own URLs, and of the private ones"
        )
        assert.isEmpty(shown.all("main section form"))
        await shown.goto("relayers/dev-evm/settings")
        await shown.until("a form that it may use", () => shown.document.querySelector("#field-name"))
      })
      const other = yield* open({
        answer: ({ path }) => {
          if (path === "/session") return limited
          return path === relayerPath ? { ...relayer, custom_rpc_urls: undefined } : undefined
        }
      })
      yield* Effect.promise(async () => {
        await other.goto("relayers/dev-evm/urls")
        await other.shows(why, "p.mut")
        assert.isEmpty(other.all("main .btn.start"), "it cannot give the relayer its own")
        assert.isEmpty(other.all("main section form"))
        for (const { problems } of [shown, other]) assert.deepStrictEqual(problems, [])
      })
    })
  )

  it.effect("creates no network and changes none, and a new relayer of it has neither RPC URLs nor top-ups", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({ answer: ({ path }) => (path === "/session" ? limited : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("networks")
        await shown.until("the networks", () => shown.named("a", "dev")[0])
        assert.isEmpty(shown.named("a", "Create network"))
        await shown.goto("networks/evm:dev")
        await shown.shows(why, "p.mut")
        assert.isEmpty(shown.all("main section form"))
        await shown.goto("new/network")
        await shown.shows(why, "p.sub")
        assert.isEmpty(shown.all("main form"))
        await shown.goto("new/relayer")
        await shown.shows(why, "p.sub")
        await shown.until("the form", () => shown.document.querySelector("[id='field-policies.min_balance']"))
        for (const name of ["custom_rpc_urls", "custom_private_rpc_urls", "policies.top_up.from"])
          assert.isNull(shown.document.querySelector(`[id="field-${name}"]`), name)
        assert.isEmpty(shown.named("main form a", "Create network"))
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )
})
