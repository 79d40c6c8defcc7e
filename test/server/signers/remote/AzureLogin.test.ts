// How a signer in Azure logs in, and what it refuses to log in with. A refused login is tried again after a pause by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { AzureEnvironment } from "../../../../src/server/signers/SignerSettings.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { of, request, services, withoutLogin } from "./azure.ts"
import { failureOfRequest, open, signs } from "./signers.ts"

layerEach(services((azure) => azure.environment()))("the login to Azure", (it) => {
  it.live("with a wrong secret is refused, and asked for twice", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const message = yield* failureOfRequest(request({ client_secret: "wrong" }))
      assert.strictEqual(message, "config.auth_type: Azure refuses the login")
      assert.strictEqual(count("login"), 2)
    })
  )

  it.live("is one for all signers of an identity, and another for another audience", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const azure = yield* Azure.Azure
      azure.add("others.vault.azure.net/keys/hot-1")
      azure.add("relayers.managedhsm.azure.net/keys/hot-1")
      yield* open(request())
      yield* open(request({ vault_url: "https://others.vault.azure.net" }))
      assert.strictEqual(count("login"), 1)
      yield* open(request({ vault_url: "https://relayers.managedhsm.azure.net" }))
      assert.strictEqual(count("login"), 2)
    })
  )

  it.live("of a managed identity asks the metadata server, for the identity of the request if it has one", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      yield* signs(yield* open(of({ ...withoutLogin, auth_type: "managed_identity" })), "secp256k1")
      assert.deepStrictEqual(azure.login, {
        url: "metadata-server/metadata/identity/oauth2/token",
        form: { resource: "https://vault.azure.net", "api-version": "2018-02-01" }
      })
      yield* open(of({ ...withoutLogin, auth_type: "managed_identity", client_id: Azure.clientId }))
      assert.strictEqual(azure.login?.form.client_id, Azure.clientId)
    })
  )

  it.live("of a workload identity uses the tenant, the client and the token file of the machine", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      yield* signs(yield* open(of({ ...withoutLogin, auth_type: "workload_identity" })), "secp256k1")
      assert.strictEqual(azure.login?.url, `login.microsoftonline.com/${Azure.tenantId}/oauth2/v2.0/token`)
      assert.strictEqual(azure.login?.form.client_assertion, Azure.federatedToken)
    })
  )

  const wrong = [
    [{ auth_type: "client_secret" }, "config.tenant_id: is required for auth_type client_secret"],
    [{ auth_type: "managed_identity", client_secret: "a" }, "config.client_secret: is not used with auth_type"],
    [{ auth_type: "managed_identity", tenant_id: "a" }, "config.tenant_id: is not used with auth_type"],
    [{ auth_type: "workload_identity", client_secret: "a" }, "config.client_secret: is not used with auth_type"]
  ] as const
  for (const [login, message] of wrong) {
    it.live(`needs the fields of its type: ${message}`, () =>
      Effect.gen(function* () {
        assert.include(yield* failureOfRequest(of({ ...withoutLogin, ...login })), message)
      })
    )
  }
})

layerEach(services((azure) => azure.environment("app service")))("the login to Azure on App Service", (it) => {
  it.live("asks the identity endpoint with its header", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const azure = yield* Azure.Azure
      const backend = yield* open(of({ ...withoutLogin, auth_type: "managed_identity" }))
      yield* signs(backend, "secp256k1")
      assert.strictEqual(azure.login?.url, "msi/token")
      assert.strictEqual(count("login"), 1)
    })
  )
})

const withoutFile = (azure: Azure.Azure["Service"]): AzureEnvironment => ({
  ...azure.environment(),
  tokenFile: () => Effect.fail("the token file is not in AZURE_TOKEN_DIRECTORY")
})

layerEach(services(withoutFile))("a token file", (it) => {
  it.live("that the operator does not allow is refused, and nobody is called", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const login = { auth_type: "workload_identity", federated_token_file: "/etc/passwd" }
      const message = "config.auth_type: the token file is not in AZURE_TOKEN_DIRECTORY"
      assert.strictEqual(yield* failureOfRequest(of({ ...withoutLogin, ...login })), message)
      assert.strictEqual(count("login"), 0)
    })
  )
})
