// The text that is printed when the service listens.
import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { running } from "../../src/process/Running.ts"
import { bannerText } from "../../src/process/Serve.ts"

const key = `er_${"k".repeat(43)}`
const file = "/srv/it's ours/api-key"
const kept = { key: Redacted.make(key), earlier: [], file, made: true }
const database = { embedded: true, place: "/srv/data", socketUrl: "postgres:///relayer?host=/tmp" }
const baseUrl = "http://127.0.0.1:8080"

describe("the startup banner", () => {
  it("contains the administrator's key on a terminal only, and on the first start only", () => {
    const print = (isTerminal: boolean, made: boolean) =>
      bannerText({ baseUrl, database, isTerminal, hasConsole: true, keptApiKey: { ...kept, made } })
    assert.include(print(true, true), `\n    ${key}\n`)
    for (const text of [print(false, true), print(true, false), print(false, false)]) {
      assert.notInclude(text, key)
      assert.isTrue(text.endsWith(`  The API key is kept in ${file}`))
    }
  })

  it("quotes the key file for the shell", () => {
    const text = bannerText({ baseUrl, database, isTerminal: false, hasConsole: true, keptApiKey: kept })
    assert.include(text, String.raw`export API_KEY=$(cat '/srv/it'\''s ours/api-key')`)
  })

  it("says what the relayer of the first steps needs, and how to try everything without it", () => {
    const text = bannerText({ baseUrl, database, isTerminal: false, hasConsole: true, keptApiKey: kept })
    assert.include(text, "npm run dev")
    assert.include(text, "The relayer is disabled until a check reaches sepolia and finds funds at its address")
    assert.include(text, `${baseUrl}/api/v1/relayers/payouts/explain`)
  })

  it("names the version, the database and the data directory in its first line", () => {
    const first = (given: typeof database) =>
      bannerText({ baseUrl, database: given, isTerminal: true, hasConsole: true, keptApiKey: undefined }).split("\n")[0]
    const start = `effect-relayer listens on ${baseUrl}   version ${running}   `
    assert.strictEqual(first(database), `${start}embedded PostgreSQL in /srv/data`)
    assert.strictEqual(
      first({ ...database, embedded: false, place: "db:5432/relayer" }),
      `${start}PostgreSQL at db:5432/relayer`
    )
  })
})
