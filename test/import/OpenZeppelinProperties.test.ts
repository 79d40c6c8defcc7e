// A configuration of OpenZeppelin Relayer that its own rules accept is imported without an `invalid`, and the written file decodes to exactly
// the intended document.
import { assert, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseEnv } from "node:util"
import * as Import from "../../packages/import/src/Import.ts"
import { secretsFile } from "../../packages/import/src/Imported.ts"
import { load } from "../../src/cli/configuration/Load.ts"
import { problemText } from "../../src/cli/configuration/Tree.ts"
import * as Document from "../../src/domain/configuration/Document.ts"
import { isMembers } from "../../src/domain/configuration/Document.ts"
import type { WantedConfiguration } from "../../src/domain/configuration/Document.ts"
import { rawInteger } from "../../src/domain/request/ExactJson.ts"
import { cases } from "../../testkit/Depth.ts"
import { configurationOf } from "./OpenZeppelinConfigurations.ts"
import type { Generated } from "./OpenZeppelinConfigurations.ts"

const configurations = cases(300)

const written = (folder: string, files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
}

/** Secrets are compared as texts. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return { secret: Redacted.value(value) }
  if (Array.isArray(value)) return value.map(revealed)
  if (!isMembers(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, revealed(child)]))
}

const shapeOf = ({ name, objects }: WantedConfiguration) => ({
  name,
  objects: Object.fromEntries(
    objects.map(({ id, kind, managesPaused, request }) => [`${kind}.${id}`, [managesPaused, revealed(request)]])
  )
})

const intended = ({ document }: Generated, seed: number) =>
  Result.match(Document.decode(document), {
    onSuccess: shapeOf,
    onFailure: (violations) => assert.fail(`seed ${seed}: ${JSON.stringify(violations)}`)
  })

/** Texts with the form of a variable are templates: with these values, they read as they are in the input. */
const templates: Readonly<Record<string, string>> = { HOME: "${HOME}", x: "${x}" }

/** The document of the written file, and what the import has found invalid. */
const imported = ({ allNetworks, config, keepPausedState, variables }: Generated, folder: string) => {
  const text = JSON.stringify(config, (_, value: unknown) => (typeof value === "bigint" ? rawInteger(value) : value))
  const outcome = Result.getOrThrow(
    Import.openZeppelin({ name: "config.json", text }, "old", {
      folder,
      allNetworks,
      keepPausedState
    })
  )
  const invalid = outcome.entries.filter(({ code }) => code === "invalid")
  written(folder, { "relayers.yaml": outcome.yaml })
  const moved = parseEnv(secretsFile(outcome.moved))
  const loaded = load({
    files: [path.join(folder, "relayers.yaml")],
    overlays: [],
    roots: [],
    variables: (name) => {
      const value = moved[name] ?? variables[name] ?? templates[name]
      return value === undefined ? { problem: `${name} is not set` } : { value }
    }
  })
  return { invalid, yaml: outcome.yaml, wanted: Result.map(loaded, ({ wanted }) => shapeOf(wanted)) }
}

it(`${configurations} generated configurations of OpenZeppelin Relayer are imported as intended`, () => {
  for (let seed = 1; seed <= configurations; seed += 1) {
    const generated = configurationOf(seed)
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "import-"))
    written(folder, generated.files)
    const { invalid, wanted, yaml } = imported(generated, folder)
    fs.rmSync(folder, { recursive: true })
    assert.deepStrictEqual(invalid, [], `seed ${seed}`)
    if (Result.isFailure(wanted)) assert.fail(`seed ${seed}: ${wanted.failure.map(problemText).join("\n")}\n${yaml}`)
    else assert.deepStrictEqual(wanted.success, intended(generated, seed), `seed ${seed}:\n${yaml}`)
  }
})
