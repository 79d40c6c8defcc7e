// The published SDK of another relayer service drives this one unchanged, because both speak the same wire format. If its
// types and the specification disagree, the specification wins, and the test says so.
import { assert } from "@effect/vitest"
import {
  Configuration,
  HealthApi,
  MetricsApi,
  NetworksApi,
  NotificationType,
  NotificationsApi,
  RelayerNetworkType,
  RelayersApi,
  SignerTypeRequest,
  SignersApi
} from "@openzeppelin/relayer-sdk"
import type { CreateRelayerRequest, UpdateRelayerRequest } from "@openzeppelin/relayer-sdk"
import { Context, Effect, Layer } from "effect"
import { layerEach } from "../../testkit/layerEach.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const make = Effect.map(TestApi.TestApi, ({ baseUrl }) => {
  const configuration = new Configuration({ basePath: baseUrl, accessToken: TestApi.apiKey })
  return {
    relayers: new RelayersApi(configuration),
    notifications: new NotificationsApi(configuration),
    signers: new SignersApi(configuration),
    networks: new NetworksApi(configuration),
    health: new HealthApi(configuration),
    metrics: new MetricsApi(configuration)
  }
})

class Sdk extends Context.Service<Sdk, Effect.Success<typeof make>>()("effect-relayer/test/client/Sdk.test/Sdk") {}

/** The status and the body of a call that succeeds. */
const answer = <A>(f: (sdk: Sdk["Service"]) => Promise<{ readonly status: number; readonly data: A }>) =>
  Effect.flatMap(Sdk, (sdk) => Effect.promise(() => f(sdk)))

/** The status and the body of a call that fails. */
const refusal = (f: (sdk: Sdk["Service"]) => Promise<unknown>) =>
  Effect.flatMap(Sdk, (sdk) =>
    Effect.promise(() =>
      f(sdk).then(
        () => Promise.reject(new Error("the call succeeded")),
        ({ response }: { response: { status: number; data: { message: string; error?: string } } }) => response
      )
    )
  )

const relayer: CreateRelayerRequest = {
  id: "sdk",
  name: "Made by the SDK",
  network: "sepolia",
  network_type: RelayerNetworkType.EVM,
  paused: false,
  signer_id: "sdk-signer",
  notification_id: "sdk-hook",
  custom_rpc_urls: [{ url: "https://rpc.example.com/key", weight: 60 }],
  policies: { min_balance: 1_000_000, eip1559_pricing: true, private_transactions: false }
}

const createSigner = answer(({ signers }) =>
  signers.createSigner({ id: "sdk-signer", type: SignerTypeRequest.PLAIN, config: { key: "01".repeat(32) } })
)

const notificationUrl = "https://hooks.example.com/sdk"

const createNotification = answer(({ notifications }) =>
  notifications.createNotification({
    id: "sdk-hook",
    type: NotificationType.WEBHOOK,
    url: notificationUrl,
    signing_key: "x".repeat(32)
  })
)

/** Creates a relayer with the signer and the notification that it refers to. */
const createRelayer = Effect.andThen(
  Effect.all([createSigner, createNotification]),
  answer(({ relayers }) => relayers.createRelayer(relayer))
)

layerEach(Layer.provideMerge(Layer.effect(Sdk, make), TestApi.layer()))("the published SDK", (it) => {
  it.effect("creates, lists and reads signers and never receives a key", () =>
    Effect.gen(function* () {
      const created = yield* createSigner
      assert.strictEqual(created.status, 201)
      // The SDK declares that the response to a `plain` request has the type `local`. This service keeps the type.
      assert.strictEqual(String(created.data.data?.type), "plain")
      assert.deepEqual(created.data.data?.config, {})
      const read = yield* answer(({ signers }) => signers.getSigner("sdk-signer"))
      assert.deepStrictEqual(read.data, created.data)
      const list = yield* answer(({ signers }) => signers.listSigners(1, 5))
      assert.deepStrictEqual(list.data.pagination, { current_page: 1, per_page: 5, total_items: 1 })
    })
  )

  it.effect("creates, changes and reads notifications", () =>
    Effect.gen(function* () {
      const url = notificationUrl
      const created = yield* createNotification
      const shown = { id: "sdk-hook", type: "webhook", url, has_signing_key: true }
      assert.deepStrictEqual<unknown>(created.data.data, shown)
      const changed = yield* answer(({ notifications }) =>
        notifications.updateNotification("sdk-hook", { signing_key: "", url: `${url}/2` })
      )
      assert.deepInclude(changed.data.data, { url: `${url}/2`, has_signing_key: false })
      const read = yield* answer(({ notifications }) => notifications.getNotification("sdk-hook"))
      assert.deepStrictEqual(read.data, changed.data)
      const list = yield* answer(({ notifications }) => notifications.listNotifications())
      assert.lengthOf(list.data.data ?? [], 1)
    })
  )

  it.effect("creates, lists, reads and changes relayers", () =>
    Effect.gen(function* () {
      const created = yield* createRelayer
      assert.strictEqual(created.status, 201)
      const { custom_rpc_urls: _, ...fields } = relayer
      const shown = created.data.data
      assert.deepInclude(shown, fields)
      assert.deepInclude(shown, {
        system_disabled: false,
        custom_rpc_urls: [{ url: "https://rpc.example.com/***", weight: 60 }]
      })
      assert.match(shown?.address ?? "", /^0x[0-9a-f]{40}$/)
      // The SDK requests the list with a trailing slash.
      const list = yield* answer(({ relayers }) => relayers.listRelayers(1, 10))
      assert.deepStrictEqual(list.data.data, [shown])
      const patch: UpdateRelayerRequest = { name: "Changed by the SDK", paused: true, policies: { min_balance: 2 } }
      const changed = yield* answer(({ relayers }) => relayers.updateRelayer("sdk", patch))
      assert.deepInclude(changed.data.data, {
        name: "Changed by the SDK",
        paused: true,
        policies: { min_balance: 2, eip1559_pricing: true, private_transactions: false }
      })
      const read = yield* answer(({ relayers }) => relayers.getRelayer("sdk"))
      assert.deepStrictEqual(read.data, changed.data)
    })
  )

  it.effect("lists, reads and overrides networks, with URLs in both of its forms", () =>
    Effect.gen(function* () {
      const list = yield* answer(({ networks }) => networks.listNetworks(1, 100))
      assert.isTrue(list.data.data?.some(({ id, chain_id }) => id === "evm:sepolia" && chain_id === 11155111))
      const changed = yield* answer(({ networks }) =>
        networks.updateNetwork("evm:sepolia", {
          rpc_urls: ["https://one.example.com/key", { url: "https://two.example.com", weight: 30 }] as never
        })
      )
      assert.deepStrictEqual(changed.data.data?.rpc_urls, [
        { url: "https://one.example.com/***", weight: 100 },
        { url: "https://two.example.com", weight: 30 }
      ])
      const read = yield* answer(({ networks }) => networks.getNetwork("evm:sepolia"))
      assert.deepStrictEqual(read.data, changed.data)
    })
  )

  it.effect("receives the errors that it expects, except for more precise statuses", () =>
    Effect.gen(function* () {
      yield* createRelayer
      const taken = yield* refusal(({ relayers }) => relayers.createRelayer(relayer))
      assert.deepStrictEqual([taken.status, taken.data.message], [409, "Relayer with this ID already exists"])
      // The other service answers 404 with its own text. Here, a reference to a missing resource is a bad request.
      const missing = yield* refusal(({ relayers }) =>
        relayers.createRelayer({ ...relayer, id: "x", signer_id: "nobody" })
      )
      assert.deepStrictEqual([missing.status, missing.data.error], [400, "signer_id: no signer with this id"])
      const unknown = yield* refusal(({ relayers }) => relayers.getRelayer("nobody"))
      assert.deepStrictEqual([unknown.status, unknown.data.message], [404, "Relayer not found"])
      // The other service answers 400.
      const inUse = yield* refusal(({ signers }) => signers.deleteSigner("sdk-signer"))
      assert.deepStrictEqual([inUse.status, inUse.data.error], [409, "used by relayers: sdk"])
      // Signers cannot be changed: the other service always answers 400, this one has no such method.
      const never = yield* refusal(({ signers }) => signers.updateSigner("sdk-signer", {}))
      assert.strictEqual(never.status, 405)
    })
  )

  it.effect("reads health, readiness and metrics", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* answer(({ health }) => health.health())).data, "OK")
      assert.isTrue((yield* answer(({ health }) => health.readiness())).data.ready)
      const names = yield* answer(({ metrics }) => metrics.listMetrics())
      assert.include(names.data, "requests_total")
      assert.include((yield* answer(({ metrics }) => metrics.metricDetail("requests_total"))).data, "requests_total{")
      assert.include((yield* answer(({ metrics }) => metrics.scrapeMetrics())).data, "# TYPE requests_total counter")
    })
  )

  it.effect("deletes relayers, notifications and signers", () =>
    Effect.gen(function* () {
      yield* createRelayer
      const deleted = [
        yield* answer(({ relayers }) => relayers.deleteRelayer("sdk")),
        yield* answer(({ notifications }) => notifications.deleteNotification("sdk-hook")),
        yield* answer(({ signers }) => signers.deleteSigner("sdk-signer"))
      ]
      assert.deepStrictEqual(
        deleted.map(({ data }) => data),
        ["Relayer", "Notification", "Signer"].map((kind) => ({ success: true, data: `${kind} deleted successfully` }))
      )
      const list = yield* answer(({ relayers }) => relayers.listRelayers())
      assert.deepStrictEqual(list.data.data, [])
    })
  )
})
