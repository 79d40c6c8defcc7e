// Signers of every type over HTTP: how they are created, verified, used and deleted.
import { assert } from "@effect/vitest"
import { Keypair } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SignerId, SignerNotFound } from "../../../src/domain/signer/Signer.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { roleId, secretId } from "../../../testkit/Vault.ts"
import { config, key, keystore, passphrase, prepared, signers, transitConfig } from "./fixtures.ts"
import { created, services } from "./Created.ts"
import { verify } from "./requests.ts"

const good = (curve: string) => ["public_key", "sign", "verify"].map((step) => `${curve} ${step} ok`)

layerEach(services)("signers over HTTP", (it) => {
  it.effect("are created, read, verified and listed, and show their addresses, whatever their type", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const vault = yield* prepared
      const plain = yield* api.call(signers, { body: { id: "plain-1", type: "plain", config: { key } } })
      const { addresses } = plain.json.data as { addresses: object }
      assert.deepStrictEqual(Object.keys(addresses), ["evm", "solana", "stellar"])
      assert.deepStrictEqual(plain.json.data, { id: "plain-1", type: "plain", config: {}, addresses })

      const { role_id: _, secret_id: __, ...shown } = config(vault)
      const expected = [
        [
          { id: "local-1", type: "local", config: { keystore, passphrase } },
          { config: {}, addresses }
        ],
        [
          { id: "vault-1", type: "vault", config: config(vault) },
          { config: { ...shown, mount_point: "secret" }, addresses }
        ],
        [
          { id: "transit-1", type: "vault_transit", config: transitConfig(vault) },
          {
            config: { ...shown, key_name: "solana.1", pubkey: vault.publicKey("solana.1"), mount_point: "transit" },
            addresses: undefined
          }
        ]
      ] as const
      for (const [body, expectation] of expected) {
        const created = yield* api.call(signers, { body })
        assert.strictEqual(created.status, 201, created.text)
        const data = created.json.data as { addresses: object }
        assert.deepStrictEqual(data as unknown, {
          id: body.id,
          type: body.type,
          ...expectation,
          addresses: expectation.addresses ?? data.addresses
        })
        assert.strictEqual(created.headers.get("location"), `${signers}/${body.id}`)
        assert.strictEqual((yield* api.call(`${signers}/${body.id}`)).text, created.text)
      }

      const transit = (yield* api.call(`${signers}/transit-1`)).json.data as { addresses: Record<string, string> }
      assert.deepStrictEqual(Object.keys(transit.addresses).sort(), ["solana", "stellar"])
      assert.match(transit.addresses["stellar"] ?? "", /^G[A-Z2-7]{55}$/)

      const both = [...good("secp256k1"), ...good("ed25519")]
      for (const id of ["plain-1", "local-1", "vault-1"]) {
        assert.deepStrictEqual(yield* verify(id), { verified: true, steps: both })
      }
      const steps = ["ed25519 key_state ok version 1 of 1", ...good("ed25519")]
      assert.deepStrictEqual(yield* verify("transit-1"), { verified: true, steps })

      const list = yield* api.call(signers)
      assert.deepStrictEqual(
        (list.json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        ["plain-1", "local-1", "vault-1", "transit-1"]
      )
    })
  )
})

layerEach(created)("a signer", (it) => {
  it.effect("is verified in steps, and the response says which step failed and why", () =>
    Effect.gen(function* () {
      const vault = yield* prepared
      const skipped = (curve: string) => [`${curve} sign skipped`, `${curve} verify skipped`]

      vault.secrets.set("hot/wallet-1", { value: "02".repeat(32) })
      const another = "public_key failed is not the key that the signer was created with"
      assert.deepStrictEqual(yield* verify("vault-1"), {
        verified: false,
        steps: [`secp256k1 ${another}`, ...skipped("secp256k1"), `ed25519 ${another}`, ...skipped("ed25519")]
      })

      vault.secrets.delete("hot/wallet-1")
      const gone = "public_key failed Vault has no such key"
      assert.deepStrictEqual((yield* verify("vault-1")).steps, [
        `secp256k1 ${gone}`,
        ...skipped("secp256k1"),
        `ed25519 ${gone}`,
        ...skipped("ed25519")
      ])

      vault.faults.set("keys", 503)
      assert.deepStrictEqual(yield* verify("transit-1"), {
        verified: false,
        steps: ["ed25519 key_state failed Vault does not answer", "ed25519 public_key skipped", ...skipped("ed25519")]
      })

      vault.faults.clear()
      vault.faults.set("sign", 403)
      assert.deepStrictEqual(yield* verify("transit-1"), {
        verified: false,
        steps: [
          "ed25519 key_state ok version 1 of 1",
          "ed25519 public_key ok",
          "ed25519 sign failed Vault does not let this role use the key",
          "ed25519 verify skipped"
        ]
      })

      vault.faults.set("sign", "other")
      assert.deepStrictEqual(yield* verify("transit-1"), {
        verified: false,
        steps: [
          "ed25519 key_state ok version 1 of 1",
          "ed25519 public_key ok",
          "ed25519 sign ok",
          "ed25519 verify failed the signature does not match the public key"
        ]
      })

      yield* prepared
      assert.isTrue((yield* verify("vault-1")).verified)
      assert.isTrue((yield* verify("transit-1")).verified)
    })
  )

  it.effect("signs for other services of the process", () =>
    Effect.gen(function* () {
      const service = yield* Signers
      const message = Buffer.from("a message")
      for (const id of ["plain-1", "local-1", "vault-1", "transit-1"]) {
        const signer = yield* service.get(SignerId.make(id))
        const backend = yield* service.use(signer.id)
        const address = "stellar" in signer.addresses ? signer.addresses.stellar : assert.fail(id)
        const stellar = Keypair.fromPublicKey(address)
        assert.isTrue(stellar.verify(message, yield* backend.sign("ed25519", message)), id)
      }
      assert.instanceOf(yield* Effect.flip(service.use(SignerId.make("none"))), SignerNotFound)
    })
  )

  it.effect("has only sealed secrets in the database, and none that Vault holds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ id: string; has_key: boolean; has_config: boolean; text: string }>`
        SELECT id, key_sealed IS NOT NULL AS has_key, config_sealed IS NOT NULL AS has_config,
          config::text || coalesce(encode(key_sealed, 'escape'), '') || coalesce(encode(config_sealed, 'escape'), '') AS text
        FROM signers ORDER BY seq`
      assert.deepStrictEqual(
        rows.map(({ id, has_key, has_config }) => [id, has_key, has_config]),
        [
          ["plain-1", true, false],
          ["local-1", true, false],
          ["vault-1", false, true],
          ["transit-1", false, true]
        ]
      )
      for (const { text } of rows)
        for (const secret of [key, passphrase, roleId, secretId]) assert.notInclude(text, secret)
    })
  )
})
