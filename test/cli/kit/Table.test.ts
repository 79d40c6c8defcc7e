// Tables of a response.
import { assert, describe, it } from "@effect/vitest"
import { rowsOf } from "../../../src/cli/kit/Print.ts"
import { fieldRows, tableLines } from "../../../src/cli/kit/Terminal.ts"

describe("a table", () => {
  it("has columns as wide as their widest cell on a terminal, and no spaces at the end of a line", () => {
    assert.deepStrictEqual(
      tableLines([
        ["ID", "NAME"],
        ["a", "ファイル"],
        ["longer", ""],
        [undefined, "x"]
      ]),
      ["ID      NAME", "a       ファイル", "longer  -", "-       x"]
    )
    assert.deepStrictEqual(
      tableLines([
        ["ファイル", "b"],
        ["aa", "b"]
      ]),
      ["ファイル  b", "aa        b"]
    )
  })

  it("replaces characters that move the cursor or start a line", () => {
    assert.deepStrictEqual(tableLines([["a\u001b[2J\r\nb\u202ec", "\u0085"]]), ["a?[2J??b?c  ?"])
  })
})

describe("the fields of a response", () => {
  it("are named by their paths and have every digit", () => {
    const answer = {
      id: "payouts",
      disabled: null,
      policies: { min_balance: 2n ** 128n - 1n, receivers: ["0x1", "0x2"], none: [] },
      urls: [{ url: "https://a" }, { url: "https://b" }],
      config: {}
    }
    assert.deepStrictEqual(fieldRows(answer), [
      ["id", "payouts"],
      ["disabled", "-"],
      ["policies.min_balance", "340282366920938463463374607431768211455"],
      ["policies.receivers", "0x1, 0x2"],
      ["policies.none", ""],
      ["urls.0.url", "https://a"],
      ["urls.1.url", "https://b"]
    ])
  })

  it("have amounts in decimal digits with their unit, also the value that the API has in hex", () => {
    const evm = {
      network_type: "evm",
      value: "0x38d7ea4c68000",
      max_fee_per_gas: 1_500_000_000,
      to: `0x${"11".repeat(20)}`
    }
    assert.deepStrictEqual(rowsOf(evm), [
      ["network_type", "evm"],
      ["value", "1000000000000000 wei"],
      ["max_fee_per_gas", "1.5 gwei"],
      ["to", evm.to]
    ])
    assert.deepStrictEqual(rowsOf({ network_type: "stellar", fee_paid: 100 })[1], ["fee_paid", "100 stroops"])
    assert.deepStrictEqual(rowsOf({ value: "0x1" }), [["value", "0x1"]])
  })
})
