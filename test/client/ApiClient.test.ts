// The typed client against the real server: values survive the wire, and failures are the classes of the contract.
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { ApiClient } from "../../src/client/ApiClient.ts"
import {
  CreateNotification,
  NotificationId,
  NotificationIdTaken,
  NotificationNotFound
} from "../../src/domain/notification/Notification.ts"
import { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"
import { TooManyRequests, Unauthorized } from "../../src/domain/access/Caller.ts"
import { NetworkId, NetworkNotFound } from "../../src/domain/network/Network.ts"
import { CreateRelayer, RelayerId, RelayerIdTaken, RelayerNotFound } from "../../src/domain/relayer/Relayer.ts"
import { BadRequest } from "../../src/domain/request/Request.ts"
import { SignerId, SignerIdTaken, SignerNotFound } from "../../src/domain/signer/Signer.ts"
import { evmRelayer, notification, signer } from "../../testkit/fixtures.ts"
import { layerEach } from "../../testkit/layerEach.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const newSigner = Schema.decodeSync(CreateSigner)({ ...signer, type: "plain" })
const newNotification = Schema.decodeSync(CreateNotification)({ ...notification, type: "webhook" })
const newRelayer = Schema.decodeUnknownSync(CreateRelayer)(evmRelayer)

layerEach(Prepared.layer(Prepared.references))("the typed client", (it) => {
  it.effect("creates, reads and lists, with amounts as bigint", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      const created = yield* client.relayers.create({ query: {}, payload: newRelayer })
      const { data } = created
      assert.isTrue(data.network_type === "evm" && data.policies?.min_balance === 2n ** 128n - 1n)
      assert.deepStrictEqual((yield* client.relayers.get({ params: { relayer_id: data.id } })).data, data)
      const page = yield* client.relayers.list({ query: { page: 1, per_page: 5 } })
      assert.deepStrictEqual(page.data, [data])
      assert.deepStrictEqual(page.pagination, { current_page: 1, per_page: 5, total_items: 1 })
    })
  )

  it.effect("fails with the error classes of the contract", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      yield* client.relayers.create({ query: {}, payload: newRelayer })
      const none = { relayer_id: RelayerId.make("none") }
      const failures = [
        [client.relayers.get({ params: none }), RelayerNotFound],
        [client.signers.get({ params: { signer_id: SignerId.make("none") } }), SignerNotFound],
        [client.notifications.get({ params: { notification_id: NotificationId.make("none") } }), NotificationNotFound],
        [client.networks.get({ params: { network_id: NetworkId.make("evm:none") } }), NetworkNotFound],
        [client.relayers.create({ query: {}, payload: newRelayer }), RelayerIdTaken],
        [client.signers.create({ payload: newSigner }), SignerIdTaken],
        [client.notifications.create({ payload: newNotification }), NotificationIdTaken]
      ] as const
      for (const [call, expected] of failures) {
        const error: unknown = yield* Effect.flip(call as Effect.Effect<unknown, unknown>)
        assert.isTrue(error instanceof expected, String(error))
      }
    })
  )

  it.effect("a bad request names the wrong field", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      const payload = { ...newRelayer, id: RelayerId.make("other"), signer_id: SignerId.make("nobody") }
      const error = yield* Effect.flip(client.relayers.create({ query: {}, payload }))
      assert.instanceOf(error, BadRequest)
      assert.strictEqual(error.error, "signer_id: no signer with this id")
    })
  )

  it.effect("a call with an unknown key fails with Unauthorized", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const stranger = ApiClient.layer({ baseUrl, apiKey: Redacted.make("x".repeat(40)) }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
      const error = yield* ApiClient.pipe(
        Effect.flatMap((client) => client.relayers.list({ query: {} })),
        Effect.flip,
        Effect.provide(Layer.fresh(stranger))
      )
      assert.instanceOf(error, Unauthorized)
    })
  )

  it.effect("a call over the rate limit fails with the seconds to wait", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      yield* client.relayers.list({ query: {} })
      const error = yield* Effect.flip(client.relayers.list({ query: {} }))
      assert.instanceOf(error, TooManyRequests)
      assert.strictEqual(error.retryAfter, 2)
    }).pipe(Effect.provide(TestApi.layer({ limits: { requestsPerSecond: 0.5, burst: 1 } })))
  )
})
