// Which environment variables are taken for misspelled settings.
import { assert, it } from "@effect/vitest"
import { findMisspelled } from "../../../src/process/settings/Variables.ts"

it.each([
  ["DATABSE_URL", "DATABASE_URL"],
  ["DATABASEURL", "DATABASE_URL"],
  ["database_url", "DATABASE_URL"],
  ["API_KYE", "API_KEY"],
  ["STORAGE_ENCRYPTON_KEY", "STORAGE_ENCRYPTION_KEY"],
  ["LOGLEVEL", "LOG_LEVEL"],
  ["POTR", "PORT"]
])("%s resembles %s", (variable, setting) => {
  assert.deepStrictEqual(findMisspelled({ [variable]: "x" }), [{ variable, setting }])
})

it.each(["HOME", "HOSTNAME", "PATH", "PORTS", "PGPORT", "XDG_DATA_DIRS", "OTEL_RESOURCE_ATTRIBUTES", "REDIS_PASSWORD"])(
  "%s resembles no setting",
  (variable) => {
    assert.isEmpty(findMisspelled({ [variable]: "x" }))
  }
)

it("a variable beside the setting that it resembles is no mistake", () => {
  assert.isEmpty(findMisspelled({ DATABASE_URL1: "x" }, { DATABASE_URL: "y" }))
})
