// The error of a refused request names each wrong field, unless a name is unsafe or too long.
import { assert, describe, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import { readFileSync } from "node:fs"
import { CreateNotification, UpdateNotification } from "../../../src/domain/notification/Notification.ts"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import { SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../../src/networks/stellar/rules/StellarRequests.ts"
import { errorIn, strict } from "../../../testkit/DecodedBody.ts"
import { Unauthorized } from "../../../src/domain/access/Caller.ts"
import { CreateApiKey } from "../../../src/domain/access/ApiKey.ts"
import { CreateNetwork } from "../../../src/domain/network/Network.ts"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { maxErrorLength, NotFound } from "../../../src/domain/request/Request.ts"
import { maxViolations } from "../../../src/domain/request/Violations.ts"

const decode = Schema.decodeUnknownResult(Schema.Struct({ id: Schema.optionalKey(Schema.String) }), strict)

/** The error of an object with these unknown fields. */
const errorOf = (...fields: ReadonlyArray<string>) =>
  errorIn(decode(Object.fromEntries(fields.map((field) => [field, 1]))))

describe("the names of fields", () => {
  const names = [
    ["of any script", "größe 値 😀", "größe 値 😀"],
    ["with control characters", "a\0b\nc\u007fd\u0085e", "a?b?c?d?e"],
    ["that turn the direction of text", "a\u202eb\u2066c", "a?b?c"],
    ["with half of a character", "a\ud83db\ude00c", "a?b?c"],
    ["that are too long", "x".repeat(200), "x".repeat(128)],
    ["that are cut inside of a character", `${"x".repeat(127)}😀`, `${"x".repeat(127)}?`]
  ] as const
  it.each(names)("%s", (_, field, shown) => {
    assert.strictEqual(errorOf(field), `${shown}: is not a known field (known: id)`)
  })

  it("make up no more than the error holds, which says how many more there are", () => {
    for (let shift = 0; shift < 4; shift++) {
      const error = errorOf(...Array.from({ length: 20 }, (_, n) => `${"x".repeat(shift)}${n}${"😀".repeat(60)}`))
      assert.isAtMost(error.length, maxErrorLength)
      assert.isTrue(error.isWellFormed())
      assert.match(error, /is not a known field; and 1\d more$/)
    }
  })

  it("are at most 50, however many fields are unknown", () => {
    const error = errorOf(...Array.from({ length: 80_000 }, (_, n) => `${n}`))
    const [, more] = /; and (\d+) more$/.exec(error) ?? []
    const shown = error.split("; ").length - 1
    assert.isAtMost(shown, maxViolations)
    assert.strictEqual(shown + Number(more), 80_000)
  })
})

const bodies = {
  CreateApiKey,
  CreateNetwork,
  CreateNotification,
  CreateRelayer,
  CreateSigner,
  SendEvmTransaction,
  SendSolanaTransaction,
  SendStellarTransaction,
  UpdateNotification
}

const wrong = [5, 1.5, true, "\0", "x y", [], [5], [[]], {}, { zz: 1 }, [{ zz: 1 }]]

/** Bodies with a wrong value at one place, for each field of each struct, with the literals that choose the struct. */
const broken = (given: SchemaAST.AST, build: (value: unknown) => unknown, depth = 0): ReadonlyArray<unknown> => {
  const ast = given._tag === "Suspend" ? given.thunk() : given
  if (depth > 5) return []
  if (ast._tag === "Union") return ast.types.flatMap((type) => broken(type, build, depth + 1))
  if (ast._tag === "Arrays") return ast.rest.flatMap((type) => broken(type, (value) => build([value]), depth + 1))
  if (ast._tag !== "Objects") return []
  const tags = Object.fromEntries(
    ast.propertySignatures.flatMap(({ name, type }) => (type._tag === "Literal" ? [[String(name), type.literal]] : []))
  )
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const at = (value: unknown) => build({ ...tags, [String(name)]: value })
    return [...wrong.map(at), ...broken(type, at, depth + 1)]
  })
}

describe("what is expected of a field", () => {
  const document = JSON.parse(readFileSync("openapi.json", "utf8")) as {
    readonly components: { readonly schemas: object }
  }
  const names = Object.keys(document.components.schemas).join("|")
  const type = new RegExp(
    `\\|| Expected (${names}|string|number|boolean|array|bigint|null|undefined|never|Redacted)\\b`,
    "u"
  )

  for (const [name, schema] of Object.entries(bodies)) {
    it(`is said in words, and not as types of a schema: ${name}`, () => {
      const decode = Schema.decodeUnknownResult(schema, strict)
      const given = broken(SchemaAST.toEncoded(schema.ast), (value) => value)
      assert.isAbove(given.length, 30)
      const found = given.flatMap((body) => {
        const result = decode(body)
        const lines = result._tag === "Failure" ? ` ${errorIn(result)}`.split("; ") : []
        return lines.filter((line) => type.test(line))
      })
      assert.deepStrictEqual([...new Set(found)], [])
    })
  }

  it("is a kind, with its bounds, for an optional number, text and list", () => {
    const error = errorIn(
      Schema.decodeUnknownResult(
        CreateNetwork,
        strict
      )({
        network_type: "evm",
        name: "x",
        chain_id: "x",
        symbol: 5,
        tags: "a",
        is_testnet: 1,
        rpc_urls: [5]
      })
    )
    for (const line of [
      "chain_id: Expected an integer from 1 to 9007199254740991",
      "symbol: Expected a text: 1 to 32 characters",
      "tags: Expected a list",
      "is_testnet: Expected true or false",
      "rpc_urls.0: Expected a URL, or an object of url and weight"
    ]) {
      assert.include(error, line)
    }
  })
})

describe("an error of a body", () => {
  const of = (schema: Schema.Codec<unknown, unknown>, body: unknown) =>
    errorIn(Schema.decodeUnknownResult(schema, strict)(body))

  const relayer = { name: "a", network: "sepolia", network_type: "evm", paused: false, signer_id: "k" }

  it("lists the fields of an object once if one is unknown and resembles none", () => {
    assert.strictEqual(
      of(CreateNotification, { type: "webhook", url: "https://a.example", first: 1, other: 1, urll: 1 }),
      "first: is not a known field (known: id, type, url, signing_key); other: is not a known field; urll: is not a known field; did you mean url?"
    )
  })

  it("does not list fields that cannot be given", () => {
    assert.strictEqual(
      of(UpdateNotification, { colour: 1 }),
      "colour: is not a known field (known: type, url, signing_key, paused)"
    )
  })

  it("leaves the lists out before it leaves out what is wrong", () => {
    const names = Array.from({ length: 14 }, (_, n) => `${n}${"x".repeat(40)}`)
    const error = of(SendEvmTransaction, Object.fromEntries(names.map((name) => [name, 1])))
    assert.strictEqual(error, names.map((name) => `${name}: is not a known field`).join("; "))
  })

  it("says which member of a union has a field that this one lacks", () => {
    assert.strictEqual(
      of(CreateRelayer, { ...relayer, policies: { max_fee: 1, allowed_tokens: [] } }),
      "policies.max_fee: is not a known field: only stellar has it; policies.allowed_tokens: is not a known field: only solana, stellar have it"
    )
    assert.strictEqual(
      of(CreateSigner, { type: "plain", config: { region: "eu-west-1" } }),
      "config.region: is not a known field: only aws_kms has it"
    )
  })

  it("says what an absent object has to have, and which values an absent enumeration has", () => {
    assert.strictEqual(of(CreateSigner, { type: "aws_kms" }), "config: is required (an object with region, key_id)")
    assert.strictEqual(
      of(Schema.Struct({ speed: Schema.Literals(["slow", "fast"]) }), {}),
      "speed: is required (slow or fast)"
    )
  })

  it("lists what tells the members of a union apart if the value names none of them", () => {
    const send = (operation: object) => of(SendStellarTransaction, { network: "testnet", operations: [operation] })
    const kinds =
      "operations.0: Expected an object whose type is payment, invoke_contract, create_contract or upload_wasm"
    assert.strictEqual(send({ type: "pay" }), kinds)
    assert.strictEqual(send({}), kinds)
    const destination = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
    assert.strictEqual(
      send({ type: "payment", destination, amount: "1", asset: { type: "credit" } }),
      "operations.0.asset.type: Expected native, credit4, credit_alphanum4, credit12 or credit_alphanum12"
    )
    const contract_address = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM"
    assert.match(
      send({ type: "invoke_contract", contract_address, function_name: "f", args: [{ nope: 1 }] }),
      /^operations\.0\.args\.0: Expected an object with one of bool, void, u32, /
    )
  })
})

describe("a range", () => {
  const errorFor = (schema: Schema.Codec<unknown, unknown>, value: unknown) =>
    errorIn(Schema.decodeUnknownResult(Schema.Struct({ field: schema }), strict)({ field: value }))

  const { isBetween, isBetweenLength, isGreaterThan, isMaxLength, isMinLength, isUnique } = Schema
  const port = Schema.Int.check(isBetween({ minimum: 1, maximum: 65_535 }))
  const names = Schema.Array(Schema.String)

  it.each([
    ["an integer that is too large", port, 65_536, "an integer from 1 to 65535"],
    ["a number that is no integer", port, 1.5, "an integer from 1 to 65535"],
    ["a text instead of an integer", port, "a", "an integer from 1 to 65535"],
    [
      "a fraction that is too large",
      Schema.Finite.check(isBetween({ minimum: 0, maximum: 1 })),
      2,
      "a number from 0 to 1"
    ],
    ["an integer with one bound", Schema.Int.check(isGreaterThan(0)), 0, "an integer greater than 0"],
    ["a text that is too long", Schema.String.check(isBetweenLength(1, 3)), "four", "1 to 3 characters"],
    ["a text that is empty", Schema.String.check(isMinLength(1)), "", "at least 1 character"],
    ["a text of another length", Schema.String.check(isBetweenLength(2, 2)), "a", "2 characters"],
    ["a number instead of a text", Schema.String.check(isMaxLength(3)), 5, "a text: at most 3 characters"],
    ["a list that is too long", names.check(isBetweenLength(1, 2)), ["a", "b", "c"], "1 to 2 entries"],
    ["a list that is empty", names.check(isMinLength(1)), [], "at least 1 entry"],
    ["a list with an entry twice", names.check(isUnique()), ["a", "a"], "each entry once"],
    ["words of the schema", Schema.String.check(isMaxLength(1, { expected: "a letter" })), "ab", "a letter"]
  ] as const)("names what it counts, for %s", (_, schema, value, expected) => {
    assert.strictEqual(errorFor(schema, value), `field: Expected ${expected}`)
  })
})

describe("docs/moving.md", () => {
  const rows = readFileSync("docs/moving.md", "utf8").matchAll(/^\| `(\{.*?\})` +\| 400 `(.*?)` +\|$/gmu)
  const cases = [...rows].map(([, body = "", error = ""]) => [body, error] as const)

  it.each(cases)("says what the service answers to %s", (body, error) => {
    const result = Schema.decodeUnknownResult(SendEvmTransaction, strict)(JSON.parse(body))
    const [start = "", end = ""] = error.split("…")
    assert.isTrue(errorIn(result).startsWith(start) && errorIn(result).endsWith(end), errorIn(result))
  })

  it("has the sentences about keys and paths", () => {
    const text = readFileSync("docs/moving.md", "utf8")
    for (const { message } of [new Unauthorized({}), new NotFound({})]) assert.include(text, `\`${message}\``)
  })

  it("has bodies of clients", () => assert.isAtLeast(cases.length, 4))
})
