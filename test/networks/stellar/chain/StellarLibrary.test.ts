// The library of stellar: which parts of it the service loads, where, and that it loads them only when they are needed.
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import * as path from "node:path"

const sources = globSync("src/**/*.ts").map((file) => ({
  file: file.replaceAll(path.sep, "/"),
  text: readFileSync(file, "utf8")
}))

const found = sources.flatMap(({ file, text }) =>
  [...text.matchAll(/^.*["'](@stellar\/[^"']+)["'].*$/gm)].map(([line, module = ""]) => ({ file, line, module }))
)

describe("the library of stellar", () => {
  it("is used in its parts for addresses and XDR only: never its client for RPC", () => {
    const allowed = new Set(["@stellar/stellar-sdk/base", "@stellar/stellar-sdk/xdr"])
    assert.isNotEmpty(found)
    assert.deepStrictEqual(
      found.filter(({ module }) => !allowed.has(module)),
      []
    )
  })

  it("is loaded late: every import is one of types, or is made when its code runs", () => {
    const late = /^\s*import type\b|^\s*\} from|\bimport\(/
    const early = found.filter(({ line }) => !late.test(line))
    assert.deepStrictEqual(early, [])
    const typed = sources.flatMap(({ text }) => [
      ...text.matchAll(/^import (?!type\b)[^"']*?from ["']@stellar\/[^"']+["']/gm)
    ])
    assert.isEmpty(typed)
  })

  it("is used in `networks/stellar/chain` only, and for the addresses of signers", () => {
    const elsewhere = found.map(({ file }) => file).filter((file) => !file.startsWith("src/networks/stellar/chain/"))
    assert.deepStrictEqual([...new Set(elsewhere)], ["src/server/signers/SignerKeys.ts"])
  })

  it("is one package, which was there before", () => {
    const { dependencies }: { readonly dependencies: Record<string, string> } = JSON.parse(
      readFileSync("package.json", "utf8")
    )
    assert.deepStrictEqual(
      Object.keys(dependencies).filter((name) => name.includes("stellar")),
      ["@stellar/stellar-sdk"]
    )
  })
})
