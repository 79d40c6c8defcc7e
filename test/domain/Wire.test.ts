// Every schema of the wire: what is encoded decodes to the same, through JSON text.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Result, Schema } from "effect"
import { Pagination } from "../../src/api/Envelope.ts"
import * as Json from "../../src/api/Json.ts"
import { Readiness } from "../../src/api/SystemApi.ts"
import { EvmNetwork, SolanaNetwork, StellarNetwork } from "../../src/domain/network/Network.ts"
import { CreateNotification, Notification } from "../../src/domain/notification/Notification.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../src/domain/relayer/Policy.ts"
import { CreateRelayer, DisabledReason, Relayer } from "../../src/domain/relayer/Relayer.ts"
import { MaskedRpcConfig, RpcConfig } from "../../src/domain/chain/Rpc.ts"
import { CreateSigner, Signer } from "../../src/domain/signer/Signer.ts"

const wire = {
  CreateNotification,
  CreateRelayer,
  CreateSigner,
  DisabledReason,
  EvmNetwork,
  EvmPolicy,
  MaskedRpcConfig,
  Notification,
  Pagination,
  Readiness,
  Relayer,
  RpcConfig,
  Signer,
  SolanaNetwork,
  SolanaPolicy,
  StellarNetwork,
  StellarPolicy
} as Record<string, Schema.Codec<unknown>>

describe("the wire", () => {
  for (const [name, schema] of Object.entries(wire)) {
    it.prop(`${name} round-trips`, [schema], ([value]) => {
      const text = Schema.encodeSync(Json.fromText(schema))(value)
      assert.isTrue(Equal.equals(Schema.decodeSync(Json.fromText(schema))(text), value), text)
    })
  }

  const strict = Schema.decodeUnknownResult(CreateRelayer, { errors: "all", onExcessProperty: "error" })

  it.prop("an unknown key is refused wherever it stands", [CreateRelayer], ([relayer]) => {
    const encoded = Schema.encodeSync(CreateRelayer)(relayer)
    assert.isTrue(Result.isFailure(strict({ ...encoded, unknown: 1 })))
    assert.isTrue(Result.isFailure(strict({ ...encoded, policies: { ...encoded.policies, unknown: 1 } })))
  })

  it.prop("a required key may not be missing or null", [CreateRelayer], ([relayer]) => {
    const encoded: Record<string, unknown> = { ...Schema.encodeSync(CreateRelayer)(relayer) }
    for (const key of ["name", "network", "network_type", "paused", "signer_id"]) {
      const { [key]: _, ...without } = encoded
      assert.isTrue(Result.isFailure(strict(without)), `without ${key}`)
      assert.isTrue(Result.isFailure(strict({ ...encoded, [key]: null })), `${key}: null`)
    }
  })

  it("null stands for an absent optional key", () => {
    const minimal = { name: "a", network: "sepolia", network_type: "evm", paused: false, signer_id: "s" }
    const nulls = { id: null, notification_id: null, custom_rpc_urls: null, policies: null }
    assert.deepStrictEqual(strict({ ...minimal, ...nulls }), strict(minimal))
  })
})
