// The types of the clients: what is written, when, and what a clone does without its sources.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import manifest from "../../package.json" with { type: "json" }
import * as Printer from "../../scripts/client/Printer.ts"
import * as Shape from "../../scripts/client/Shape.ts"
import * as Types from "../../scripts/client/Types.ts"
import { files, writeIfOlder } from "../../scripts/client/write.ts"
import { field } from "../../src/domain/request/Field.ts"
import { Instant, maybe } from "../../src/domain/request/Shown.ts"
import { folder } from "../../testkit/process/Folder.ts"

const Member = Schema.Struct({
  at: field(Instant, "When to swap.", "2026-01-02T03:04:05Z"),
  cron: maybe(Schema.String, { description: "A schedule.", examples: ["0 */6 * * *"] })
}).annotate({ identifier: "Member", description: "A member." })

const printer = (options?: Parameters<typeof Printer.make>[1]) =>
  Printer.make({ leaf: (leaf) => leaf, brand: (text, brand) => `${brand}<${text}>`, redacted: (text) => text }, options)

const declared = `/** A member. */
export interface Member {
  /** When to swap. Example: \`"2026-01-02T03:04:05Z"\` */
  readonly at: DateTime.Utc
  /** A schedule. Example: \`"0 *\\/6 * * *"\` */
  readonly cron?: string
}
`

const declaredBase = `/** Has a time. */
export interface Dated {
  /** When to swap. Example: \`"2026-01-02T03:04:05Z"\` */
  readonly at: DateTime.Utc
}
`

const [typed, promise] = files

/** Writes files, each with one line, and makes their folders. */
const place = (root: string, names: ReadonlyArray<string>) => {
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), `// ${name}\n`)
  }
}

/** A folder with what the types are derived from, and a function that writes what is older there and says how often types were derived. */
const smallClone = Effect.gen(function* () {
  const root = yield* folder
  const derivedFrom = ["src/api/document/Page.ts", "src/domain/Relayer.ts", "src/networks/core/Cause.ts"]
  place(root, ["package-lock.json", "scripts/client/Types.ts", ...derivedFrom])
  fs.mkdirSync(path.join(root, "src/client/promise"), { recursive: true })
  let derivations = 0
  const texts = () => Promise.resolve({ [typed]: `typed ${++derivations}\n`, [promise]: `promise ${derivations}\n` })
  const write = Effect.promise(async () => {
    await writeIfOlder(root, texts)
    return derivations
  })
  return { root, write, read: (name: string) => fs.readFileSync(path.join(root, name), "utf8") }
})

/** Runs the script of `npm ci` in a folder that has it, and none of its modules. */
const prepared = (root: string) => {
  fs.mkdirSync(path.join(root, "scripts"), { recursive: true })
  fs.copyFileSync(new URL("../../scripts/prepare.mjs", import.meta.url), path.join(root, "scripts/prepare.mjs"))
  return spawnSync(process.execPath, [path.join(root, "scripts/prepare.mjs")], { encoding: "utf8" })
}

/** Properties that no request sends: the service refuses to change them. */
const isNever = (line: string) => line.endsWith("?: never")

/** The parts of requests have the descriptions of their properties. */
const parts = /^ {4}readonly (params|query|headers|payload)\??: /

describe("the types of the clients", () => {
  it("have interfaces with descriptions and examples, whose text cannot end the comment", () => {
    const { declarations, type } = printer()
    const Id = Schema.String.pipe(Schema.brand("Id"))
    const shape = Shape.of(Schema.Struct({ id: Id, members: Schema.Array(Member) }))
    assert.strictEqual(type(shape), "{\n  readonly id: Id<string>\n  readonly members: ReadonlyArray<Member>\n}")
    assert.strictEqual(declarations.get("Member"), declared)
  })

  it("refuse two different types with one name", () => {
    const other = Schema.Struct({ at: Schema.String }).annotate({ identifier: "Member" })
    const shape = Shape.of(Schema.Struct({ one: Member, other }))
    assert.throws(() => printer().type(shape), /two types of the clients have the name Member/)
  })

  it("extend the base whose properties they have, which declares these properties once", () => {
    const common = Shape.of(Schema.Struct({ at: Member.fields.at }))
    const properties = common.kind === "struct" ? common.properties : []
    const { declarations, type } = printer({ base: { name: "Dated", description: "Has a time.", properties } })
    const unnamed = Schema.Struct({ at: Member.fields.at, id: Schema.String })
    const text = type(Shape.of(Schema.Struct({ member: Member, unnamed })))
    assert.include(text, "unnamed: Dated & {\n    readonly id: string\n  }")
    assert.strictEqual(declarations.get("Dated"), declaredBase)
    assert.strictEqual(declarations.get("Member"), declared.replace(/Member {\n.*\n.*\n/, "Member extends Dated {\n"))
  })

  it("declare the envelope of responses once, for both clients", () => {
    const both = `${Types.ofClient()}${Types.ofPromiseClient()}`
    assert.lengthOf(both.match(/readonly success: true/g) ?? [], 1)
    assert.isAbove(both.match(/ResponseEnvelope (&|{)/g)?.length ?? 0, 50)
  })

  it("are shared by the clients only if all that they refer to is equal", () => {
    const common = { Leaf: "export type Leaf = string\n", Both: "export interface Both { readonly leaf: Leaf }\n" }
    const holder = "/** Not a Leaf. */\nexport interface Holder { readonly of: Middle }\n"
    const middle = "export interface Middle { readonly amount: Amount }\n"
    const declarations = (amount: string) =>
      new Map(Object.entries({ ...common, Holder: holder, Middle: middle, Amount: `export type Amount = ${amount}\n` }))
    const equal = Printer.equalNames(declarations("bigint"), declarations("string"))
    assert.deepStrictEqual([...equal], ["Leaf", "Both"])
    assert.deepStrictEqual([...Printer.namesUsed(`${holder}${common.Both}`, equal)].toSorted(), ["Both", "Leaf"])
  })

  it.effect("are written if they are missing, once for the same schemas", () =>
    Effect.gen(function* () {
      const { read, root, write } = yield* smallClone
      assert.strictEqual(yield* write, 1)
      assert.match(read(typed), /^\/\/ Written by .* with the hash [0-9a-f]{64}\. Do not edit\.\ntyped 1\n$/)
      assert.strictEqual(read(promise), read(typed).replace("typed", "promise"))
      assert.strictEqual(yield* write, 1)
      for (const [index, name] of files.entries()) {
        fs.rmSync(path.join(root, name))
        assert.strictEqual(yield* write, index + 2)
      }
      assert.deepStrictEqual(fs.readdirSync(path.join(root, "src/client")).toSorted(), ["Client.ts", "promise"])
    })
  )

  it.effect("are written again after a change of what they are derived from, however old the files are", () =>
    Effect.gen(function* () {
      const { root, write } = yield* smallClone
      assert.strictEqual(yield* write, 1)
      const changes = [
        () => fs.writeFileSync(path.join(root, "src/domain/Relayer.ts"), "// Another schema.\n"),
        () => fs.renameSync(path.join(root, "src/api/document/Page.ts"), path.join(root, "src/api/Page.ts")),
        () => fs.rmSync(path.join(root, "src/api/Page.ts")),
        () => fs.writeFileSync(path.join(root, "scripts/client/Types.ts"), "// Prints another text.\n"),
        () => fs.writeFileSync(path.join(root, "package-lock.json"), "// Another Effect.\n")
      ]
      for (const [index, change] of changes.entries()) {
        change()
        for (const name of files) fs.utimesSync(path.join(root, name), 4e9, 4e9)
        assert.strictEqual(yield* write, index + 2)
      }
      fs.utimesSync(path.join(root, "src/domain/Relayer.ts"), 5e9, 5e9)
      assert.strictEqual(yield* write, changes.length + 1)
    })
  )

  it("are written by the commands that read them, and by npm ci", () => {
    const { build, "build:client": buildClient, check, console, prepare, test } = manifest.scripts
    for (const script of [build, buildClient, check, console, test])
      assert.include(script, "scripts/client/write.ts && ")
    assert.strictEqual(prepare, "node scripts/prepare.mjs")
  })

  it.effect("are not written by npm ci without the sources, which is no error", () =>
    Effect.gen(function* () {
      const { status, stderr, stdout } = prepared(yield* folder)
      assert.deepStrictEqual([status, stdout, stderr], [0, "", ""])
    })
  )

  it.effect("are one line of npm ci if they cannot be written, which is no error", () =>
    Effect.gen(function* () {
      const root = yield* folder
      place(root, ["src/main.ts", "scripts/console.mjs"])
      fs.appendFileSync(path.join(root, "scripts/console.mjs"), "export const buildOrSayWhy = () => {}\n")
      const { status, stderr, stdout } = prepared(root)
      assert.deepStrictEqual([status, stdout], [0, ""])
      assert.match(stderr, /^effect-relayer: the types of the clients were not written, .*\n$/)
    })
  )

  for (const [name, text] of Object.entries({ typed: Types.ofClient(), promise: Types.ofPromiseClient() })) {
    it(`describe every property (${name})`, () => {
      const lines = text.split("\n")
      const undescribed = lines.filter(
        (line, index) =>
          /^ +readonly /.test(line) && !parts.test(line) && !isNever(line) && !lines[index - 1]?.endsWith("*/")
      )
      assert.deepStrictEqual(undescribed, [])
      assert.isAbove(lines.length, 1000)
    })
  }
})
