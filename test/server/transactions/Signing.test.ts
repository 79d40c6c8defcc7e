// Signatures of typed data over HTTP (EIP-712). viem computes the same digests independently of the service.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { recoverTypedDataAddress } from "viem"
import { privateKeyToAddress } from "viem/accounts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { prepare, receiver } from "./Fixtures.ts"

/** The address of the key in `Fixtures.ts`. */
const signer = privateKeyToAddress(`0x${"03".repeat(32)}`)

const typedData = {
  domain: {
    name: "Example",
    version: "1",
    chainId: 31_337,
    verifyingContract: receiver,
    salt: `0x${"5c".repeat(32)}`
  },
  types: {
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" }
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person[]" },
      { name: "amount", type: "uint256" },
      { name: "contents", type: "bytes" }
    ]
  },
  primaryType: "Mail",
  message: {
    from: { name: "Cow", wallet: receiver },
    to: [{ name: "Bob", wallet: receiver }],
    amount: "115792089237316195423570985008687907853269984665640564039457584007913129639935",
    contents: "0xdeadbeef"
  }
} as const

const sign = (body: object) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) => call("/api/v1/relayers/sender/sign-typed-data", { body }))

const { domain, types, message } = typedData

/** The error that the response has, and the body. */
const invalid: ReadonlyArray<readonly [what: string, error: string, body: object]> = [
  [
    "an unknown field of the domain",
    "domain.chain: is not a known field; did you mean chainId?",
    { ...typedData, domain: { chain: 1 } }
  ],
  [
    "a short contract",
    "domain.verifyingContract: Expected an address: 0x and 40 hex digits",
    { ...typedData, domain: { verifyingContract: "0x12" } }
  ],
  ["a missing message", "message: is required", { domain, types, primaryType: "Mail" }],
  [
    "a domain that lacks a declared field",
    "domain: does not fit types.EIP712Domain",
    { ...typedData, domain: {}, types: { ...types, EIP712Domain: [{ name: "salt", type: "bytes32" }] } }
  ],
  ["a primary type that is not declared", "primaryType: is not in types", { ...typedData, primaryType: "Letter" }],
  [
    "a type with the name of a Solidity type",
    "types: must not have a type with the name of a Solidity type",
    { ...typedData, types: { Mail: [{ name: "a", type: "uint8" }], uint8: [] }, message: { a: 1 } }
  ],
  [
    "an integer without a size",
    "types: must say the size of int and uint, such as uint256",
    { ...typedData, types: { Mail: [{ name: "a", type: "uint" }] }, message: { a: 1 } }
  ],
  [
    "an integer that is too large",
    "message: does not fit types (EIP-712)",
    { ...typedData, types: { Mail: [{ name: "a", type: "uint8" }] }, message: { a: 256 } }
  ],
  ["a member that is missing", "message: does not fit types (EIP-712)", { ...typedData, message: {} }],
  ["one hash of two", "hash_struct_message: is required", { domain_separator: "11".repeat(32) }]
]

const tooMuch =
  "message: takes too long to hash: send fewer structs, shorter types, or domain_separator and hash_struct_message"

/** Typed data that took seconds of the main thread. */
const expensive: ReadonlyArray<readonly [what: string, error: string, body: object]> = [
  [
    "a name of 30,000 characters",
    "types.L.0.type: Expected at most 256 characters",
    {
      domain,
      types: {
        L: [{ name: "a", type: `${"X".repeat(30_000)}[]` }],
        ["X".repeat(30_000)]: [{ name: "v", type: "uint8" }]
      },
      primaryType: "L",
      message: { a: Array.from({ length: 700 }, () => ({ v: 1 })) }
    }
  ],
  [
    "8,000 structs",
    tooMuch,
    {
      domain,
      types: { L: [{ name: "a", type: "V[]" }], V: [{ name: "v", type: "uint8" }] },
      primaryType: "L",
      message: { a: Array.from({ length: 8000 }, () => ({ v: 1 })) }
    }
  ],
  [
    "a text of 900,000 characters",
    tooMuch,
    { domain, types: { L: [{ name: "a", type: "string" }] }, primaryType: "L", message: { a: "x".repeat(900_000) } }
  ]
]

layerEach(TestApi.layer())("a signature of typed data", (it) => {
  it.effect("is by the relayer's key, over the digest of EIP-712", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { status, json } = yield* sign(typedData)
      assert.strictEqual(status, 200)
      const { sig } = json.data as { readonly sig: string }
      const exact = { ...message, amount: BigInt(message.amount) }
      const recovered = yield* Effect.promise(() =>
        recoverTypedDataAddress({ ...typedData, message: exact, signature: `0x${sig}` })
      )
      assert.strictEqual(recovered, signer)
    })
  )

  it.effect("keeps every digit of a number in the message", () =>
    Effect.gen(function* () {
      yield* prepare()
      const text = JSON.stringify(typedData).replace(`"${message.amount}"`, message.amount)
      const { call } = yield* TestApi.TestApi
      const asNumber = yield* call("/api/v1/relayers/sender/sign-typed-data", { body: text })
      assert.deepStrictEqual(asNumber.json.data, (yield* sign(typedData)).json.data)
    })
  )

  it.effect("does not read an integer of 1,000,000 digits", () =>
    Effect.gen(function* () {
      yield* prepare()
      const body = JSON.stringify(typedData).replace(`"${message.amount}"`, "9".repeat(1_000_000))
      const { call } = yield* TestApi.TestApi
      const startedAt = performance.now()
      const { status, json } = yield* call("/api/v1/relayers/sender/sign-typed-data", { body })
      assert.deepStrictEqual([status, /^message\.amount: .*80 digits/.test(json.error ?? "")], [400, true], json.error)
      assert.isBelow(performance.now() - startedAt, 1000)
    })
  )

  for (const [what, error, body] of [...invalid, ...expensive]) {
    it.effect(`with ${what} is refused with 400, which names the field`, () =>
      Effect.gen(function* () {
        yield* prepare()
        const { status, json } = yield* sign(body)
        assert.deepStrictEqual([status, json.error], [400, error])
      })
    )
  }
})
