// Tables of a response.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { formsOf } from "../../../scripts/console/Forms.ts"
import type { OpenApiDocument } from "../../../scripts/console/Forms.ts"
import { rowsOf, withWholeUnits } from "../../../src/cli/kit/Print.ts"
import { fieldRows, tableLines } from "../../../src/cli/kit/Terminal.ts"

/** The forms of the console have the unit of each amount that a caller gives. */
const forms = formsOf(JSON.parse(fs.readFileSync("openapi.json", "utf8")) as OpenApiDocument)

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
      ["value", "1000000000000000 wei (0.001 ether)"],
      ["max_fee_per_gas", "1.5 gwei"],
      ["to", evm.to]
    ])
    assert.deepStrictEqual(rowsOf({ network_type: "stellar", fee_paid: 100 })[1], [
      "fee_paid",
      "100 stroops (0.00001 XLM)"
    ])
    assert.deepStrictEqual(rowsOf({ value: "0x1" }), [["value", "0x1"]])
  })

  it("have amounts in whole units too, unless they are less than a millionth of one", () => {
    const row = (network_type: string, balance: number | bigint) => rowsOf({ network_type, balance })[1]?.[1]
    assert.strictEqual(row("evm", 999_999_999_999), "999999999999 wei")
    assert.strictEqual(row("evm", 1_000_000_000_000), "1000000000000 wei (0.000001 ether)")
    assert.strictEqual(row("solana", 1_500_000_000), "1500000000 lamports (1.5 SOL)")
    assert.strictEqual(row("stellar", 100_000_000n), "100000000 stroops (10 XLM)")
  })

  it("have the unit of limits by the network type in their path, and of a simulation by its command", () => {
    const key = {
      transaction_limits: {
        max_value: 1,
        max_fee_per_day: 10n ** 18n,
        solana: { max_fee_per_day: 1_000_000_000 },
        stellar: { max_value: 10_000_000 }
      }
    }
    assert.deepStrictEqual(rowsOf(key), [
      ["transaction_limits.max_value", "1 wei"],
      ["transaction_limits.max_fee_per_day", "1000000000000000000 wei (1 ether)"],
      ["transaction_limits.solana.max_fee_per_day", "1000000000 lamports (1 SOL)"],
      ["transaction_limits.stellar.max_value", "10000000 stroops (1 XLM)"]
    ])
    assert.deepStrictEqual(rowsOf({ base_fee: "1500000000", reserved: "0" }, undefined, "evm"), [
      ["base_fee", "1.5 gwei"],
      ["reserved", "0 wei"]
    ])
  })

  it("have the unit of each amount of a relayer, a network and a key, and none where another field has the same name", () => {
    const units = { evm: " wei", solana: " lamports", stellar: " stroops" }
    const cellsOf = (form: string, type: keyof typeof units) =>
      (forms[form] ?? [])
        .filter(({ unit }) => unit !== undefined)
        .map(({ name, unit }) => {
          const value = name.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), 7_000_000_000)
          const [, row = []] = rowsOf({ network_type: type, ...Object(value) })
          const own = name.startsWith("transaction_limits.") ? name.split(".")[1] : type
          const expected = unit === "price" ? " gwei" : own === "solana" || own === "stellar" ? units[own] : " wei"
          assert.strictEqual(row[0], name)
          assert.include(row[1] ?? "", expected, name)
          return name
        })
    for (const form of ["Relayer", "Network"]) {
      cellsOf(`CreateEvm${form}Request`, "evm")
      cellsOf(`CreateSolana${form}Request`, "solana")
      cellsOf(`CreateStellar${form}Request`, "stellar")
    }
    assert.lengthOf(cellsOf("CreateApiKeyRequest", "evm"), 6)
    assert.includeMembers(cellsOf("CreateStellarRelayerRequest", "stellar"), ["policies.max_fee", "policies.top_up.to"])
    assert.deepStrictEqual(rowsOf({ network_type: "evm", to: "7", below: "7" }).slice(1), [
      ["to", "7"],
      ["below", "7"]
    ])
  })

  it("have whole units beside the amounts of the sentences of the service", () => {
    const explained = {
      reason: "The base fee of the next block is 1500000000 wei per gas, and the account has 40 wei.",
      next: "Send at least 40002032866594992000 wei to 0x12 on evm:dev: a transaction waits for it.",
      funding: { unit: "wei", missing: "40002032866594992000" },
      top_up: { from: "treasury", used: "600000000000000000", left: "400000000000000000" }
    }
    assert.deepStrictEqual(rowsOf(explained), [
      ["reason", "The base fee of the next block is 1.5 gwei per gas, and the account has 40 wei."],
      [
        "next",
        "Send at least 40002032866594992000 wei (40.002032866594992 ether) to 0x12 on evm:dev: a transaction waits for it."
      ],
      ["funding.unit", "wei"],
      ["funding.missing", "40002032866594992000 wei (40.002032866594992 ether)"],
      ["top_up.from", "treasury"],
      ["top_up.used", "600000000000000000 wei (0.6 ether)"],
      ["top_up.left", "400000000000000000 wei (0.4 ether)"]
    ])
    assert.strictEqual(
      withWholeUnits("It needs 1 lamport and 10000000 stroops."),
      "It needs 1 lamport and 10000000 stroops (1 XLM)."
    )
  })
})
