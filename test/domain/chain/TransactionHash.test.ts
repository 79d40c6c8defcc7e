// Each network type writes hashes of transactions in its own form.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalHash, hashFault, TransactionHash } from "../../../src/domain/chain/Amount.ts"
import type { NetworkType } from "../../../src/domain/network/Network.ts"

const evm = `0x${"5C".repeat(32)}`
const stellar = "5C".repeat(32)
const solana = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"

const types: ReadonlyArray<NetworkType> = ["evm", "solana", "stellar"]

describe("a hash of a transaction", () => {
  const isHash = Schema.is(TransactionHash)

  it("has the form of one network type, and no other network type takes it", () => {
    for (const [own, hash] of [
      ["evm", evm],
      ["solana", solana],
      ["stellar", stellar]
    ] as const) {
      assert.isTrue(isHash(hash))
      for (const type of types) assert.strictEqual(hashFault(type, hash) === undefined, type === own, `${type} ${hash}`)
    }
  })

  it("that is too short, or has characters of no alphabet, is refused", () => {
    for (const hash of ["", "0x12", "5C".repeat(31), `0x${"5g".repeat(32)}`, `${solana.slice(0, -1)}0`]) {
      assert.isFalse(isHash(hash), hash)
    }
  })

  it("is compared in lower case if it is hex; base58 keeps its case", () => {
    assert.strictEqual(canonicalHash(evm), evm.toLowerCase())
    assert.strictEqual(canonicalHash(stellar), stellar.toLowerCase())
    assert.strictEqual(canonicalHash(solana), solana)
  })
})
