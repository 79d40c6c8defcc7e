// Signatures are recognized among many accounts by the letters of an address that a hint decides.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { createHash } from "node:crypto"
import { decode } from "../../../../src/networks/stellar/chain/StellarDecoding.ts"
import {
  accountsIn,
  candidatesOf,
  isSignedBy,
  networkIdOf
} from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import { envelope, keyNamed, payment } from "../../../../testkit/stellar/Building.ts"

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

describe("an envelope that was decoded before", () => {
  const [user, own] = [keyNamed("user"), keyNamed("own")]
  const network = "a network"
  const text = envelope(user, [payment("GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI", 1n)], {
    sequence: 1n,
    network,
    signers: [user, own]
  })
  const read = (passphrase: string, known: ReadonlyArray<string>) =>
    Effect.map(decode(text, { networkId: networkIdOf(passphrase), known }), (decoded) => {
      const found = Result.getOrThrow(decoded)
      return found.kind === "transaction" ? found : assert.fail(found.kind)
    })

  it.effect("has the signatures of the accounts that each reader knows", () =>
    Effect.gen(function* () {
      const ofUser = { address: user.publicKey(), isValid: true }
      const ofOwn = { address: own.publicKey(), isValid: true }
      for (let times = 0; times < 2; times++) {
        assert.deepStrictEqual((yield* read(network, [])).signatures, [ofUser])
        assert.deepStrictEqual((yield* read(network, [own.publicKey()])).signatures, [ofUser, ofOwn])
      }
    })
  )

  it.effect("has a hash and verdicts of its own on each network", () =>
    Effect.gen(function* () {
      for (let times = 0; times < 2; times++) {
        const here = yield* read(network, [])
        const there = yield* read("another network", [])
        assert.notStrictEqual(here.hash, there.hash)
        assert.deepStrictEqual(
          [...here.signatures, ...there.signatures].map(({ isValid }) => isValid),
          [true, false]
        )
      }
    })
  )

  it.effect("is refused again if it was refused", () =>
    Effect.gen(function* () {
      const reading = { networkId: networkIdOf(network), known: [] }
      for (let times = 0; times < 2; times++) {
        for (const [given, code] of [
          [`${text.slice(0, -4)}AAA=`, "xdr_invalid"],
          [`${text} `, "xdr_encoding"]
        ] as const) {
          const decoded = yield* decode(given, reading)
          assert.strictEqual(Result.isFailure(decoded) ? decoded.failure.code : "accepted", code)
        }
      }
    })
  )
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
