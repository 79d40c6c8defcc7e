// Requests for signers in Azure Key Vault, and services on machines with other environments.
import { Effect, Layer } from "effect"
import { SignerSettings } from "../../../../src/server/signers/SignerSettings.ts"
import type { AzureEnvironment } from "../../../../src/server/signers/SignerSettings.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import { backends } from "./signers.ts"

export const vault = "relayers.vault.azure.net/keys/hot-1"

export const of = (config: object) => ({ type: "azure_key_vault" as const, config })
export const request = (changes: object = {}) => of(Azure.request(changes))

export const withoutLogin = { vault_url: "https://relayers.vault.azure.net", key_name: "hot-1" }

/** A service on a machine, as the test says. */
export const services = (environment: (azure: Azure.Azure["Service"]) => AzureEnvironment) => {
  const settings = Layer.effect(
    SignerSettings,
    Effect.map(Azure.Azure, (azure) => ({ azure: environment(azure) }))
  )
  return Layer.provideMerge(backends, Layer.provideMerge(settings, Layer.fresh(Azure.layer)))
}
