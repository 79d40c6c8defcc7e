// A signer of each type, for tests over HTTP.
import { Effect, Layer } from "effect"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { config, key, keystore, passphrase, prepared, transitConfig } from "./fixtures.ts"

export const services = Layer.provideMerge(TestApi.layer(), Vault.layer)

/** A signer of each type: `plain-1`, `local-1`, `vault-1` and `transit-1`. */
const createSigners = Effect.gen(function* () {
  const vault = yield* prepared
  yield* Prepared.create("signers", { id: "plain-1", type: "plain", config: { key } })
  yield* Prepared.create("signers", { id: "local-1", type: "local", config: { keystore, passphrase } })
  yield* Prepared.create("signers", { id: "vault-1", type: "vault", config: config(vault) })
  yield* Prepared.create("signers", { id: "transit-1", type: "vault_transit", config: transitConfig(vault) })
})

export const created = Layer.provideMerge(Layer.effectDiscard(createSigners), services)
