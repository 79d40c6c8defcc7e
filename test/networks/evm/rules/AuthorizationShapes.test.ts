// Authorizations in the shapes of libraries, and what the error says of those that are none.
import { Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { toRlp } from "viem"
import * as Json from "../../../../src/api/Json.ts"
import { BadRequest } from "../../../../src/domain/request/Request.ts"
import { AuthorizationList } from "../../../../src/networks/evm/rules/AuthorizationShapes.ts"
import type { Authorization } from "../../../../src/networks/evm/rules/Authorizations.ts"
import { strict } from "../../../../testkit/DecodedBody.ts"

const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const r = "0xa948740810ec65c775aafac9d06e386bb01b03931049467e11e2dfb5cbf67b"
const r64 = `0x00${r.slice(2)}`
const s = "0x3a30dd7c74bfe6a9090111822135719ebdd6c38f4d6d3bfcee349413349b5823"

const entry: Authorization = { chainId: 1, address, nonce: 46, yParity: 1, r: r64, s }
const own = { chain_id: 1, address, nonce: 46, y_parity: 1, r: r64, s }

const Body = Schema.Struct({ authorization_list: AuthorizationList })
const decode = Schema.decodeResult(Json.fromText(Body), strict)

/** `list`: JSON. */
const listOf = (list: string) => Result.map(decode(`{"authorization_list":${list}}`), (body) => body.authorization_list)
const read = (...given: ReadonlyArray<unknown>) => listOf(JSON.stringify(given))
const errorIn = (result: ReturnType<typeof listOf>): string =>
  Result.isFailure(result) ? (BadRequest.fromIssue(result.failure.issue, "body").error ?? "") : "accepted"
const errorOf = (given: unknown): string => errorIn(read(given))

const lower = { ...entry, address: address.toLowerCase() }

const rlpOf = (...fields: ReadonlyArray<`0x${string}`>): string => toRlp(fields)
const cast = rlpOf("0x01", address, "0x2e", "0x01", r, s)

describe("an authorization", () => {
  it.each([
    ["of this API", own],
    ["of viem without v", { address, chainId: 1, nonce: 46, r: r64, s, yParity: 1 }],
    ["of viem with v as a text", { address, chainId: 1, nonce: 46, r: r64, s, v: "28", yParity: 1 }],
    [
      "of ethers as JSON",
      { address, nonce: "46", chainId: "1", signature: { _type: "signature", networkV: null, r: r64, s, v: 28 } }
    ],
    [
      "of ethers with its signature in 65 bytes",
      { address, nonce: "46", chainId: "1", signature: `${r64}${s.slice(2)}1c` }
    ],
    [
      "with a signature whose last byte is the parity",
      { ...own, r: null, s: null, y_parity: null, signature: `${r64}${s.slice(2)}01` }
    ],
    ["of ox", { address, chainId: 1, nonce: "46", r: r64, s, yParity: 1 }],
    ["of a node", { chainId: "0x1", address, nonce: "0x2e", yParity: "0x1", r, s, v: "0x1" }],
    ["of eth-account with hex strings", { ...own, authority: address, authorization_hash: r64 }],
    ["with v alone", { chain_id: 1, address, nonce: 46, v: 28, r, s }],
    ["with both forms of its signature", { ...own, signature: { r, s, yParity: 1 } }],
    ["of cast", cast],
    ["of cast in upper case", `0x${cast.slice(2).toUpperCase()}`]
  ])("%s is read", (_, given) => {
    assert.deepStrictEqual(read(given), Result.succeed([typeof given === "string" ? lower : entry]))
  })

  it("with zeros is read from the RLP of cast", () => {
    const zeros = rlpOf("0x", address, "0x", "0x", r, s)
    assert.deepStrictEqual(read(zeros), Result.succeed([{ ...lower, chainId: 0, nonce: 0, yParity: 0 }]))
  })

  it("has the same text in every shape", () => {
    const encode = Schema.encodeSync(Body)
    const texts = [
      { ...own, address: lower.address },
      cast,
      { address: lower.address, chainId: 1, nonce: 46, v: 28, r, s }
    ].map((given) => JSON.stringify(encode({ authorization_list: Result.getOrThrow(read(given)) })))
    assert.deepStrictEqual(
      [...new Set(texts)],
      [JSON.stringify({ authorization_list: [{ ...own, address: lower.address }] })]
    )
  })

  const { r: _, ...withoutR } = own
  const { y_parity: __, ...withoutParity } = own
  const { chain_id: ___, ...withoutChain } = own
  const { nonce: ____, ...withoutNonce } = own
  const high = `0x8${"0".repeat(63)}`

  it.each([
    ["no object", 5, "authorization_list.0: Expected an object, or as a text the RLP of the six fields"],
    ["null", null, "authorization_list.0: Expected an object"],
    ["a list", [own], "authorization_list.0: Expected an object"],
    ["a text that is no RLP", "0x1234", "authorization_list.0: Expected an object, or as a text the RLP"],
    ["an RLP of five fields", rlpOf("0x01", address, "0x2e", r, s), "authorization_list.0: Expected an object"],
    ["an RLP that is cut", cast.slice(0, -2), "authorization_list.0: Expected an object"],
    ["an RLP with a byte too many", `${cast}00`, "authorization_list.0: Expected an object"],
    [
      "an RLP with a short address",
      rlpOf("0x01", "0x11", "0x2e", "0x01", r, s),
      "authorization_list.0.address: Expected an address"
    ],
    ["no chain id", withoutChain, "authorization_list.0.chain_id: is required"],
    ["no nonce", withoutNonce, "authorization_list.0.nonce: is required"],
    ["no address", { ...own, address: null }, "authorization_list.0.address: is required"],
    ["no r", withoutR, "authorization_list.0.r: is required"],
    ["no parity", withoutParity, "authorization_list.0.y_parity: is required"],
    [
      "a chain id below zero",
      { ...own, chain_id: -1 },
      "authorization_list.0.chain_id: Expected an integer from 0 to 9007199254740991"
    ],
    [
      "a fraction as the chain id",
      { ...withoutChain, chainId: 1.5 },
      "authorization_list.0.chainId: Expected an integer"
    ],
    [
      "a nonce that no account reaches",
      { ...own, nonce: "18446744073709551615" },
      "authorization_list.0.nonce: Expected an integer from 0 to 9007199254740990"
    ],
    ["a parity above 1", { ...own, y_parity: 2 }, "authorization_list.0.y_parity: Expected 0 or 1"],
    ["a v of 29", { ...withoutParity, v: 29 }, "authorization_list.0.v: Expected 27 or 28"],
    ["a v that is no number", { ...own, v: true }, "authorization_list.0.v: Expected 27 or 28"],
    ["a v of the other parity", { ...own, v: 27 }, "authorization_list.0.v: differs from y_parity"],
    ["r as a number", { ...own, r: 1 }, "authorization_list.0.r: is a JSON number: send hex strings"],
    ["s as a number", { ...own, s: 1e70 }, "authorization_list.0.s: is a JSON number: send hex strings"],
    ["r in decimal digits", { ...own, r: "12345" }, "authorization_list.0.r: Expected a hex string"],
    ["r of 33 bytes", { ...own, r: `0x${"1".repeat(66)}` }, "authorization_list.0.r: Expected a hex string"],
    [
      "the zeros of ethers",
      { ...own, r: `0x${"0".repeat(64)}`, s: "0x0" },
      "authorization_list.0.r: is zero: this is no signature. ethers writes zeros"
    ],
    [
      "r above the order of the curve",
      { ...own, r: `0x${"f".repeat(64)}` },
      "authorization_list.0.r: is above the order"
    ],
    ["a high s", { ...own, s: high }, "authorization_list.0.s: is in the upper half of the curve"],
    [
      "a signature of 64 bytes",
      { ...own, signature: `${r64}${s.slice(2)}` },
      "authorization_list.0.signature: Expected 65 bytes"
    ],
    [
      "a signature that is a number",
      { ...own, signature: 5 },
      "authorization_list.0.signature: Expected an object with r, s"
    ],
    [
      "a signature with zeros",
      { address, nonce: 46, chainId: 1, signature: { r: "0x0", s, v: 28 } },
      "authorization_list.0.signature.r: is zero"
    ],
    [
      "a signature without v",
      { address, nonce: 46, chainId: 1, signature: { r, s } },
      "authorization_list.0.signature.y_parity: is required"
    ],
    [
      "two signatures",
      { ...own, signature: { r, s, yParity: 0 } },
      "authorization_list.0.signature: differs from r, s and y_parity"
    ]
  ])("with %s is refused in words that name the field", (_, given, expected) => {
    assert.include(errorOf(given), expected)
  })

  it("whose r is a JSON number of 78 digits is refused, although its digits can be read", () => {
    const text = JSON.stringify([own]).replace(`"${r64}"`, BigInt(r).toString())
    assert.include(errorIn(listOf(text)), "authorization_list.0.r: is a JSON number: send hex strings")
  })

  it("with several faults names all of them", () => {
    const error = errorOf({ ...own, chain_id: "x", r: 1, s: high })
    for (const field of ["chain_id", "r", "s"]) assert.include(error, `authorization_list.0.${field}:`)
  })

  it("in a second place is named by it", () => {
    assert.include(errorIn(read(own, { ...own, r: 1 })), "authorization_list.1.r:")
  })

  it("is one of 1 to 10", () => {
    assert.include(errorIn(listOf("[]")), "authorization_list: Expected 1 to 10 authorizations")
    const many = (count: number) => read(...Array.from({ length: count }, () => own))
    assert.isTrue(Result.isSuccess(many(10)))
    assert.include(errorIn(many(11)), "authorization_list: Expected 1 to 10 authorizations")
  })

  it("as a program has it is taken, and a signature that is none is refused", () => {
    const decodeValue = Schema.decodeUnknownResult(Schema.toType(Body), strict)
    assert.deepStrictEqual(
      decodeValue({ authorization_list: [entry] }),
      Result.succeed({ authorization_list: [entry] })
    )
    for (const fault of [{ r: `0x${"0".repeat(64)}` }, { s: `0x8${"0".repeat(63)}` }, { yParity: 2 }, { nonce: -1 }]) {
      assert.isTrue(Result.isFailure(decodeValue({ authorization_list: [{ ...entry, ...fault }] })))
    }
  })
})
