// Dates in requests are RFC 3339 date-times with a time zone.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Instant } from "../../../src/domain/request/Shown.ts"

const decode = Schema.decodeResult(Instant)

describe("an instant", () => {
  it.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.678Z"],
    ["2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05.000Z"],
    ["2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"]
  ])("%s is %s", (text, utc) => {
    assert.strictEqual(Schema.encodeSync(Instant)(Schema.decodeSync(Instant)(text)), utc)
  })

  it.each([
    "2026-01-02",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05Z",
    "2026-01-02T03:04Z",
    "2026-02-29T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T03:04:60Z",
    "2026-01-02T03:04:05+24:00",
    "+012026-01-02T03:04:05Z",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "Fri, 02 Jan 2026 03:04:05 GMT",
    "tomorrow",
    "1767323045",
    ""
  ])("%s is refused", (text) => {
    assert.isTrue(Result.isFailure(decode(text)))
  })
})
