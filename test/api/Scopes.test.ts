// Every endpoint that requires a key declares its scope, and every scope is used.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import { Api } from "../../src/api/Api.ts"
import { Authorization } from "../../src/api/Middleware.ts"
import { isForEveryCaller, scopeOf } from "../../src/api/Endpoint.ts"
import { allows, Grant, Scope, scopeTexts } from "../../src/domain/access/ApiKey.ts"

interface Declared {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly isProtected: boolean
  readonly scope: Scope | undefined
  readonly isForAll: boolean
}

const declared: Array<Declared> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint, group, middleware }) => {
    declared.push({
      name: `${group.identifier}.${endpoint.identifier}`,
      method: endpoint.method,
      path: endpoint.path,
      isProtected: middleware.has(Authorization as never),
      scope: scopeOf(endpoint),
      isForAll: isForEveryCaller(endpoint)
    })
  }
})

/** Endpoints that need no key. */
const open = ["system.health", "system.healthAlias", "system.ready", "metrics.names", "metrics.one", "metrics.scrape"]

describe("scopes", () => {
  it("only health and metrics need no key", () => {
    assert.deepStrictEqual(
      declared.filter(({ isProtected }) => !isProtected).map(({ name }) => name),
      open
    )
  })

  it("names the scopes that decide about prices and receivers where a reader chooses scopes", () => {
    const [, chapter = ""] = fs.readFileSync("SECURITY.md", "utf8").split("\n## Who can move funds\n")
    const bullets = chapter.split("\n## ")[0]?.split("\n- ") ?? []
    const description = String(Schema.resolveAnnotations(Grant)?.description)
    assert.match(description, /decide about prices, receivers and which providers are believed/)
    for (const scope of ["relayers:write", "networks:write"]) {
      assert.include(description, `\`${scope}\``)
      assert.isTrue(
        bullets.some((bullet) => bullet.startsWith(`**A key with \`${scope}\`** decides`)),
        scope
      )
    }
    assert.include(
      JSON.parse(fs.readFileSync("openapi.json", "utf8")).components.schemas.Scope.description,
      description
    )
  })

  /** What a relayer sends and signs has scopes of its own, below the path of the relayer. */
  const ofTransactions = new Set([
    "transactions",
    "allTransactions",
    "signing",
    "transactionSigning",
    "sponsored",
    "nodeCalls",
    "nonces",
    "policies",
    "fees",
    "statistics"
  ])

  /** The handler checks the scopes of the sections of the document as well. */
  const ofConfigurations = new Set([
    "configuration.plan",
    "configuration.apply",
    "configuration.list",
    "configuration.get",
    "configuration.document"
  ])

  /** What a key may do is no secret from its holder, and a search finds what the key may read. */
  const forEveryCaller = ["search.find", "apiKeys.current"]

  it("the endpoints for every key need no scope", () => {
    assert.sameMembers(
      declared.filter(({ isForAll }) => isForAll).map(({ name }) => name),
      [...forEveryCaller]
    )
    for (const name of forEveryCaller) assert.isUndefined(declared.find((one) => one.name === name)?.scope)
  })

  /** These lists show relayers, or the state of the service to operators of relayers. */
  const ofRelayers = new Set(["attention.list", "instances.list"])

  it("every other endpoint declares a scope of its resource, to read or to write", () => {
    for (const { name, method, path, scope, isProtected } of declared) {
      if (!isProtected || ofTransactions.has(name.split(".")[0] ?? "")) continue
      if (ofConfigurations.has(name) || forEveryCaller.includes(name)) continue
      const resource = ofRelayers.has(name) ? "relayers" : path.split("/")[3]
      assert.strictEqual(scope, `${resource}:${method === "GET" ? "read" : "write"}`, name)
    }
  })

  it("endpoints of transactions need the scope of reading, changing, signing or calling", () => {
    const needed = new Map(declared.map(({ name, scope }) => [name, scope]))
    const expected = {
      "transactions:read": [
        "transactions.list",
        "transactions.simulate",
        "allTransactions.list",
        "nonces.get",
        "fees.ofTransaction",
        "statistics.get",
        "sponsored.quote",
        "sponsored.build"
      ],
      "transactions:write": ["transactions.send", "transactions.replace", "transactions.cancel", "nonces.resync"],
      "transactions:sign": ["signing.sign", "signing.signTypedData", "transactionSigning.signTransaction"],
      // `nonces.releaseChannels` also needs the scope `transactions:write`.
      "relayers:write": ["nonces.releaseChannels"],
      // It also needs the scope `transactions:read`.
      "relayers:read": ["policies.rehearse"],
      "rpc:call": ["nodeCalls.rpc"]
    }
    for (const [scope, names] of Object.entries(expected)) {
      for (const name of names) assert.strictEqual(needed.get(name), scope, name)
    }
  })

  /** `*` and their own names grant them, and nothing else. */
  const onlyByName = new Set(["transactions:sign", "rpc:call"])

  it("every scope is used by an endpoint, and can be granted alone or with all scopes of its resource", () => {
    const needed = new Set(declared.map(({ scope }) => scope))
    for (const scope of Scope.literals) {
      assert.isTrue(needed.has(scope), scope)
      if (onlyByName.has(scope)) continue
      const [resource] = scope.split(":")
      assert.include(Grant.literals, `${resource}:*`)
    }
  })

  it("every scope has a sentence of its own in the document", () => {
    const { "x-scopes": documented } = OpenApi.fromApi(Api) as {
      readonly "x-scopes"?: Readonly<Record<string, string>>
    }
    assert.deepStrictEqual(documented, scopeTexts)
    assert.strictEqual(new Set(Object.values(scopeTexts)).size, Scope.literals.length)
    for (const [scope, text] of Object.entries(scopeTexts)) assert.match(text, /^[A-Z].{20,}\.$/, scope)
  })

  it("a grant allows one scope, all scopes of a resource, or all scopes", () => {
    for (const needed of Scope.literals) {
      const granting = Grant.literals.filter((grant) => allows([grant], needed))
      const [resource] = needed.split(":")
      const ofResource = onlyByName.has(needed) ? [] : [`${resource}:*` as Grant]
      assert.sameMembers(granting, [needed, ...ofResource, "*"])
    }
    assert.isFalse(allows(["relayers:read", "relayers:write"], "relayers:*"))
    assert.isFalse(allows(["relayers:*"], "*"))
    assert.isFalse(allows([], "relayers:read"))
  })
})
