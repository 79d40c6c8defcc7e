// Configurations of other services are imported as the samples expect: document, report and secrets.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseEnv } from "node:util"
import { load } from "../../src/cli/configuration/Load.ts"
import { problemText } from "../../src/cli/configuration/Tree.ts"
import * as Import from "../../packages/import/src/Import.ts"
import { secretsFile } from "../../packages/import/src/Imported.ts"

const samples = new URL("samples/", import.meta.url).pathname

const mnemonic = "test test test test test test test test test test test junk"

interface Expected {
  readonly exit_code: number
  readonly document: { readonly name: string }
  readonly secrets_file: Readonly<Record<string, string>>
  readonly env_needed?: ReadonlyArray<string>
  readonly report: ReadonlyArray<{ readonly at: string; readonly code: string }>
}

const read = (folder: string, name: string) => ({ name, text: fs.readFileSync(path.join(folder, name), "utf8") })

/** A valid value for each variable, the same in both documents. */
const variables = (name: string) => {
  if (name.includes("MNEMONIC")) return { value: mnemonic }
  return {
    value: name.includes("RPC") ? `https://${name.toLowerCase().replaceAll("_", "-")}.example` : name.padEnd(40, "x")
  }
}

/** The document as the service gets it. Files that it refers to are created if they are missing. */
const loaded = (folder: string, name: string, text: string) => {
  for (const [, file = ""] of text.matchAll(/file"?:\s*"?([\w./-]+)/g)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    if (!fs.existsSync(path.join(folder, file))) fs.writeFileSync(path.join(folder, file), "{}")
  }
  fs.writeFileSync(path.join(folder, name), text)
  const result = load({ files: [path.join(folder, name)], overlays: [], roots: [], variables })
  if (Result.isFailure(result)) throw new Error(result.failure.map(problemText).join("\n"))
  const { document, wanted } = result.success
  const byId = wanted.objects.map(({ kind, id, request, managesPaused }) => ({ kind, id, request, managesPaused }))
  return {
    name: wanted.name,
    sections: [...wanted.sections].toSorted(),
    objects: byId.toSorted((one, other) => (`${one.kind}.${one.id}` < `${other.kind}.${other.id}` ? -1 : 1)),
    // Secrets are equal as texts, not as redacted values.
    signers: document["signers"],
    notifications: document["notifications"]
  }
}

const keysOf = (entries: ReadonlyArray<{ readonly at: string; readonly code: string }>) =>
  [...new Set(entries.map(({ at, code }) => `${at} ${code}`))].toSorted()

const imported = (folder: string, sample: string, expected: Expected) => {
  if (sample.startsWith("rr-")) {
    return Import.rrelayer(read(folder, "rrelayer.yaml"), read(folder, "relayers.json"), undefined, {
      keepPausedState: false,
      variables: { RAW_DANGEROUS_MNEMONIC: mnemonic }
    })
  }
  const inFolder = fs.existsSync(path.join(folder, "config/config.json"))
  const file = inFolder ? "config/config.json" : "config.json"
  const dotEnv = fs.existsSync(path.join(folder, ".env")) ? parseEnv(read(folder, ".env").text) : undefined
  return Import.openZeppelin(read(folder, file), expected.document.name, {
    folder,
    allNetworks: false,
    keepPausedState: false,
    ...(dotEnv === undefined ? {} : { dotEnv })
  })
}

/** A copy of the sample, laid out as its command expects. */
const laidOut = (sample: string): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "import-"))
  fs.cpSync(path.join(samples, sample), folder, { recursive: true })
  if (fs.existsSync(path.join(folder, "keys"))) {
    fs.mkdirSync(path.join(folder, "config"))
    fs.renameSync(path.join(folder, "config.json"), path.join(folder, "config/config.json"))
    fs.renameSync(path.join(folder, "keys"), path.join(folder, "config/keys"))
  }
  return folder
}

describe("samples", () => {
  it.each(fs.readdirSync(samples))("%s is imported as expected", (sample) => {
    const folder = laidOut(sample)
    const expected = JSON.parse(read(folder, "expected.json").text) as Expected
    const outcome = Result.getOrThrow(imported(folder, sample, expected))
    assert.deepStrictEqual(keysOf(outcome.entries), keysOf(expected.report))
    assert.deepStrictEqual(Object.fromEntries(outcome.moved), expected.secrets_file)
    if (expected.env_needed !== undefined) {
      assert.deepStrictEqual([...outcome.needed].toSorted(), expected.env_needed.toSorted())
    }
    const wanted = loaded(folder, "expected-document.json", JSON.stringify(expected.document))
    assert.deepStrictEqual(loaded(folder, "relayers.yaml", outcome.yaml), wanted)
    const shown = [outcome.yaml, ...outcome.entries.map(({ message }) => message)].join("\n")
    for (const secret of [...Object.values(expected.secrets_file), mnemonic]) assert.notInclude(shown, secret)
    assert.deepStrictEqual({ ...parseEnv(secretsFile(outcome.moved)) }, expected.secrets_file)
    fs.rmSync(folder, { recursive: true })
  })
})
