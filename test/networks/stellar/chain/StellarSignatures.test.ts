// Signatures are recognized among many accounts by the letters of an address that a hint decides.
import { assert, describe, it } from "@effect/vitest"
import { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { createHash } from "node:crypto"
import { accountsIn, candidatesOf, isSignedBy } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"

const hash = createHash("sha256").update("a transaction").digest()

const keys = Array.from({ length: 300 }, (_, index) =>
  Keypair.fromRawEd25519Seed(createHash("sha256").update(`key ${index}`).digest())
)
const addresses = keys.map((key) => key.publicKey())

describe("a signature", () => {
  it("is found by its hint, whichever key has signed", () => {
    for (const key of keys) {
      const found = candidatesOf(hash, [key.signDecorated(hash)], addresses)
      assert.deepStrictEqual(found, [{ address: key.publicKey(), isValid: true }])
    }
  })

  it("with the hint of another account is no valid one", () => {
    const [signer, other] = keys
    assert.isDefined(signer)
    assert.isDefined(other)
    const forged = new xdr.DecoratedSignature({ hint: other.signatureHint(), signature: signer.sign(hash) })
    assert.deepStrictEqual(candidatesOf(hash, [forged], addresses), [{ address: other.publicKey(), isValid: false }])
  })

  it("has the same verdict whenever it is asked for, and one of its own for each hash and account", () => {
    const [signer, other] = keys
    assert.isDefined(signer)
    assert.isDefined(other)
    const signature = signer.sign(hash)
    const otherHash = createHash("sha256").update("another transaction").digest()
    const asks = [
      { address: signer.publicKey(), of: hash, isValid: true },
      { address: signer.publicKey(), of: otherHash, isValid: false },
      { address: other.publicKey(), of: hash, isValid: false }
    ]
    for (const { address, of, isValid } of [...asks, ...asks]) {
      assert.strictEqual(isSignedBy(address, of, signature), isValid)
    }
  })
})

describe("the accounts that XDR may name", () => {
  it("have the letters of every key in it, and of every hint", () => {
    for (const [index, key] of keys.entries()) {
      const bytes = index % 2 === 0 ? Buffer.from(key.rawPublicKey()) : Buffer.from(key.signatureHint())
      const { from, length, texts } = accountsIn(Buffer.concat([Buffer.alloc(4 * (index % 3)), bytes]), [])
      assert.include(texts, key.publicKey().slice(from, from + length))
    }
  })

  it("are few: one for each four bytes, and those that are named besides", () => {
    const [one] = addresses
    assert.isDefined(one)
    const { from, length, texts } = accountsIn(new Uint8Array(11), [one])
    assert.deepStrictEqual(texts, ["AAAAA", one.slice(from, from + length)])
  })
})
