// docs/policies.md says what each field of a policy does. This test compares it with the schemas and with the code.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../../src/domain/relayer/Policy.ts"

const fieldsOf = {
  evm: Object.keys(EvmPolicy.fields),
  solana: Object.keys(SolanaPolicy.fields),
  stellar: Object.keys(StellarPolicy.fields)
}

const row = /^\| (evm|solana|stellar) +\| `(\w+)` +\| (enforced|refused|stored) +\| (?:`(\S+)`)? *\|$/gm

const rows = [...readFileSync("docs/policies.md", "utf8").matchAll(row)].map(
  ([, network = "", field = "", effect = "", file]) => ({ network, field, effect, file })
)

const isNamedIn = (file: string, field: string) => new RegExp(`\\b${field}\\b`).test(readFileSync(file, "utf8"))

/** Without comments and texts. */
const codeOf = (file: string): string =>
  readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*|"[^"\n]*"|`(?:\\[^]|[^`\\])*`/g, "")

/** Network types whose transactions the service sends. */
const isSent = (network: string) => existsSync(`src/networks/${network}/lane`)

describe("the list of policy fields", () => {
  it.each(Object.entries(fieldsOf))("of %s names each field once", (network, fields) => {
    const named = rows.filter((one) => one.network === network).map(({ field }) => field)
    assert.deepStrictEqual(named.toSorted(), fields.toSorted())
  })

  it.each(rows.filter(({ effect }) => effect !== "stored"))("$network $field is read by $file", ({ field, file }) => {
    assert.isDefined(file, "names no file")
    assert.isTrue(existsSync(`src/${file}`), "the file does not exist")
    assert.isTrue(isNamedIn(`src/${file}`, field), "the file does not read the field")
  })

  it.each(rows.filter(({ effect, network }) => effect === "stored" && isSent(network)))(
    "$network $field has no effect: no file of the network reads it",
    ({ field, network }) => {
      const files = globSync(`src/networks/${network}/**/*.ts`)
      assert.deepStrictEqual(
        files.filter((file) => new RegExp(`\\b${field}\\b`).test(codeOf(file))),
        []
      )
    }
  )
})

/** Names of policy fields that requests or lanes of stellar have, too: the policy is read where one follows the word. */
const shared = ["channels", "max_fee"]

/** They say what two relayers do together: `TopUpPayments.ts` reads them, and no rule of a transaction does. */
const ofTwoRelayers = ["top_up", "top_up_out_per_day"]

/** What reads a field of the policy of a network type. A colon follows the names of fields in examples. */
const readerOf = (fields: ReadonlyArray<string>) => {
  const own = fields.filter((field) => ![...shared, ...ofTwoRelayers].includes(field)).join("|")
  const others = shared.map((field) => `polic(y|ies)\\)?\\??\\.${field}|\\b${field}\\b[^}]*\\}: \\w*Policy`).join("|")
  return new RegExp(`\\b(${own})\\b(?!:)|${others}`)
}

describe("the terms of a relayer", () => {
  it.each([
    ["evm", ["src/networks/evm/rules/Admission.ts"]],
    ["solana", ["src/networks/solana/rules/SolanaTerms.ts"]],
    // A lane has the channels that the most demanding of its relayers wants, so they are decided beside the lane.
    ["stellar", ["src/networks/stellar/rules/StellarTerms.ts"]]
  ] as const)("of %s are made in one place: no other file reads the policy for transactions", (network, expected) => {
    const files = globSync([
      `src/networks/{core,${network}}/**/*.ts`,
      "src/server/{chains,lanes,ledger,transactions}/**/*.ts"
    ])
    const reader = readerOf(fieldsOf[network])
    assert.deepStrictEqual(files.filter((file) => reader.test(codeOf(file))).toSorted(), [...expected])
  })

  it.each(["evm", "solana", "stellar"] as const)("of %s have the minimum of the balance that health has", (network) => {
    const files = globSync([`src/networks/${network}/**/*.ts`])
    const named = files.filter((file) => /\bminBalanceOf\b|\bmin_balance\b/.test(codeOf(file)))
    assert.isNotEmpty(named)
    assert.deepStrictEqual(
      named.filter((file) => /\bmin_balance\b(?!:)/.test(codeOf(file))),
      [],
      "these do not use the function `minBalanceOf` of domain/health/Funding.ts"
    )
  })
})
