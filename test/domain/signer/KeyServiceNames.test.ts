// Names in requests for signers of key services become parts of hosts, paths and headers: no name leads to another place.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import * as Azure from "../../../testkit/signers/Azure.ts"
import * as Google from "../../../testkit/signers/Google.ts"

const toRequest = Schema.decodeUnknownEffect(CreateSigner)

const google = { location: "europe-west3", key_ring_id: "relayers", key_id: "hot-1", key_version: 1, project_id: "p-1" }

/** Valid configurations. */
const configs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  aws_kms: { region: "eu-west-1", key_id: "alias/hot-1" },
  google_cloud_kms: { service_account: Google.serviceAccount, key: google },
  azure_key_vault: { ...Azure.request(), key_version: "0".repeat(32) },
  pkcs11: { module: "hsm", token_label: "relayer", key_id: "01", pin: "1234" }
}

const hostile = [
  "",
  " ",
  "..",
  "../x",
  "a/../b",
  "a//b",
  "%2e%2e%2fx",
  "a\r\nx-evil: 1",
  "a\nb",
  "a\u0000b",
  "a b",
  "a?b",
  "a#b",
  "a\\b",
  "a:b@evil.test",
  "evil.test/#",
  "http://169.254.169.254",
  "\u212a",
  "\u0430",
  "x".repeat(300)
]

/** The names that become parts of a URL, or that name a library. */
const names: ReadonlyArray<readonly [type: string, field: string]> = [
  ["aws_kms", "region"],
  ["aws_kms", "key_id"],
  ["google_cloud_kms", "key.location"],
  ["google_cloud_kms", "key.key_ring_id"],
  ["google_cloud_kms", "key.key_id"],
  ["google_cloud_kms", "key.key_version"],
  ["google_cloud_kms", "key.project_id"],
  ["google_cloud_kms", "service_account.project_id"],
  ["google_cloud_kms", "service_account.universe_domain"],
  ["azure_key_vault", "vault_url"],
  ["azure_key_vault", "tenant_id"],
  ["azure_key_vault", "client_id"],
  ["azure_key_vault", "key_name"],
  ["azure_key_vault", "key_version"],
  ["pkcs11", "module"],
  ["pkcs11", "key_id"]
]

const withName = (type: string, field: string, value: string) => {
  const [outer = "", inner] = field.split(".")
  const config = configs[type] ?? {}
  const part = inner === undefined ? value : { ...Object(config[outer]), [inner]: value }
  return { type, config: { ...config, [outer]: part } }
}

describe("a request for a signer of a key service", () => {
  it.effect("is valid with usual names", () =>
    Effect.gen(function* () {
      for (const [type, config] of Object.entries(configs)) {
        assert.strictEqual((yield* toRequest({ type, config })).type as string, type)
      }
    })
  )

  for (const [type, field] of names) {
    it.effect(`is refused if ${field} of ${type} could name another place`, () =>
      Effect.gen(function* () {
        for (const value of hostile) {
          const refusal = yield* Effect.flip(toRequest(withName(type, field, value)))
          assert.include(refusal.message, `["${field.replace(".", '"]["')}"]`, value)
        }
      })
    )
  }

  const vaults = [
    "https://evil.test",
    "https://relayers.vault.azure.net.evil.test",
    "https://relayers.vault.azure.net:444",
    "https://user@relayers.vault.azure.net",
    "http://relayers.vault.azure.net",
    "https://relayers.vault.azure.net/keys",
    "https://relayers.vault.azure.net?x",
    "https://relayers.vault.azure.net\n",
    "https://evil.test\\.vault.azure.net",
    "https://a.b.vault.azure.net",
    "https://relayers。vault.azure.net"
  ]
  for (const vault of vaults) {
    it.effect(`is refused with the vault ${JSON.stringify(vault)}`, () =>
      Effect.flip(toRequest(withName("azure_key_vault", "vault_url", vault)))
    )
  }
})
