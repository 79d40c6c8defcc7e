// The file of secrets that an import writes: a reader gets exactly the written values, and unwritable values are reported.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parseEnv } from "node:util"
import * as Import from "../../packages/import/src/Import.ts"
import { isWritable, secretsFile } from "../../packages/import/src/Imported.ts"
import { property } from "../../testkit/Depth.ts"

/** Mostly characters that decide which quotes the file needs. */
const Value = Schema.Array(
  Schema.Literals(["'", '"', "`", "\\", "\\n", "\n", "\r", "$", "${A}", "#", "=", " ", "x"])
).check(Schema.isMaxLength(8))

describe("the file of secrets", () => {
  it.prop(
    "has exact values, whatever characters they have",
    [Value],
    ([parts]) => {
      const value = parts.join("")
      const text = secretsFile(
        new Map([
          ["FIRST", value],
          ["SECOND", "after"]
        ])
      )
      const expected: Record<string, string> = isWritable(value)
        ? { FIRST: value, SECOND: "after" }
        : { SECOND: "after" }
      assert.deepStrictEqual({ ...parseEnv(text) }, expected)
      if (!value.includes("'") && !value.includes("\r")) assert.isTrue(isWritable(value))
    },
    property(1000)
  )

  it("a value that it cannot have is reported with its variable, and not shown", () => {
    const passphrase = { type: "plain", value: "hunter2 ' \" `" }
    const config = { signers: [{ id: "hot", type: "local", config: { path: "hot.json", passphrase } }] }
    const { entries, moved, yaml } = Result.getOrThrow(
      Import.openZeppelin({ name: "config.json", text: JSON.stringify(config) }, "old", {
        folder: "/nowhere",
        allNetworks: false,
        keepPausedState: false
      })
    )
    assert.include(yaml, "env: HOT_PASSPHRASE")
    assert.deepStrictEqual([...moved], [])
    assert.isTrue(entries.some(({ at, code }) => at === "HOT_PASSPHRASE" && code === "needs"))
    assert.notInclude(JSON.stringify(entries), "hunter2")
  })
})
