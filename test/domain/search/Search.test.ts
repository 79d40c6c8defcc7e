// What a person pastes, and what is looked up for it.
import { assert, describe, it } from "@effect/vitest"
import { termsOf } from "../../../src/domain/search/Search.ts"

const hex = "5c".repeat(32)
const upper = hex.toUpperCase()
const signature = "5".repeat(88)
const uuid = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
const stellar = `G${"A".repeat(55)}`

describe("the terms of a search", () => {
  it("have hexadecimal digits in lower case, with and without 0x", () => {
    assert.deepStrictEqual(termsOf(`0x${upper}`).hashes, [`0x${hex}`])
    assert.deepStrictEqual(termsOf(upper).hashes, [hex, `0x${hex}`])
  })

  it("keep base58 and StrKey exactly", () => {
    const mixed = `aB${signature.slice(2)}`
    assert.deepStrictEqual(termsOf(mixed).hashes, [mixed])
    assert.strictEqual(termsOf(stellar).address, stellar)
    assert.isUndefined(termsOf(stellar.toLowerCase()).address)
  })

  it("take spaces around, and the last part of an explorer's URL", () => {
    assert.deepStrictEqual(termsOf(`  0x${hex} \n`).hashes, [`0x${hex}`])
    for (const url of [`https://etherscan.io/tx/0x${upper}`, `HTTPS://etherscan.io/tx/0x${upper}/?chain=1#eventlog`]) {
      assert.deepStrictEqual(termsOf(url).hashes, [`0x${hex}`])
    }
    assert.strictEqual(termsOf("https://stellar.expert/explorer/public/account/" + stellar).address, stellar)
  })

  it("know ids and addresses", () => {
    assert.strictEqual(termsOf(uuid.toUpperCase()).uuid, uuid)
    assert.strictEqual(termsOf(`0x${"AB".repeat(20)}`).address, `0x${"ab".repeat(20)}`)
  })

  it("recognize the id of a relayer with a nonce or sequence, up to 2^63 - 1", () => {
    for (const text of ["payouts#42", "payouts 42", " payouts # 42 "]) {
      assert.deepStrictEqual(termsOf(text).place, { relayerId: "payouts", sequence: 42n }, text)
    }
    assert.strictEqual(termsOf(`r_1-a#${2n ** 63n - 1n}`).place?.sequence, 2n ** 63n - 1n)
    for (const text of [`r1#${2n ** 63n}`, "r1#-1", "r1#4.2", "r1#", "#42", "a.b#1", `${"r".repeat(37)}#1`]) {
      assert.isUndefined(termsOf(text).place, text)
    }
  })

  it("always have the text itself, and the id of a request if the text has its form", () => {
    assert.deepStrictEqual(termsOf("order-1234"), { text: "order-1234", hashes: [], requestId: "order-1234" })
    for (const text of ["<img src=x onerror=alert(1)>", "%", "'; DROP TABLE relayers; --"]) {
      assert.deepStrictEqual(termsOf(text), { text, hashes: [] })
    }
    assert.strictEqual(termsOf("   ").text, "")
  })
})
