// The error of a body without the discriminator of a union names every missing field.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Json from "../../src/api/Json.ts"
import { CreateNetwork } from "../../src/domain/network/Network.ts"
import { CreateRelayer } from "../../src/domain/relayer/Relayer.ts"
import { errorIn, strict } from "../../testkit/DecodedBody.ts"
import { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"

const errorOf = (schema: Schema.Codec<unknown, unknown>, body: unknown) =>
  errorIn(Schema.decodeResult(Json.fromText(schema), strict)(JSON.stringify(body)))

describe("a body without its discriminator", () => {
  it("that is empty reports every missing field", () => {
    assert.strictEqual(
      errorOf(CreateRelayer, {}),
      "network_type: is required; name: is required; network: is required; paused: is required; signer_id: is required"
    )
    assert.strictEqual(errorOf(CreateSigner, {}), "type: is required")
    assert.strictEqual(errorOf(CreateNetwork, {}), "network_type: is required; name: is required")
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
      "network_type: is required; network_typ: is not a known field; did you mean network_type?; name: Expected a text: 1 to 256 characters; signer_id: is required; policies.eip1559: is not a known field"
    )
    assert.strictEqual(
      errorOf(CreateSigner, { typ: "plain" }),
      "type: is required; typ: is not a known field; did you mean type?"
    )
  })

  it("that is not an object is refused as a whole", () => {
    for (const body of [5, null, [], "text"]) {
      assert.strictEqual(errorOf(CreateRelayer, body), "body: network_type must be evm, solana or stellar")
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
    assert.strictEqual(errorOf(CreateSigner, unknown), "type: is required")
    assert.strictEqual(errorOf(CreateSigner, { config: unknown }), "type: is required")
  })
})
