// The time until a failed delivery is attempted again.
import { assert, describe, it } from "@effect/vitest"
import { askedDelay, backOffDelay } from "../../../../src/server/notifications/delivery/WebhookClient.ts"

describe("WebhookClient.delay", () => {
  it("doubles from five seconds to an hour, minus up to a quarter", () => {
    const longest = Array.from({ length: 12 }, (_, index) => backOffDelay(index + 1, 1) / 1000)
    assert.deepStrictEqual(longest, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600])
    assert.strictEqual(backOffDelay(1, 0), 3750)
    assert.strictEqual(backOffDelay(5000, 0), 2_700_000)
  })
})

describe("WebhookClient.retryAfter", () => {
  const now = Date.parse("2026-11-21T12:00:00Z")
  const cases: ReadonlyArray<readonly [string | undefined, number | undefined]> = [
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7000],
    ["Sat, 21 Nov 2026 12:00:30 GMT", 30_000],
    ["Sat, 21 Nov 2026 11:00:00 GMT", 0],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined]
  ]
  for (const [header, expected] of cases) {
    it(`${header} is ${expected}`, () => assert.strictEqual(askedDelay(header, now), expected))
  }
})
