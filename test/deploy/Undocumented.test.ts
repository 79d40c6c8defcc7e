// The client's package has the schemas without the texts of their documentation.
import { assert, describe, it } from "@effect/vitest"
import { undocumented } from "../../scripts/client/Undocumented.ts"

const cases: ReadonlyArray<readonly [string, string, string]> = [
  ["texts of fields", `field(Schema.String, "a text", "x")`, `(Schema.String)`],
  [
    "meanings of changes",
    `S({ a: judged(field(X, "b"), harmless), c: maybe(Y, { change: harmless }) })`,
    `S({ a: ((X)), c: maybe(Y, { change: undefined }) })`
  ],
  ["nested fields", `S({ a: shown(field(X, "b"), "a", 1) })`, `S({ a: shown((X)) })`],
  ["annotations", `X.annotate({ description: "a", examples: [1] }).check(y)`, `X.check(y)`],
  [
    "texts beside a message",
    `X.annotate({ message: "m", description: "d" })`,
    `X.annotate({ message: "m", description: undefined })`
  ],
  ["texts of endpoints", `X.annotateMerge(OpenApi.annotations({ title: "t" })).add(y)`, `X.add(y)`],
  [
    "texts of failures",
    `failure(404)(RelayerNotFound, "Relayer not found", "No relayer.")`,
    `failure(404)(RelayerNotFound, "Relayer not found", "")`
  ],
  [
    "words of operations",
    `Endpoint.get("get", "/", { scope, summary: "s", description: "d", transform: Endpoint.versioned, success })`,
    `Endpoint.get("get", "/", { scope, summary: undefined, description: undefined, transform: undefined, success })`
  ],
  [
    "texts in two lines",
    `maybe(X, { description: "a" + "b", examples: [1] })`,
    `maybe(X, { description: undefined, examples: undefined })`
  ],
  ["texts of additions", `maybe(X, { description: added("a") })`, `maybe(X, { description: undefined })`],
  ["texts of additions to requests", `maybe(X, extra("a", 1))`, `maybe(X, ({}))`],
  ["texts of additions to responses", `shownAddition(X, "a", 1)`, `shownAddition(X)`],
  [
    "texts with a name",
    `maybe(X, { description: limits, examples: [1] })`,
    `maybe(X, { description: undefined, examples: undefined })`
  ],
  ["texts of places", `place("a", 0)`, `place("", 0)`],
  ["texts of parameters", `count("Items.", 10, 5)`, `count("", 10, 5)`]
]

const kept = [
  `S({ description: Schema.String, examples: list })`,
  `X.annotate(RequiredScope, "relayers:read")`,
  `X.annotateMerge(other)`,
  `X.pipe(Schema.brand("Id"))`
]

describe("the client's package", () => {
  for (const [name, before, after] of cases) {
    it(`has no ${name}`, () => assert.strictEqual(undocumented(before), after))
  }

  for (const code of kept) it(`has ${code}`, () => assert.strictEqual(undocumented(code), code))
})
