// Plans and exports read only the database: they ask no provider of a chain and no key service, not even about wrong values.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { config, prepared, transitConfig } from "../signers/fixtures.ts"
import { actionsOf, applied, apply, call, planned } from "./requests.ts"

/** Relayers of evm and solana whose providers count calls, and signers whose keys are in Vault. */
const documentOf = (vault: Vault["Service"], url: string, changes: object = {}, cap = 1) => ({
  version: 1,
  name: "outside",
  networks: { "evm:outside": { from: "sepolia", rpc_urls: [{ url }], required_confirmations: cap } },
  signers: {
    stored: { type: "vault", config: config(vault, changes) },
    remote: { type: "vault_transit", config: transitConfig(vault, changes) }
  },
  relayers: {
    evm: {
      name: "E",
      network_type: "evm",
      network: "outside",
      signer_id: "stored",
      policies: { gas_price_cap: cap },
      custom_rpc_urls: [{ url }]
    },
    sol: {
      name: "S",
      network_type: "solana",
      network: "devnet",
      signer_id: "remote",
      policies: { max_allowed_fee_lamports: cap },
      custom_rpc_urls: [{ url }]
    }
  }
})

/** What both have been asked since the last look. */
const asked = (vault: Vault["Service"], server: { readonly seen: Array<{ readonly method: string }> }) => [
  ...vault.seen.splice(0).map(({ url }) => url),
  ...server.seen.splice(0).map(({ method }) => method)
]

layerEach(Layer.provideMerge(TestApi.layer(), Vault.layer))("plans and exports", (it) => {
  it.effect("of new, equal, changed and removed objects ask no provider and no key service", () =>
    Effect.gen(function* () {
      const vault = yield* prepared
      const server = yield* RpcServer.make()
      const document = documentOf(vault, server.url)
      asked(vault, server)
      yield* planned(document)
      assert.deepStrictEqual(asked(vault, server), [], "new objects")
      yield* applied(document)
      assert.include(
        asked(vault, server).join("\n"),
        "/auth/approle/login",
        "the apply of a new signer asks its key service"
      )

      yield* planned(document)
      yield* call("/api/v1/configuration/outside/document?all=true")
      const changed = documentOf(vault, `${server.url}/other`, { secret_id: "another-secret" }, 2)
      const changes = actionsOf(yield* planned(changed))
      assert.deepStrictEqual(changes.toSorted(), [
        "update networks.evm:outside",
        "update relayers.evm",
        "update relayers.sol",
        "update signers.remote",
        "update signers.stored"
      ])
      const empty = { version: 1, name: "outside", networks: {}, signers: {}, relayers: {} }
      const removed = yield* planned(empty, { prune: true })
      assert.strictEqual(removed.counts.delete, 5)
      assert.deepStrictEqual(asked(vault, server), [])
    })
  )

  it.effect("an apply that is refused for its digest has asked nobody either", () =>
    Effect.gen(function* () {
      const vault = yield* prepared
      const server = yield* RpcServer.make()
      const document = documentOf(vault, server.url)
      const rival = call("/api/v1/signers", { body: { id: "remote", type: "plain" } })
      const forget = Effect.sync(() => asked(vault, server))
      const { status, text } = yield* apply(document, {}, { before: Effect.andThen(rival, forget) })
      assert.strictEqual(status, 412, text)
      assert.deepStrictEqual(asked(vault, server), [])
    })
  )
})
