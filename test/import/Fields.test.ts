// No field of the input is lost in silence: each one changes the document or the report.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Import from "../../packages/import/src/Import.ts"
import { load } from "../../src/cli/configuration/Load.ts"
import { problemText } from "../../src/cli/configuration/Tree.ts"
import { isMembers } from "../../src/domain/configuration/Document.ts"
import { RelayerName } from "../../src/domain/relayer/Relayer.ts"
import { property } from "../../testkit/Depth.ts"
import { address, openZeppelin } from "./OpenZeppelinInput.ts"
import { list, listed, mnemonic, rrelayer } from "./RRelayerInput.ts"

type Importer = (config: unknown) => Import.Outcome

const importOpenZeppelin: Importer = (config) =>
  Result.getOrThrow(
    Import.openZeppelin({ name: "config.json", text: JSON.stringify(config) }, "config", {
      folder: "/nowhere",
      allNetworks: false,
      keepPausedState: false
    })
  )

/** The variables of the list are not set, so that only the place of a key in the list matters. */
const importRRelayer: Importer = (config) =>
  Result.getOrThrow(
    Import.rrelayer(
      { name: "rrelayer.yaml", text: JSON.stringify(config) },
      { name: "relayers.json", text: JSON.stringify(list) },
      undefined,
      { keepPausedState: false, variables: {} }
    )
  )

const importList: Importer = (items) =>
  Result.getOrThrow(
    Import.rrelayer(
      { name: "rrelayer.yaml", text: JSON.stringify(rrelayer) },
      { name: "relayers.json", text: JSON.stringify(items) },
      undefined,
      { keepPausedState: false, variables: { RAW_MNEMONIC: mnemonic } }
    )
  )

const join = (at: string, name: string | number) => (at === "" ? String(name) : `${at}.${name}`)

/** Copies of the value without one of its fields, with the path of the field. */
const without = (value: unknown, at = ""): ReadonlyArray<readonly [at: string, copy: unknown]> => {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      without(item, join(at, index)).map(([path, copy]) => [path, value.with(index, copy)] as const)
    )
  }
  if (!isMembers(value)) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const { [name]: _, ...rest } = value
    const inner = without(child, join(at, name)).map(([path, copy]) => [path, { ...value, [name]: copy }] as const)
    return [[join(at, name), rest] as const, ...inner]
  })
}

const textOf = ({ yaml, moved, needed, entries }: Import.Outcome) =>
  JSON.stringify([yaml, [...moved], [...needed], entries])

/** Fields that say nothing about the configuration, and those whose value here is the default. */
const meaningless = /\.(createdAt|isPrivateKey|wallet_id|universe_domain|paused)$/

/** A field of an object that is dropped as a whole is reported with it. */
const isReported = (at: string, { entries }: Import.Outcome) =>
  entries.some((entry) => at === entry.at || (entry.code !== "note" && at.startsWith(`${entry.at}.`)))

const silentFields = (importer: Importer, input: unknown): ReadonlyArray<string> => {
  const whole = importer(input)
  const text = textOf(whole)
  for (const { at, message } of whole.entries) assert.notInclude(message, "is not a known field", at)
  return without(input)
    .filter(([at, copy]) => !isReported(at.replace(/^items\./, "relayers."), whole) && textOf(importer(copy)) === text)
    .map(([at]) => at)
    .filter((at) => !meaningless.test(at))
}

describe("fields", () => {
  it("each field of OpenZeppelin Relayer is in the document or in the report", () => {
    assert.deepStrictEqual(silentFields(importOpenZeppelin, openZeppelin), [])
  })

  it("each field of rrelayer is in the document or in the report", () => {
    assert.deepStrictEqual(silentFields(importRRelayer, rrelayer), [])
    assert.deepStrictEqual(silentFields(importList, list), [])
  })

  it("unknown fields are reported with a suggestion", () => {
    const { entries } = importOpenZeppelin({
      ...openZeppelin,
      relayer: [],
      notifications: [{ ...openZeppelin.notifications[0], signing_keys: 1 }]
    })
    const found = entries.filter(({ message }) => message.startsWith("is not a known field"))
    assert.deepStrictEqual(
      found.map(({ at, code, message }) => [at, code, message]),
      [
        ["notifications.0.signing_keys", "invalid", "is not a known field; did you mean signing_key?"],
        ["relayer", "dropped", "is not a known field; did you mean relayers?"]
      ]
    )
  })
})

describe("problems", () => {
  it("a list with further pages is refused", () => {
    const { entries } = importList({ ...list, next: { offset: 100 } })
    assert.include(
      entries.map(({ at, code, message }) => `${at} ${code} ${message}`),
      "relayers.next invalid the list is not complete: read the further pages"
    )
  })

  it("an account of another key is left out", () => {
    const { entries, document } = importList({ items: [{ ...list.items[0], address }] })
    assert.deepStrictEqual([...document.relayers.keys()], [])
    assert.isTrue(entries.some(({ at, code }) => at === "relayers.0.address" && code === "invalid"))
  })

  it("what does not parse is reported without its text", () => {
    const failed = Import.openZeppelin({ name: "config.json", text: '{"hunter2": ' }, "a", {
      folder: ".",
      allNetworks: false,
      keepPausedState: false
    })
    assert.match(
      Result.match(failed, { onSuccess: () => "", onFailure: (text) => text }),
      /^(?!.*hunter2)is not valid JSON \(config\.json:1:13\)$/
    )
  })

  it("plain secrets of all places only reach the file of secrets", () => {
    const mark = (text: string) => ({ type: "plain", value: `hunter2-${text}`.padEnd(40, "0") })
    const config = JSON.parse(JSON.stringify(openZeppelin), (_, value: unknown) =>
      isMembers(value) && value["type"] === "env" ? mark(String(value["value"])) : value
    ) as typeof openZeppelin
    const outcome = importOpenZeppelin(config)
    assert.notInclude(outcome.yaml, "hunter2")
    assert.notInclude(JSON.stringify(outcome.entries), "hunter2")
    assert.isAbove([...outcome.moved.values()].filter((value) => value.includes("hunter2")).length, 8)
  })
})

it("literal secrets of rrelayer only reach the file of secrets", () => {
  const secret = (name: string) => `hunter2-${name}-0123456789abcdef0123456789abcdef`
  const networks = rrelayer.networks.map((network) => ({
    ...network,
    provider_urls: [`https://rpc.example/${secret("url").replaceAll("-", "")}`, "https://user:hunter2@rpc.example"],
    api_keys: [{ relayer: address, keys: [secret("api")] }],
    signing_provider:
      "signing_provider" in network
        ? JSON.parse(
            JSON.stringify(network.signing_provider).replaceAll(/"\$\{[A-Z_]+\}"/g, JSON.stringify(secret("key")))
          )
        : undefined
  }))
  const outcome = importRRelayer({
    ...rrelayer,
    networks,
    api_config: { authentication_username: secret("user"), authentication_password: secret("password") },
    signing_provider: { raw: { mnemonic: secret("words") } },
    webhooks: [{ ...rrelayer.webhooks[0], shared_secret: secret("hook") }]
  })
  assert.notInclude(outcome.yaml, "hunter2")
  assert.notInclude(JSON.stringify(outcome.entries), "hunter2")
  const moved = [...outcome.moved.values()].filter((value) => value.includes("hunter2"))
  assert.isAbove(moved.length, 15)
})

/** The name of the only relayer, after its document was written and read. */
const reread = (yaml: string): unknown => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "import-"))
  fs.writeFileSync(path.join(folder, "relayers.yaml"), yaml)
  const result = load({
    files: [path.join(folder, "relayers.yaml")],
    overlays: [],
    roots: [],
    variables: (variable) => ({ value: variable === "RAW_MNEMONIC" ? mnemonic : "https://rpc.example" })
  })
  fs.rmSync(folder, { recursive: true })
  if (Result.isFailure(result)) throw new Error(result.failure.map(problemText).join("\n"))
  return result.success.wanted.objects.find(({ kind }) => kind === "relayers")?.request["name"]
}

const special = [
  "\n",
  "\r\n",
  "\u2028",
  "\u2029",
  "\u0085",
  ": {",
  " #",
  "- ",
  "'",
  '"',
  "\\",
  "%",
  "@",
  "|",
  "{}",
  "\t"
]

describe("texts", () => {
  it.prop(
    "names and descriptions of any characters are read as they were",
    [RelayerName as Schema.Codec<string>, Schema.Literals(special), Schema.String],
    ([name, character, description]) => {
      const text = `${name.slice(0, 100)}${character}${name.slice(0, 100)}`.replaceAll("${", "$")
      const { yaml } = Result.getOrThrow(
        Import.rrelayer(
          {
            name: "a",
            text: JSON.stringify({
              ...rrelayer,
              networks: [rrelayer.networks[0]],
              webhooks: [],
              description: `${description}${character}relayers: {}`
            })
          },
          { name: "b", text: JSON.stringify([{ ...listed("one", 11_155_111, 0), name: text }]) },
          undefined,
          { keepPausedState: false, variables: {} }
        )
      )
      assert.strictEqual(reread(yaml), text)
    },
    property()
  )

  it("a template stays a variable, except inside of a secret", () => {
    const [first] = openZeppelin.relayers
    const passphrase = { type: "plain", value: "pass ${word}" }
    const signing_key = { type: "plain", value: "${HOOK_KEY}" }
    const urls = [
      "https://rpc.example/v2/${ALCHEMY}",
      "${WHOLE}",
      { url: "${WEIGHED}", weight: 5 },
      "http://${HOST}:8545"
    ]
    const { yaml, moved, needed, entries } = importOpenZeppelin({
      relayers: [{ ...first, name: "a ${RELAYER_B} $${c} ${", signer_id: "hot", custom_rpc_urls: urls }],
      notifications: openZeppelin.notifications.map((notification) => ({
        ...notification,
        url: "${HOOK}",
        signing_key
      })),
      networks: openZeppelin.networks,
      signers: [{ id: "hot", type: "local", config: { path: "hot.json", passphrase } }]
    })
    assert.include(yaml, "name: a ${RELAYER_B} $$${c} $${")
    assert.include(yaml, "url: https://rpc.example/v2/${ALCHEMY}")
    assert.match(yaml, /url:\s+env: WHOLE\s+weight: 100/)
    assert.match(yaml, /url:\s+env: WEIGHED\s+weight: 5/)
    assert.include(yaml, "url: ${HOOK}")
    assert.match(yaml, /signing_key:\s+env: HOOK_KEY/)
    const names = ["ALCHEMY", "HOOK", "HOOK_KEY", "HOST", "RELAYER_B", "WEIGHED", "WHOLE"]
    assert.includeMembers([...needed], names)
    const note = entries.find(({ at }) => at === "variables")
    assert.deepStrictEqual(note, {
      at: "variables",
      code: "note",
      message: `${names.map((name) => `\${${name}}`).join(", ")}: the file is a template; these stay variables, which plan and apply read`
    })
    assert.strictEqual(moved.get("HOT_PASSPHRASE"), "pass ${word}")
  })
})
