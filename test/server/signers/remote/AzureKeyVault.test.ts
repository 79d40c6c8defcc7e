// Signers whose key is in Azure Key Vault or Managed HSM: the clouds, the logins, and the checks of what Azure answers.
// Answers have dates by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Azure from "../../../../testkit/signers/Azure.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { request, services, vault } from "./azure.ts"
import { contract } from "./contract.ts"
import { failureOfRequest, open, prepare, signs } from "./signers.ts"

contract("azure_key_vault", ["secp256k1"], Azure.layer)

const clouds = [
  ["relayers.vault.azure.net", "login.microsoftonline.com"],
  ["relayers.managedhsm.azure.net", "login.microsoftonline.com"],
  ["relayers.vault.azure.cn", "login.chinacloudapi.cn"],
  ["relayers.managedhsm.azure.cn", "login.chinacloudapi.cn"],
  ["relayers.vault.usgovcloudapi.net", "login.microsoftonline.us"],
  ["relayers.managedhsm.usgovcloudapi.net", "login.microsoftonline.us"]
] as const

layerEach(services((azure) => azure.environment()))("a key in Azure", (it) => {
  for (const [host, login] of clouds) {
    it.live(`in ${host} has its login at ${login}`, () =>
      Effect.gen(function* () {
        const azure = yield* Azure.Azure
        azure.add(`${host}/keys/hot-1`)
        yield* signs(yield* open(request({ vault_url: `https://${host}/` })), "secp256k1")
        assert.strictEqual(azure.login?.url, `${login}/${Azure.tenantId}/oauth2/v2.0/token`)
        assert.strictEqual(azure.login?.form.scope, `https://${host.replace("relayers.", "")}/.default`)
      })
    )
  }

  it.live("is stored with the version that it has now, and without a secret in what is shown", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const version = azure.add(vault)
      const { config, secret } = yield* prepare(request({ vault_url: "https://Relayers.vault.azure.net/" }))
      const { client_secret, ...shown } = Azure.request()
      assert.deepStrictEqual(JSON.parse(JSON.stringify(config)), {
        auth_type: "client_secret",
        ...shown,
        kid: `https://${vault}/${version}`
      })
      assert.deepStrictEqual(JSON.parse(Redacted.value(secret)), { client_secret })
    })
  )

  it.live("of a version that the request names has no warning when the key gets a newer one", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const backend = yield* open(request({ key_version: azure.add(vault) }))
      azure.add(vault, { enabled: false })
      assert.isUndefined((yield* backend.inspect ?? assert.fail("no inspection")).warning)
      yield* signs(backend, "secp256k1")
    })
  )

  it.live("with leading zeros in its coordinates, which Azure leaves out, is read", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      let found = 1
      while (found !== 0) {
        const version = azure.add(vault)
        found = azure.keys.get(vault)?.get(version)?.key.publicKey[1] ?? 1
      }
      yield* signs(yield* open(request()), "secp256k1")
    })
  )

  const states = [
    ["disabled", { enabled: false }],
    ["expired", { enabled: true, exp: 1 }],
    ["not yet valid", { enabled: true, nbf: 4_000_000_000 }]
  ] as const
  for (const [state, attributes] of states) {
    it.live(`that is ${state} is refused`, () =>
      Effect.gen(function* () {
        const azure = yield* Azure.Azure
        azure.add(vault, attributes)
        assert.strictEqual(yield* failureOfRequest(request()), `config.key_name: the key in Azure is ${state}`)
      })
    )
  }

  it.live("on another curve, or that Azure shows for another key, is refused", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const version = azure.add(vault)
      const found = azure.keys.get(vault)?.get(version) ?? assert.fail("no version")
      azure.keys.set(vault, new Map([[version, { ...found, crv: "P-256" }]]))
      assert.strictEqual(
        yield* failureOfRequest(request()),
        "config.key_name: the key in Azure is not on the curve P-256K"
      )
      azure.keys.set(vault, new Map([["latest", found]]))
      assert.strictEqual(yield* failureOfRequest(request()), "config.vault_url: Azure has answered for another key")
    })
  )

  it.live("is not used if Azure answers with the identifier of another key", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const { reply } = yield* StandIn
      const backend = yield* open(request())
      const kid = `https://relayers.vault.azure.net/keys/hot-2/${azure.add("relayers.vault.azure.net/keys/hot-2")}`
      const key = { kid, kty: "EC", crv: "P-256K", x: "AQ", y: "AQ" }
      const message = "Azure has answered for another key"
      reply("describe", (response) => void response.end(JSON.stringify({ key, attributes: { enabled: true } })))
      assert.strictEqual(yield* failureOfRequest(request()), `config.vault_url: ${message}`)
      reply("sign", (response) => void response.end(JSON.stringify({ kid, value: "AQ" })))
      assert.strictEqual((yield* Effect.flip(backend.sign("secp256k1", new Uint8Array(32)))).message, message)
    })
  )

  it.live("that cannot sign on the curve is refused, and the message says why", () =>
    Effect.gen(function* () {
      const azure = yield* Azure.Azure
      const { reply } = yield* StandIn
      const kid = `https://${vault}/${azure.add(vault)}`
      const key = { kid, kty: "EC", crv: "P-256K", x: "AQ", y: "AQ" }
      for (const [change, message] of [
        [{ kty: "RSA" }, "is no elliptic curve key"],
        [{ key_ops: ["verify"] }, "does not permit the operation sign"]
      ] as const) {
        const json = JSON.stringify({ key: { ...key, ...change }, attributes: { enabled: true } })
        reply("describe", (response) => void response.end(json))
        assert.strictEqual(yield* failureOfRequest(request()), `config.key_name: the key in Azure ${message}`)
      }
    })
  )

  it.live("a failure has Azure's id of the call", () =>
    Effect.gen(function* () {
      const { fail } = yield* StandIn
      const backend = yield* open(request())
      fail("sign", "refused")
      const { requestId } = yield* Effect.flip(backend.sign("secp256k1", new Uint8Array(32)))
      assert.strictEqual(requestId, "failed-request")
    })
  )
})
