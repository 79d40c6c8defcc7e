// The health of a relayer on a real node, as its account, its chain and its node change. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { until } from "../../../testkit/process/Folder.ts"
import { freePort } from "../../../testkit/process/Ports.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const ether = (count: number) => `0x${(BigInt(count) * 10n ** 18n).toString(16)}`

const options = { jobs: true, healthCheckInterval: "500 millis" } as const

const api = Layer.provideMerge(TestApi.layer(options), Logger.layer([]))

layer(api, { excludeTestServices: true })("a relayer on anvil", (it) => {
  it.effect("is disabled and enabled as its balance, its chain id and its node change", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const node = yield* Anvil.start({ port: yield* freePort })

      const network = {
        network_type: "evm",
        name: "anvil",
        chain_id: 31337,
        rpc_urls: [node.url],
        average_blocktime_ms: 1000,
        required_confirmations: 0,
        symbol: "ETH"
      }
      assert.strictEqual((yield* api.call("/api/v1/networks", { body: network })).status, 201)
      yield* api.call("/api/v1/signers", { body: { id: "s", type: "plain" } })
      const body = {
        id: "r",
        name: "R",
        network: "anvil",
        network_type: "evm",
        paused: false,
        signer_id: "s",
        policies: { min_balance: String(10n ** 18n) }
      }
      const created = yield* api.call("/api/v1/relayers", { body })
      assert.strictEqual(created.status, 201, created.text)
      const { address } = created.json.data as { readonly address: string }

      const relayer = Effect.map(
        api.call("/api/v1/relayers/r"),
        ({ json }) =>
          json.data as { readonly system_disabled: boolean; readonly disabled_reason?: { readonly type: string } }
      )
      const becomes = (reason: string | undefined) =>
        until(
          reason ?? "enabled",
          Effect.map(relayer, ({ system_disabled, disabled_reason }) =>
            disabled_reason?.type === reason && system_disabled === (reason !== undefined) ? true : undefined
          )
        )
      const give = (count: number) => node.call("anvil_setBalance", [address, ether(count)])
      const move = (url: string) =>
        api.call("/api/v1/relayers/r", { method: "PATCH", body: { custom_rpc_urls: [{ url }] } })

      yield* becomes("BalanceCheckFailed")
      yield* give(5)
      yield* becomes(undefined)
      const status = yield* api.call("/api/v1/relayers/r/status")
      assert.include(status.json.data as object, { balance: String(5n * 10n ** 18n), nonce: "0", live: true })
      yield* give(0)
      yield* becomes("BalanceCheckFailed")
      yield* give(5)
      yield* becomes(undefined)

      const other = yield* Anvil.start({ chainId: 4242 })
      yield* move(other.url)
      yield* becomes("ChainIdMismatch")
      yield* move(node.url)
      yield* becomes(undefined)

      yield* node.kill
      yield* becomes("RpcValidationFailed")
      const away = yield* api.call("/api/v1/relayers/r/status")
      assert.include(away.json.data as object, { balance: String(5n * 10n ** 18n), live: false, health: "disabled" })
      const again = yield* Anvil.start()
      yield* again.call("anvil_setBalance", [address, ether(1)])
      yield* move(again.url)
      yield* becomes(undefined)

      const events = yield* sql<{ type: string }>`
        SELECT type FROM events WHERE resource_id = 'r' AND type NOT IN ('relayer.created', 'relayer.updated') ORDER BY id`
      const twice = ["relayer.disabled", "relayer.enabled"]
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        [...twice, ...twice, ...twice, ...twice, "relayer.low_balance"]
      )
    })
  )
})
