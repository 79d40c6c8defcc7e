// The error of a body names every field that it lacks, also without the discriminator of a union, and the place where its JSON breaks.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Json from "../../src/api/Json.ts"
import { CreateNetwork } from "../../src/domain/network/Network.ts"
import { CreateRelayer } from "../../src/domain/relayer/Relayer.ts"
import { errorIn, strict } from "../../testkit/DecodedBody.ts"
import { batchOf } from "../../src/networks/core/TransactionRequests.ts"
import { SendEvmTransaction } from "../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"

const errorOf = (schema: Schema.Codec<unknown, unknown>, body: unknown) =>
  errorIn(Schema.decodeResult(Json.fromText(schema), strict)(JSON.stringify(body)))

describe("a body without its discriminator", () => {
  it("that is empty reports every missing field", () => {
    assert.strictEqual(
      errorOf(CreateRelayer, {}),
      "network_type: is required (evm, solana or stellar); name: is required; network: is required; paused: is required; signer_id: is required"
    )
    assert.strictEqual(
      errorOf(CreateSigner, {}),
      `type: is required (plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey)`
    )
    assert.strictEqual(
      errorOf(CreateNetwork, {}),
      "network_type: is required (evm, solana or stellar); name: is required"
    )
  })

  it("reports the valid values of the discriminator and the other missing fields", () => {
    assert.strictEqual(
      errorOf(CreateRelayer, { network_type: "bitcoin", name: "a", paused: false }),
      "network_type: Expected evm, solana or stellar; network: is required; signer_id: is required"
    )
  })

  it("reports the misspelled name and the other invalid fields", () => {
    assert.strictEqual(
      errorOf(CreateRelayer, {
        network_typ: "evm",
        name: 5,
        network: "sepolia",
        paused: false,
        policies: { eip1559: true }
      }),
      "network_type: is required (evm, solana or stellar); network_typ: is not a known field; did you mean network_type?; name: Expected a text: 1 to 256 characters; signer_id: is required; policies.eip1559: is not a known field (known: eip1559_pricing, gas_limit_estimation, gas_price_cap, include_revert_data, min_balance, private_transactions, private_fallback_after_seconds, private_estimates, whitelist_receivers, whitelist_selectors, top_up, top_up_out_per_day, allowed_delegates)"
    )
    assert.strictEqual(
      errorOf(CreateSigner, { typ: "plain" }),
      "type: is required (plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey); typ: is not a known field; did you mean type?"
    )
  })

  it("that is not an object is refused as a whole", () => {
    for (const body of [5, null, [], "text"]) {
      assert.strictEqual(
        errorOf(CreateRelayer, body),
        "body: Expected an object whose network_type is evm, solana or stellar"
      )
    }
  })

  it("with a valid discriminator reports the missing fields of its member", () => {
    assert.strictEqual(
      errorOf(CreateRelayer, { network_type: "evm" }),
      "name: is required; network: is required; paused: is required; signer_id: is required"
    )
  })

  it("is not compared with each member if it has more fields than any resource", () => {
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`unknown${n}`, n]))
    assert.strictEqual(
      errorOf(CreateSigner, unknown),
      "type: is required (plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey)"
    )
    assert.strictEqual(
      errorOf(CreateSigner, { config: unknown }),
      "type: is required (plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey)"
    )
  })
})

describe("a body that does not decode", () => {
  it("is refused also for what it lacks, although no field alone is required", () => {
    assert.match(
      errorOf(SendEvmTransaction, { recipient: "0x12", amount: "1" }),
      /^recipient: is not a known field \(known: to, value, .*\); amount: is not a known field; to: is required unless data or calls is given$/
    )
    assert.strictEqual(
      errorOf(SendSolanaTransaction, { speed: "quick" }),
      "speed: Expected safeLow, average, fast or fastest; transaction: is required unless instructions is given"
    )
    const ofNetwork = (field: string) => `${field}: is required: give it, or name a network in from that has it`
    assert.strictEqual(
      errorOf(CreateNetwork, { name: "x", network_type: "stellar", rpc_urls: ["x"], from: null }),
      [
        "rpc_urls.0.url: Expected an http or https URL",
        ofNetwork("average_blocktime_ms"),
        ofNetwork("passphrase")
      ].join("; ")
    )
    assert.strictEqual(
      errorOf(CreateNetwork, { name: "x", network_type: "stellar", rpc_urls: ["x"], from: "testnet" }),
      "rpc_urls.0.url: Expected an http or https URL"
    )
  })

  it("names what each body of a batch lacks", () => {
    assert.strictEqual(
      errorOf(batchOf(SendEvmTransaction), { transactions: [{ data: "0x" }, { value: "x" }, 5] }).replaceAll(
        /of wei .* string/g,
        "…"
      ),
      "transactions.1.value: Expected a whole number …; transactions.2: Expected an object; transactions.1.to: is required unless data or calls is given"
    )
  })

  it("that lacks something and is otherwise right decodes: rules of the network refuse it later", () => {
    assert.strictEqual(errorOf(SendEvmTransaction, { value: "1" }), "")
  })

  it("names the line and the column at which it is no JSON any more", () => {
    const decode = Schema.decodeResult(Json.fromText(CreateRelayer), strict)
    const place = (text: string) => errorIn(decode(text))
    assert.strictEqual(place('{"a": 1,}'), "body: Expected valid JSON (it breaks at line 1, column 9)")
    assert.strictEqual(place('{\n "a": 1,\n "b": tru\n}'), "body: Expected valid JSON (it breaks at line 3, column 7)")
    assert.strictEqual(place(""), "body: Expected valid JSON (it breaks at line 1, column 1)")
  })
})
