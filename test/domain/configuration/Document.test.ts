// Documents with resolved references are decoded by the schemas of the contract.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { wantedState } from "../../../src/domain/configuration/Comparison.ts"
import { decode, isSecret, namesOf, shapesOfObject, structsOf } from "../../../src/domain/configuration/Document.ts"
import { looksLikeKey } from "../../../src/domain/configuration/Reference.ts"
import { suggestionFor } from "../../../src/domain/request/Violations.ts"

const secretKey = `0x${"7".repeat(64)}`

describe("documents", () => {
  it("the sections and objects of a document are decoded in the order of creations", () => {
    const wanted = decode({
      version: 1,
      name: "payments",
      relayers: { treasury: { name: "T", network_type: "evm", network: "acme", signer_id: "hot", paused: true } },
      signers: { hot: { type: "plain", config: { key: { stored: true } } } },
      networks: { "evm:acme": { from: "base", chain_id: 84005 } }
    })
    const found = Result.getOrThrow(wanted)
    assert.deepStrictEqual([...found.sections], ["networks", "signers", "relayers"])
    assert.deepStrictEqual(
      found.objects.map(({ kind, id, managesPaused }) => [kind, id, managesPaused]),
      [
        ["networks", "evm:acme", true],
        ["signers", "hot", true],
        ["relayers", "treasury", true]
      ]
    )
    assert.deepStrictEqual(found.objects[0]?.request, {
      network_type: "evm",
      name: "acme",
      from: "base",
      chain_id: 84005
    })
  })

  it("all problems are reported at once, with their paths and without values", () => {
    const failed = decode({
      version: 2,
      name: "a b",
      relayer: {},
      signers: { hot: { type: "plain", config: { key: "0x1234" }, extra: secretKey }, "bad id": {} },
      relayers: { treasury: { id: "treasury" } },
      networks: { sepolia: {} },
      notifications: 1
    })
    const texts = Result.match(failed, {
      onSuccess: () => [],
      onFailure: (violations) => violations.map(({ field, message }) => `${field}: ${message}`)
    })
    assert.deepStrictEqual(texts.slice(0, 5), [
      "version: expected 1",
      "name: expected 1 to 36 letters, digits, dashes and underscores",
      "relayer: is not a known field; did you mean relayers?",
      "notifications: expected an object",
      "networks.sepolia: expected the type and the name of a network, such as evm:sepolia"
    ])
    assert.include(texts.join("\n"), "signers.hot.config.key: Expected 32 bytes as 64 hex digits")
    assert.include(texts, "signers.hot.extra: is not a known field (known: type, config)")
    assert.include(texts.join("\n"), "relayers.treasury.id: is determined by the key of the object: remove it")
    assert.notInclude(texts.join("\n"), secretKey)
    assert.notInclude(texts.join("\n"), "0x1234")
  })

  it("a type of paused that is not a boolean is an error, not a default", () => {
    const failed = decode({ version: 1, name: "a", notifications: { ops: { url: "https://a.example", paused: 1 } } })
    assert.isTrue(Result.isFailure(failed))
  })
})

describe("states", () => {
  it("secrets become tokens, marks stay, and what the key determines is left out", () => {
    const found = Result.getOrThrow(
      decode({
        version: 1,
        name: "a",
        networks: { "evm:acme": { chain_id: 84005 } },
        notifications: { ops: { url: "https://a.example", signing_key: "0123456789abcdef0123456789abcdef" } },
        signers: { hot: { type: "plain", config: { key: { stored: true } } } }
      })
    )
    const states = found.objects.map((object) => wantedState(object, (secret) => `token of ${secret.length}`))
    assert.deepStrictEqual(
      states.map(({ id, fields, secrets, kept }) => [id, fields, [...secrets], [...kept]]),
      [
        ["evm:acme", { chain_id: 84005 }, [], []],
        ["ops", { type: "webhook", url: "https://a.example", paused: false }, [["signing_key", "token of 32"]], []],
        ["hot", { type: "plain", config: {} }, [], ["config.key"]]
      ]
    )
  })
})

describe("shapes", () => {
  it("the discriminator chooses the struct of an object", () => {
    const names = namesOf(structsOf(shapesOfObject("networks", "solana:devnet"), () => undefined))
    assert.notInclude(names, "chain_id")
    const [plain, ...others] = structsOf(shapesOfObject("signers", "hot"), (name) =>
      name === "type" ? "plain" : undefined
    )
    assert.isDefined(plain)
    assert.deepStrictEqual(others, [])
    assert.isFalse(isSecret(plain))
  })
})

describe("suggestions", () => {
  it("a similar name is suggested, and no other", () => {
    assert.strictEqual(suggestionFor("gas_price_capp", ["min_balance", "gas_price_cap"]), "gas_price_cap")
    assert.strictEqual(suggestionFor("completely", ["min_balance", "gas_price_cap"]), undefined)
    assert.strictEqual(suggestionFor("ulr", ["url"]), "url", "two swapped letters are one mistake")
    assert.strictEqual(suggestionFor("x".repeat(100_000), ["name"]), undefined)
  })
})

describe("URLs with keys", () => {
  it.each([
    ["https://eth-sepolia.g.alchemy.com/v2/aB3dE6gH9jK2mN5pQ8sT1vW4", true],
    ["https://rpc.acme.example/?apikey=Zx8Kq2Lm9Pw4Rt7Yv1Nb6Hs3", true],
    ["https://user:word@rpc.example", true],
    ["https://ethereum-sepolia-rpc.publicnode.com", false],
    ["https://rpc.example/ext/bc/C/rpc", false],
    ["https://rpc.example/a-long-path-of-words-without-digits", false],
    ["not a URL", false]
  ])("%s: %s", (url, expected) => {
    assert.strictEqual(looksLikeKey(url), expected)
  })
})
