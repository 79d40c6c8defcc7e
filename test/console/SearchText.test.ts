// The text of a search in the console.
import { assert, describe, it } from "@effect/vitest"
import { formsOf, isCaseSensitive, searchHref, wantedOf } from "../../web/src/data/SearchText.ts"

const hash = "AB".repeat(32)
const signature = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
const stellar = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7"

const textOf = (href: string) => new URL(href, "http://service").searchParams.get("q") ?? ""

describe("the text of a search", () => {
  it("has no spaces around it, and no control characters in it", () => {
    assert.deepStrictEqual(wantedOf("  order-1\r\n"), { text: "order-1", isCut: false })
    assert.deepStrictEqual(wantedOf("order\u0000\u0007-1"), { text: "order -1", isCut: false })
    assert.deepStrictEqual(wantedOf(" \t "), { text: "", isCut: false })
  })

  it("is cut where the service would refuse it, between characters, and the page knows it from the address", () => {
    const long = "😀".repeat(10_000)
    const read = wantedOf(textOf(searchHref(long)))
    assert.deepStrictEqual(read, { text: "😀".repeat(512), isCut: true })
    assert.isBelow(searchHref(long).length, 8_000)
    assert.isFalse(wantedOf(textOf(searchHref("x".repeat(512)))).isCut)
  })

  it("names each form that it may have", () => {
    assert.deepStrictEqual(formsOf("4F1C2C9E-8f0b-4c56-9d5e-0a7b1f1f2a3b"), ["uuid", "exact"])
    assert.deepStrictEqual(formsOf(`https://scan.example/tx/0x${hash}`), ["hash", "exact"])
    assert.deepStrictEqual(formsOf(hash), ["hash", "exact"])
    assert.deepStrictEqual(formsOf(signature), ["hash", "exact"])
    assert.deepStrictEqual(formsOf(stellar), ["address", "exact"])
    assert.deepStrictEqual(formsOf("payouts#42"), ["place", "exact"])
    assert.deepStrictEqual(formsOf("order-1"), ["exact"])
  })

  it("is read exactly if it is base58 or an address of stellar, and in any case if it is hexadecimal", () => {
    assert.isTrue(isCaseSensitive(signature))
    assert.isTrue(isCaseSensitive(stellar))
    assert.isFalse(isCaseSensitive(`0x${hash}`))
    assert.isFalse(isCaseSensitive(hash))
    assert.isFalse(isCaseSensitive(`0x${"aB".repeat(20)}`))
    assert.isFalse(isCaseSensitive("order-1"))
  })
})
