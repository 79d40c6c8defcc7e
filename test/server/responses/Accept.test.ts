import { assert, describe, it } from "@effect/vitest"
import { preferredType } from "../../../src/server/responses/Respond.ts"

const json = "application/json"
const text = "text/plain;version=0.0.4"
const stream = "text/event-stream"

/** `Accept`, what is offered, and the type that is chosen. */
const cases: ReadonlyArray<
  readonly [accept: string | undefined, offered: readonly [string, ...Array<string>], string]
> = [
  [undefined, [json, text], json],
  ["", [json, text], json],
  ["*/*", [json, text], json],
  ["text/plain", [json, text], text],
  ["TEXT/Plain", [json, text], text],
  ["text/*", [json, text], text],
  ["text/plain, application/json", [json, text], json],
  ["text/plain, application/json;q=0.9", [json, text], text],
  ["application/json;q=0.5, */*;q=0.9", [json, text], text],
  ["application/json;q=0, */*", [json, text], text],
  ["*/*;q=0.1, text/*;q=0.2, text/plain;q=0", [json, text], json],
  ["text/plain;version=0.0.4;q=0.3, application/json;q=0.2, text/plain;q=0.1", [json, text], text],
  ["text/plain;version=1.0.0", [json, text], json],
  ['text/plain; version="0.0.4"; q=1', [json, text], text],
  ["text/event-stream", [json, stream], stream],
  ["application/json, text/event-stream", [json, stream], json],
  ["text/event-stream;q=0", [json, stream], json],
  ["text/event-stream;q=x", [json, stream], json],
  ["image/png", [json, stream], json],
  ["nonsense", [json, stream], json]
]

describe("Accept", () => {
  for (const [accept, offered, expected] of cases) {
    it(`${accept === undefined ? "no header" : `"${accept}"`} prefers ${expected} of ${offered.join(" and ")}`, () => {
      assert.strictEqual(preferredType(accept, offered), expected)
    })
  }
})
