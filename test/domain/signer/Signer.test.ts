// Requests to create signers, and signers in responses, which contain no secrets.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Redacted, Result, Schema } from "effect"
import { errorIn, strict } from "../../../testkit/DecodedBody.ts"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import * as Json from "../../../src/api/Json.ts"
import type { NetworkType } from "../../../src/domain/network/Network.ts"
import { curveOf, networkTypesOn, Signer, signerTypesFor } from "../../../src/domain/signer/Signer.ts"

const decode = Schema.decodeUnknownResult(CreateSigner, strict)

const errorOf = (input: unknown) => errorIn(decode(input))

const credentials = { address: "https://vault.example.com", role_id: "role", secret_id: "secret" }
const pubkey = Buffer.alloc(32, 7).toString("base64")

/** A valid request of each type. Tests replace its `config` by an invalid one. */
const vault = (config: object) => ({ type: "vault", config: { ...credentials, key_name: "a", ...config } })
const transit = (config: object) => ({
  type: "vault_transit",
  config: { ...credentials, key_name: "a", pubkey, ...config }
})
const local = (config: object) => ({ type: "local", config: { keystore: {}, passphrase: "p", ...config } })

const refused: Record<string, readonly [request: unknown, error: string]> = {
  "no type": [
    {},
    "body: Expected an object whose type is plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey"
  ],
  "an unknown type": [
    { type: "kms", config: {} },
    "body: Expected an object whose type is plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey"
  ],
  "a config of another type": [
    { type: "plain", config: { key_name: "a" } },
    "config.key_name: is not a known field: only vault, vault_transit, azure_key_vault have it"
  ],
  "a local signer without its config": [{ type: "local" }, "config: is required (an object with keystore, passphrase)"],
  "a keystore that is a number": [local({ keystore: 3 }), "config.keystore: Expected a keystore"],
  "a keystore that is a list": [local({ keystore: [] }), "config.keystore: Expected a keystore"],
  "a keystore of 17 kB": [
    local({ keystore: { crypto: "x".repeat(17_000) } }),
    "config.keystore: Expected 2 to 16384 characters"
  ],
  "a passphrase of 2 kB": [local({ passphrase: "p".repeat(2000) }), "config.passphrase: "],
  "an address of another scheme": [vault({ address: "ftp://vault" }), "config.address: Expected an http or https URL"],
  "an address with credentials": [vault({ address: "https://u:p@vault" }), "config.address: Expected a URL without"],
  "an address with a query": [vault({ address: "https://vault/?a" }), "config.address: Expected a URL without"],
  "an address with an empty query": [vault({ address: "https://vault/?" }), "config.address: Expected a URL without"],
  "an address with a fragment": [vault({ address: "https://vault/#a" }), "config.address: Expected a URL without"],
  "an empty role": [vault({ role_id: "" }), "config.role_id: "],
  "no secret id": [vault({ secret_id: undefined }), "config.secret_id: "],
  "a key name that goes up": [vault({ key_name: "../a" }), "config.key_name: Expected a path of"],
  "a key name that goes up in between": [vault({ key_name: "a/../b" }), "config.key_name: Expected a path of"],
  "a key name with an empty part": [vault({ key_name: "a//b" }), "config.key_name: Expected a path of"],
  "a key name that starts with a slash": [vault({ key_name: "/a" }), "config.key_name: Expected a path of"],
  "a key name with a query": [vault({ key_name: "a?b" }), "config.key_name: Expected a path of"],
  "a key name that is encoded": [vault({ key_name: "a%2f..%2fb" }), "config.key_name: Expected a path of"],
  "a key name of 257 characters": [vault({ key_name: "a".repeat(257) }), "config.key_name: "],
  "a mount point that goes up": [vault({ mount_point: ".." }), "config.mount_point: Expected a path of"],
  "a namespace with a line break": [vault({ namespace: "a\nb" }), "config.namespace: Expected a path of"],
  "a transit key in a folder": [transit({ key_name: "a/b" }), "config.key_name: Expected a name of"],
  "no public key": [transit({ pubkey: undefined }), "config.pubkey: "],
  "a public key in hex": [transit({ pubkey: "07".repeat(32) }), "config.pubkey: Expected an ed25519 public key"],
  "a public key of 31 bytes": [transit({ pubkey: Buffer.alloc(31).toString("base64") }), "config.pubkey: Expected an"],
  "a public key with bits to spare": [transit({ pubkey: pubkey.replace("c=", "d=") }), "config.pubkey: Expected an"]
}

describe("signers", () => {
  it("the requests from which the invalid ones are derived are valid", () => {
    for (const request of [local({}), vault({}), transit({})]) assert.strictEqual(errorOf(request), "")
    assert.isTrue(pubkey.endsWith("c="))
  })

  for (const [name, [request, error]] of Object.entries(refused)) {
    it(`${name}: ${error}`, () => {
      assert.isTrue(errorOf(request).startsWith(error), errorOf(request))
    })
  }

  it("the mount point of an engine has a default", () => {
    const mounts = [vault({}), transit({}), vault({ mount_point: "kv/team-1" })].map((request) => {
      const signer = Schema.decodeUnknownSync(CreateSigner)(request)
      return signer.type === "vault" || signer.type === "vault_transit" ? signer.config.mount_point : undefined
    })
    assert.deepStrictEqual(mounts, ["secret", "transit", "kv/team-1"])
  })

  it("a keystore can be an object or its JSON text", () => {
    const keystore = { version: 3, crypto: { kdf: "scrypt", mac: "ab" } }
    assert.isTrue(Equal.equals(decode(local({ keystore })), decode(local({ keystore: JSON.stringify(keystore) }))))
    assert.isFalse(Equal.equals(decode(local({ keystore })), decode(local({ keystore: {} }))))
  })

  it("secrets of a request are not printed", () => {
    const secret = "s3cr3t"
    for (const request of [
      local({ keystore: { secret }, passphrase: secret }),
      vault({ role_id: secret, secret_id: secret }),
      transit({ role_id: secret, secret_id: secret }),
      { type: "plain", config: { key: "5ec8e7".padEnd(64, "0") } }
    ]) {
      const signer = Schema.decodeUnknownSync(CreateSigner)(request)
      assert.notMatch(JSON.stringify(signer) + String(signer), /s3cr3t|5ec8e7/)
    }
  })

  it.prop("every request is encoded as its type, its config and an optional id", [CreateSigner], ([request]) => {
    const wire = JSON.parse(Schema.encodeSync(Json.fromText(CreateSigner))(request))
    assert.strictEqual(wire.type, request.type)
    assert.deepStrictEqual(decode(wire), Result.succeed(request))
    if (request.type === "local") assert.strictEqual(wire.config.keystore, Redacted.value(request.config.keystore))
  })

  it.prop("a signer has an address on every network type of its curves", [Signer], ([signer]) => {
    const served = Object.keys(signer.addresses) as ReadonlyArray<NetworkType>
    assert.sameMembers([...served], [...networkTypesOn(served.map((networkType) => curveOf[networkType]))])
    const incomplete = Object.fromEntries(Object.entries(signer.addresses).slice(0, -1))
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(Signer)({ ...signer, addresses: incomplete })))
  })

  it("the signer types that support each network type are known", () => {
    const onBoth = ["plain", "local", "vault", "pkcs11", "aws_kms", "google_cloud_kms", "turnkey"]
    assert.sameMembers([...signerTypesFor("evm")], [...onBoth, "azure_key_vault"])
    for (const networkType of ["solana", "stellar"] as const) {
      assert.sameMembers([...signerTypesFor(networkType)], [...onBoth, "vault_transit"])
    }
  })
})
