// Versions of Node that the command runs on.
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { oldestNode, refusalOfNode } from "../../src/process/NodeVersion.ts"

describe("a version of Node", () => {
  it("is the one that package.json asks for, or a later one", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8"))
    assert.strictEqual(engines.node, `>=${oldestNode}`)
    for (const version of ["v22.19.0", "v22.20.1", "v24.0.0"]) assert.isUndefined(refusalOfNode(version), version)
  })

  it("that is too old is named with the one that is needed", () => {
    for (const version of ["v20.20.2", "v22.18.9", "v18.0.0"])
      assert.strictEqual(
        refusalOfNode(version),
        `effect-relayer: needs Node 22.19 or later, and runs on ${version}: install one from https://nodejs.org`
      )
  })

  it("is checked before anything is imported by name that an older one lacks", () => {
    /** Names that each version of Node with modules has. */
    const old: Readonly<Record<string, ReadonlyArray<string>>> = { "node:url": ["fileURLToPath"] }
    const source = readFileSync("src/main.ts", "utf8")
    for (const [, names = "", from = ""] of source.matchAll(/^import \{([^}]*)\} from "(node:[^"]+)"/gm))
      for (const name of names.split(",").map((name) => name.trim())) assert.include(old[from] ?? [], name, from)
    const imported = [...source.matchAll(/^import .* from "([^"]+)"/gm)].map(([, from]) => from)
    assert.deepStrictEqual(
      imported.filter((from) => from?.startsWith("node:") === false),
      ["./process/NodeVersion.ts"]
    )
  })
})
