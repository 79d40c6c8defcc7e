// The types of the clients, as `npm run openapi` writes them.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Printer from "../../scripts/client/Printer.ts"
import * as Shape from "../../scripts/client/Shape.ts"
import * as Types from "../../scripts/client/Types.ts"
import { field } from "../../src/domain/request/Field.ts"
import { Instant, maybe } from "../../src/domain/request/Shown.ts"

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
