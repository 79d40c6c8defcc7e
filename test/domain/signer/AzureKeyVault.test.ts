// Which URLs, directories and keys of Azure a request may name: a wrong one would get the credentials of the signer.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { requestedAzureKeyVault } from "../../../src/domain/signer/KeyServices.ts"

const decode = Schema.decodeUnknownExit(Schema.Struct(requestedAzureKeyVault))

const isAllowed = (change: object) =>
  decode({ vault_url: "https://relayers.vault.azure.net", key_name: "hot-1", ...change })._tag === "Success"

const allowed = {
  vault_url: [
    "https://relayers.vault.azure.net/",
    "https://Relayers-1.managedhsm.azure.net",
    "https://relayers.vault.azure.cn",
    "https://relayers.vault.usgovcloudapi.net",
    "https://relayers.managedhsm.usgovcloudapi.net"
  ],
  tenant_id: ["72f988bf-86f1-41af-91ab-2d7cd011db47", "contoso.onmicrosoft.com", "contoso.com"],
  key_name: ["hot-1"],
  key_version: ["9885aa558e8d448789683188f8c194b0"]
}

const refused = {
  vault_url: [
    "http://relayers.vault.azure.net",
    "https://relayers.vault.azure.net:8443",
    "https://relayers.vault.azure.net/keys",
    "https://relayers.vault.azure.net?a=b",
    "https://relayers.vault.azure.net#a",
    "https://user@relayers.vault.azure.net",
    "https://vault.azure.net",
    "https://a.b.vault.azure.net",
    "https://relayers.vault.azure.net.evil.test",
    "https://evil.test/relayers.vault.azure.net",
    "https://evil.test#relayers.vault.azure.net",
    "https://relayersXvault.azure.net",
    "https://relayers.vault.azure.net\n"
  ],
  tenant_id: ["https://evil.test", "//evil.test", "evil.test/path", "a/../b", "..", "a?b", "", "-a"],
  key_name: ["a/b", "../a", "a?b", "a.b", ""],
  key_version: ["latest", "9885AA558E8D448789683188F8C194B0", "9885aa558e8d448789683188f8c194b0/sign"]
}

describe("a key in Azure", () => {
  for (const [field, values] of Object.entries(allowed)) {
    it(`has a ${field} of Azure`, () => {
      for (const value of values) assert.isTrue(isAllowed({ [field]: value }), value)
    })
  }

  for (const [field, values] of Object.entries(refused)) {
    it(`has no other ${field}`, () => {
      for (const value of values) assert.isFalse(isAllowed({ [field]: value }), value)
    })
  }
})
