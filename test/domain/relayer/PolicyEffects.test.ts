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
  readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*|"[^"\n]*"|`[^`]*`/g, "")

/** Network types whose transactions the service sends: `Services.ts` opens their lanes. */
const isSent = (network: string) => readFileSync("src/server/Services.ts", "utf8").includes(`"./lanes/${network}/`)

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
      const files = globSync([`src/domain/transaction/${network}/*.ts`, `src/server/*/${network}/**/*.ts`])
      assert.deepStrictEqual(
        files.filter((file) => new RegExp(`\\b${field}\\b`).test(codeOf(file))),
        []
      )
    }
  )
})

it("only one function reads the policy of an evm relayer for its transactions", () => {
  const files = globSync([
    "src/domain/transaction/{*,evm/*}.ts",
    "src/server/{lanes,transactions,ledger}/{*,evm/**/*}.ts"
  ])
  // A colon follows the names of fields in examples.
  const field = new RegExp(`\\b(${fieldsOf.evm.join("|")})\\b(?!:)`)
  const readers = files.filter((file) => field.test(codeOf(file)))
  assert.deepStrictEqual(readers, ["src/domain/transaction/evm/EvmTerms.ts"])
})
