// Configurations are loaded from files, and every problem names its field and its place.
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { load } from "../../../src/cli/configuration/Load.ts"
import type { Loaded } from "../../../src/cli/configuration/Load.ts"
import { variableReader } from "../../../src/cli/configuration/Tree.ts"
import { documentOf, head, problemsOf, written } from "./files.ts"

const requestOf = ({ wanted }: Loaded, id: string) => wanted.objects.find((object) => object.id === id)?.request

const relayer = (fields: string) =>
  `${head}relayers:\n  treasury:\n    name: Treasury\n    network_type: evm\n    network: sepolia\n    signer_id: hot\n${fields}`

const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const signingKey = "0123456789abcdef0123456789abcdef"

describe("numbers and texts", () => {
  it("an address without quotes stays an address, and a large amount keeps its digits", () => {
    const text = relayer(
      `    policies: {whitelist_receivers: [${address}], min_balance: 1000000000000000001, gas_price_cap: "7"}\n`
    )
    const { policies } = requestOf(documentOf({ "a.yaml": text }), "treasury") ?? {}
    assert.deepStrictEqual(policies, {
      whitelist_receivers: [address],
      min_balance: 1000000000000000001n,
      gas_price_cap: 7n
    })
  })

  it("a text field takes the digits of a plain number", () => {
    const text = relayer("")
      .replace("name: Treasury", "name: 0123")
      .replace("network: sepolia", "network: 1000000000000000001")
    assert.deepStrictEqual(problemsOf({ "a.yaml": text }), [
      "relayers.treasury.name: expected a text: put it in quotes (a.yaml:5:11)"
    ])
    const fixed = text.replace("0123", '"0123"')
    assert.strictEqual(requestOf(documentOf({ "a.yaml": fixed }), "treasury")?.["network"], "1000000000000000001")
  })

  it.each([
    ["1e18", 10n ** 18n],
    ["1.5e3", 1500n],
    ['"1e18"', 10n ** 18n]
  ])("%s is an amount", (number, amount) => {
    const { policies } =
      requestOf(documentOf({ "a.yaml": relayer(`    policies: {min_balance: ${number}}\n`) }), "treasury") ?? {}
    assert.deepStrictEqual(policies, { min_balance: amount })
  })

  it.each(["1.5", "1.5e0", "1e-3", "1.0", ".inf", "1_000", '"1.5e0"'])("%s is no amount", (number) => {
    const [problem] = problemsOf({ "a.yaml": relayer(`    policies: {min_balance: ${number}}\n`) })
    assert.match(problem ?? "", /^relayers\.treasury\.policies\.min_balance: [Ee]xpected an integer/)
    assert.match(problem ?? "", /\(a\.yaml:9:\d+\)$/)
  })

  it("JSON has the same model", () => {
    const json = JSON.stringify(
      { version: 1, name: "payments", notifications: { ops: { url: "https://a.example" } } },
      null,
      "\t"
    )
    assert.deepStrictEqual(requestOf(documentOf({ "a.json": json }), "ops"), {
      id: "ops",
      type: "webhook",
      url: "https://a.example",
      paused: false
    })
  })

  it("null counts as left out, and an absent paused is not managed", () => {
    const { wanted } = documentOf({ "a.yaml": relayer("    notification_id: null\n") })
    assert.deepStrictEqual(
      wanted.objects.map(({ request, managesPaused }) => [
        request["notification_id"],
        request["paused"],
        managesPaused
      ]),
      [[undefined, false, false]]
    )
    const managed = documentOf({ "a.yaml": relayer("    paused: true\n") }).wanted.objects
    assert.deepStrictEqual(
      managed.map(({ managesPaused }) => managesPaused),
      [true]
    )
  })
})

describe("problems", () => {
  it("an unknown field is named with a suggestion and its place", () => {
    assert.deepStrictEqual(problemsOf({ "a.yaml": relayer("    policies:\n      gas_price_capp: 7\n") }), [
      "relayers.treasury.policies.gas_price_capp: is not a known field; did you mean gas_price_cap? (a.yaml:10:7)"
    ])
  })

  it("a missing field is reported at its object", () => {
    const text = relayer("").replace("    name: Treasury\n", "")
    assert.deepStrictEqual(problemsOf({ "a.yaml": text }), ["relayers.treasury.name: is required (a.yaml:4:3)"])
  })

  it("an id twice in a file names both lines", () => {
    const text = `${head}notifications:\n  ops: {url: "https://a.example"}\n  ops: {url: "https://b.example"}\n`
    assert.deepStrictEqual(problemsOf({ "a.yaml": text }), [
      "notifications.ops: is here twice, the first time at a.yaml:4:3 (a.yaml:5:3)"
    ])
  })

  it("an id in two files names both places", () => {
    const ops = 'notifications:\n  ops: {url: "https://a.example"}\n'
    const files = { "a.yaml": `${head}include: [b.yaml]\n${ops}`, "b.yaml": ops }
    assert.deepStrictEqual(problemsOf(files), [
      "notifications.ops: is here twice, the first time at b.yaml:2:3 (a.yaml:5:3)"
    ])
  })

  it.each([
    ["version: 1\nname: a\nrelayers: {", "a.yaml:3:12"],
    ["version: 1\n\tname: a", "a.yaml:2:1"],
    ["a: &a [*a]", "a.yaml"]
  ])("what does not parse is reported with its place: %j", (text, place) => {
    const problems = problemsOf({ "a.yaml": text })
    assert.isAbove(problems.length, 0)
    assert.include(problems.join(), place)
  })

  it("an alias bomb is refused without being expanded", () => {
    const lines = Array.from(
      { length: 20 },
      (_, at) => `a${at}: &a${at} [${Array.from({ length: 10 }, () => (at === 0 ? "x" : `*a${at - 1}`)).join(", ")}]`
    )
    assert.deepStrictEqual(
      problemsOf({ "a.yaml": `${head}${lines.join("\n")}` }).map((problem) => problem.replace(/ \(.*/, "")),
      ["has more than 200000 members"]
    )
  })

  it.each(["__proto__", "constructor", "a.b", "a b", ""])("the id %j is refused", (id) => {
    const problems = problemsOf({
      "a.yaml": `${head}notifications:\n  ${JSON.stringify(id)}: {url: "https://a.example"}\n`
    })
    assert.match(problems.join(), /expected an id/)
  })

  it("a file that is no configuration is not quoted", () => {
    const files = { "a.yaml": `${head}include: [b.json]\n`, "b.json": '{"AWS_SECRET": "hunter2"}' }
    assert.deepStrictEqual(problemsOf(files), ["is not a configuration of relayers (b.json:1:1)"])
  })
})

describe("secrets", () => {
  const inline = `${head}notifications:
  ops: {url: "https://a.example", signing_key: ${signingKey}}
  two: {url: "https://a.example", signing_key: {env: RELAYER_UNSET}}
  three: {url: "https://a.example", signing_key: {file: missing.txt}}
signers:
  hot: {type: plain, config: {key: {mnemonic: {env: RELAYER_WORDS}, path: m/44}}}
`

  it("an inline secret, an unset variable and a missing file are reported at once, without a value", () => {
    const problems = problemsOf({ "a.yaml": inline }, { variables: { RELAYER_WORDS: "abandon hunter2" } })
    assert.deepStrictEqual(
      problems.map((problem) => problem.replace(/ \(a\.yaml.*/, "")),
      [
        "notifications.ops.signing_key: is a secret: use {env: NAME} or {file: path}",
        "notifications.two.signing_key: the environment variable RELAYER_UNSET is not set",
        "notifications.three.signing_key: the file does not exist",
        "signers.hot.config.key: is no mnemonic of 12 to 24 words (BIP-39)"
      ]
    )
    for (const problem of problems) assert.notMatch(problem, /hunter2|0123456789/)
  })

  it("variables, files, mnemonics and marks are resolved", () => {
    const text = `${head}notifications:
  ops: {url: {env: RELAYER_URL_OPS}, signing_key: {file: keys/signing}}
  two: {url: "https://a.example", signing_key: {stored: true}}
signers:
  raw: {type: plain, config: {key: {mnemonic: {env: RELAYER_WORDS}, path: "m/44'/60'/0'/0/0"}}}
  new: {type: plain, config: {key: {generate: true}}}
`
    const found = documentOf(
      { "a.yaml": text, "keys/signing": `${signingKey}\n` },
      {
        variables: {
          RELAYER_WORDS: "test test test test test test test test test test test junk",
          RELAYER_URL_OPS: "https://hooks.example/key"
        }
      }
    )
    assert.deepStrictEqual(found.document["signers"], {
      // The first account of the well-known mnemonic of test chains.
      raw: { type: "plain", config: { key: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80" } },
      new: { type: "plain", config: { key: { generate: true } } }
    })
    assert.deepStrictEqual(
      found.wanted.objects.map(({ id, marks }) => [id, [...marks]]),
      [
        ["ops", []],
        ["two", [["signing_key", "stored"]]],
        ["raw", []],
        ["new", [["config.key", "generate"]]]
      ]
    )
    const key = requestOf(found, "ops")?.["signing_key"]
    assert.strictEqual(Redacted.isRedacted(key) ? Redacted.value(key) : undefined, signingKey)
    assert.include([...found.hidden], "notifications.ops.url")
    assert.include([...found.hidden], "signers.raw.config.key")
  })

  it("only variables that a pattern allows are read, and the answer does not say whether they are set", () => {
    const text = `${head}notifications:\n  ops: {url: "https://a.example/\${DEPLOY_TOKEN}", signing_key: {env: AWS_SECRET}}\n`
    const unset = problemsOf({ "a.yaml": text })
    const set = problemsOf({ "a.yaml": text }, { variables: { DEPLOY_TOKEN: "x", AWS_SECRET: signingKey } })
    assert.deepStrictEqual(set, unset)
    assert.deepStrictEqual(unset, [
      "notifications.ops.url: only variables RELAYER_* are read; allow it with --env (a.yaml:4:14)",
      "notifications.ops.signing_key: only variables RELAYER_* are read; allow it with --env (a.yaml:4:70)"
    ])
    const allowed = { variables: { DEPLOY_TOKEN: "x", AWS_SECRET: signingKey }, patterns: ["DEPLOY_*", "AWS_SECRET"] }
    assert.deepStrictEqual(problemsOf({ "a.yaml": text }, allowed), [])
  })

  it("a text with a variable is remembered as it is in the file", () => {
    const text = relayer("").replace("Treasury", () => "'$${x} ${RELAYER_X}'")
    const found = documentOf({ "a.yaml": text }, { variables: { RELAYER_X: "resolved" } })
    assert.strictEqual(requestOf(found, "treasury")?.["name"], "${x} resolved")
    assert.deepStrictEqual([...found.templates], [["relayers.treasury.name", "$${x} ${RELAYER_X}"]])
  })
})

describe("files", () => {
  it("includes and folders are merged in byte order, and each file is read once", () => {
    const one = (id: string) => `notifications:\n  ${id}: {url: "https://a.example"}\n`
    const files = {
      "main.yaml": `${head}include: [teams/*.yaml, ./teams/b.yaml]\n`,
      "teams/b.yaml": one("b"),
      "teams/a.yaml": one("a"),
      "teams/c.txt": "no"
    }
    const ids = (found: Loaded) => found.wanted.objects.map(({ id }) => id)
    assert.deepStrictEqual(ids(documentOf(files)), ["a", "b"])
    // The schema that an import writes beside its file is no configuration.
    const schema = { "f/relayers.schema.json": '{"$schema":"https://json-schema.org/draft/2020-12/schema"}' }
    const folder = { "f/z.yaml": one("z"), "f/a.json": '{"version":1,"name":"payments"}', ...schema }
    assert.deepStrictEqual(ids(documentOf(folder, { files: ["f"] })), ["z"])
  })

  it("includes and secrets outside of the folder are refused, whether they exist or not", () => {
    const text = `${head}include: [../*.yaml, /etc/*.yaml, ../outside.yaml]\n`
    const files = { "in/a.yaml": text, "outside.yaml": head }
    const problems = problemsOf(files)
    assert.strictEqual(problems.length, 3)
    for (const problem of problems) assert.match(problem, /^include: the included file is outside of the folder/)
    const secret = `${head}notifications:\n  ops: {url: "https://a.example", signing_key: {file: ../key}}\n`
    assert.deepStrictEqual(problemsOf({ "in/a.yaml": secret, key: signingKey }), problemsOf({ "in/a.yaml": secret }))
    assert.deepStrictEqual(problemsOf({ "in/a.yaml": secret, key: signingKey }, { roots: ["."] }), [])
  })

  it("a symbolic link out of the folder is refused", () => {
    const secret = written({ key: signingKey })
    const folder = written({
      "a.yaml": `${head}notifications:\n  ops: {url: "https://a.example", signing_key: {file: link/key}}\n`
    })
    fs.symlinkSync(secret, path.join(folder, "link"))
    const given = { files: [path.join(folder, "a.yaml")], overlays: [], roots: [], variables: variableReader({}) }
    const result = load(given)
    assert.isTrue(Result.isFailure(result))
    assert.isTrue(Result.isSuccess(load({ ...given, roots: [secret] })))
    fs.rmSync(secret, { recursive: true })
    fs.rmSync(folder, { recursive: true })
  })

  it("an overlay patches members, replaces lists and removes with null", () => {
    const base = `${relayer("    notification_id: ops\n    policies: {whitelist_receivers: [], min_balance: 1}\n")}notifications:\n  ops: {url: "https://a.example"}\n`
    const patch = `relayers: {treasury: {notification_id: null, policies: {whitelist_receivers: [${address}]}}}\nnotifications: null\n`
    const found = documentOf({ "a.yaml": base, "prod.yaml": patch }, { overlays: ["prod.yaml"] })
    assert.deepStrictEqual([...found.wanted.sections], ["relayers"])
    assert.deepStrictEqual(requestOf(found, "treasury"), {
      id: "treasury",
      name: "Treasury",
      network_type: "evm",
      network: "sepolia",
      signer_id: "hot",
      paused: false,
      policies: { whitelist_receivers: [address], min_balance: 1n }
    })
  })

  it("an empty section is present, and one without a value is absent", () => {
    const sections = (text: string) => [...documentOf({ "a.yaml": `${head}${text}` }).wanted.sections]
    assert.deepStrictEqual(sections("relayers: {}\nsigners:\n"), ["relayers"])
  })
})
