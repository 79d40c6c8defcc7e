// Authorizations and transactions of type 4, compared with what ethers 6.17.0 and viem sign, and with the encoder of the test kit.
import { Effect, Redacted } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { privateKeyToAccount } from "viem/accounts"
import * as EvmBytes from "../../../../src/networks/evm/chain/EvmBytes.ts"
import * as Authorizations from "../../../../src/networks/evm/rules/Authorizations.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import { bytesOf, hexOf } from "../../../../src/testkit/Keys.ts"
import * as Wire from "../../../../src/testkit/evm/Wire.ts"

const delegate = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed" as const
const authority = "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f"
const authorityKey = `0x${"46".repeat(32)}` as const
const sponsorKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

/** What `authorizeSync` of ethers 6.17.0 gives for the key 0x46…46. */
const byEthers: ReadonlyArray<Authorizations.Authorization> = [
  {
    chainId: 11_155_111,
    address: delegate,
    nonce: 0,
    yParity: 0,
    r: "0xe52f37f1b74dfea1dbfa978c6eb14110de24ce7ec03e6f5b987a73d84ed19ab8",
    s: "0x461351ef1e6d8ec83a86dcd8a725d235b66a5bce7e3dee67849308bd36306aa4"
  },
  {
    chainId: 0,
    address: delegate,
    nonce: 300,
    yParity: 0,
    r: "0x1e613c6f552262afb0337b8712cbc2f50bc38791d5f559fbc97b3fdd088d012c",
    s: "0x4e584bb418a082261f1ce236410647afe1a179a47439700b31016f1de54632d0"
  },
  {
    chainId: 1,
    address: delegate,
    nonce: Number.MAX_SAFE_INTEGER - 1,
    yParity: 0,
    r: "0x1546e206c1f56c1d788b3a8f7fd2bbbdb68282cd2b17792b7c965c8b7e39c1ae",
    s: "0x09ce1d191ef8b474fdb089967b232870126f893ecd9ff899a4593a6b6e509faa"
  },
  {
    chainId: 1,
    address: delegate,
    nonce: 46,
    yParity: 1,
    r: "0x00a948740810ec65c775aafac9d06e386bb01b03931049467e11e2dfb5cbf67b",
    s: "0x3a30dd7c74bfe6a9090111822135719ebdd6c38f4d6d3bfcee349413349b5823"
  }
]

/** A transaction of ethers 6.17.0 with the first of these authorizations. */
const listed = {
  unsignedHash: "0xf6c5b724b751b71589b3617c544c3086f25726f2f02dee6a0c163fd4324704cc",
  raw: "0x04f8cb83aa36a707020983015f90949d8a62f656a8d1615c1294fd71e9cfb3e4855a4f0584a9059cbbc0f85ff85d83aa36a7945aaeb6053f3e94c9b9a09f33669435e7ef1beaed8080a0e52f37f1b74dfea1dbfa978c6eb14110de24ce7ec03e6f5b987a73d84ed19ab8a0461351ef1e6d8ec83a86dcd8a725d235b66a5bce7e3dee67849308bd36306aa401a04f40089d115f2fe9439d87325be115fae9d9d95e04d3e17127e6ba0bbfd541cca0574f3cf3592e22c908904da268fe08f89e6c92857c2a56e74e4c414736899852",
  hash: "0xbc45e9cf558a442e202efe58c7cf3a59c47d849117833c4f7c5445884f56333f"
}

const unsignedWith = (authorizations: ReadonlyArray<Authorizations.Authorization>) => ({
  chainId: 11_155_111,
  nonce: 7,
  to: authority,
  value: 5n,
  data: "0xa9059cbb",
  gasLimit: 90_000n,
  fees: { type: "eip1559", maxFee: 9n, tip: 2n } as const,
  authorizations
})

describe("Authorizations", () => {
  it.effect("the authority of an authorization is the account whose key has signed it", () =>
    Effect.gen(function* () {
      for (const entry of byEthers) {
        assert.strictEqual(yield* EvmBytes.authorityOf(entry), authority)
        assert.strictEqual(Wire.authorityOf(entry), authority)
        const { chainId, address, nonce } = entry
        assert.deepStrictEqual(Wire.authorized({ chainId, address, nonce }, bytesOf(authorityKey)), {
          ...entry,
          authority
        })
      }
    })
  )

  it.effect("an authorization of viem has the same signer and signature", () =>
    Effect.gen(function* () {
      const account = privateKeyToAccount(authorityKey)
      for (const entry of byEthers) {
        const { chainId, nonce } = entry
        const signed = yield* Effect.promise(() => account.signAuthorization({ chainId, address: delegate, nonce }))
        assert.deepStrictEqual([signed.r, signed.s, signed.yParity], [entry.r, entry.s, entry.yParity])
      }
    })
  )

  it.effect("another field of an authorization has another authority", () =>
    Effect.gen(function* () {
      const [entry] = byEthers
      assert.isDefined(entry)
      for (const change of [{ chainId: 1 }, { nonce: 1 }, { address: authority }, { yParity: 1 } as const]) {
        assert.notStrictEqual(yield* EvmBytes.authorityOf({ ...entry, ...change }), authority)
      }
    })
  )

  it.effect("a signature that no key makes has no authority", () =>
    Effect.gen(function* () {
      const [entry] = byEthers
      assert.isDefined(entry)
      // 5 is no x coordinate of the curve.
      const impossible = { ...entry, r: `0x${"5".padStart(64, "0")}` }
      assert.isUndefined(yield* EvmBytes.authorityOf(impossible))
    })
  )

  it.effect("a transaction with authorizations has the bytes, the hash and the signed hash of ethers", () =>
    Effect.gen(function* () {
      const unsigned = unsignedWith(byEthers.slice(0, 1))
      const digest = yield* EvmBytes.digestOf(unsigned)
      assert.strictEqual(hexOf(digest), listed.unsignedHash)
      const signature = yield* LocalKey.make(Redacted.make(sponsorKey)).sign("secp256k1", digest)
      const { raw, hash } = yield* EvmBytes.seal(unsigned, signature)
      assert.strictEqual(hexOf(raw), listed.raw)
      assert.strictEqual(hash, listed.hash)
    })
  )

  it.effect("leading zeros of numbers and signatures are not in the bytes", () =>
    Effect.gen(function* () {
      const unsigned = unsignedWith(byEthers)
      const kit = Wire.sealed(unsigned, bytesOf(sponsorKey))
      const digest = yield* EvmBytes.digestOf(unsigned)
      const signature = yield* LocalKey.make(Redacted.make(sponsorKey)).sign("secp256k1", digest)
      const { raw, hash } = yield* EvmBytes.seal(unsigned, signature)
      assert.strictEqual(hexOf(raw), hexOf(kit.raw))
      assert.strictEqual(hash, kit.hash)
    })
  )

  it("the test kit reads the authorizations of signed bytes", () => {
    const unsigned = unsignedWith(byEthers)
    const { raw, from } = Wire.sealed(unsigned, bytesOf(sponsorKey))
    const opened = Wire.opened(raw)
    assert.deepInclude(opened, { ...unsigned, from })
    const { authorizations: _, ...rest } = unsigned
    const plain = Wire.sealed(rest, bytesOf(sponsorKey))
    assert.isUndefined(Wire.opened(plain.raw).authorizations)
  })

  it.effect("a gas price and authorizations do not make bytes together", () =>
    Effect.gen(function* () {
      const legacy = { ...unsignedWith(byEthers), fees: { type: "legacy", gasPrice: 9n } as const }
      assert.strictEqual((yield* Effect.exit(EvmBytes.digestOf(legacy)))._tag, "Failure")
    })
  )

  it("nodes get quantities without leading zeros and without v", () => {
    assert.deepStrictEqual(byEthers.map(Authorizations.forNodes)[3], {
      chainId: "0x1",
      address: delegate,
      nonce: "0x2e",
      yParity: "0x1",
      r: "0xa948740810ec65c775aafac9d06e386bb01b03931049467e11e2dfb5cbf67b",
      s: "0x3a30dd7c74bfe6a9090111822135719ebdd6c38f4d6d3bfcee349413349b5823"
    })
    assert.deepInclude(Authorizations.forNodes({ ...(byEthers[1] ?? assert.fail()), nonce: 0 }), {
      chainId: "0x0",
      nonce: "0x0",
      yParity: "0x0"
    })
  })

  it("the code of a delegation names its delegate, and the zero address leaves no code", () => {
    const code = `0xef0100${delegate.slice(2)}`
    assert.strictEqual(Authorizations.codeOf({ address: delegate }), code)
    assert.strictEqual(Authorizations.codeOf({ address: Authorizations.noDelegate }), "0x")
    assert.strictEqual(Authorizations.delegateOf(code.toUpperCase().replace("0X", "0x")), delegate)
    for (const other of ["0x", "0xef0100", `${code}00`, `0xef0101${delegate.slice(2)}`, "0x6000"]) {
      assert.isUndefined(Authorizations.delegateOf(other))
    }
    assert.isTrue(Authorizations.isDelegated({ address: delegate }, code))
    assert.isFalse(Authorizations.isDelegated({ address: delegate }, "0x"))
    assert.isTrue(Authorizations.isDelegated({ address: Authorizations.noDelegate }, "0x"))
    assert.isFalse(Authorizations.isDelegated({ address: Authorizations.noDelegate }, code))
    assert.deepStrictEqual(["0x", code, "0x6000"].map(Authorizations.isForeignCode), [false, false, true])
  })
})
