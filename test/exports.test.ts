// Every export of the package is a schema that generates plausible values, or is listed here with the reason why it is none.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import * as fs from "node:fs"
import manifest from "../package.json" with { type: "json" }
import { property } from "../testkit/Depth.ts"
import * as Exports from "../testkit/Exports.ts"

const read = (file: string) => fs.readFileSync(file, "utf8")

/** The exports that are no schemas, by what they are instead. */
const others: Readonly<Record<string, ReadonlyArray<string>>> = {
  "a service": [
    "effect-relayer ApiClient",
    "effect-relayer ApiKeys",
    "effect-relayer Audit",
    "effect-relayer AuditCheckpoints",
    "effect-relayer AuditHeadStore",
    "effect-relayer Authentication",
    "effect-relayer ChainAccess",
    "effect-relayer Claims",
    "effect-relayer Delegations",
    "effect-relayer Deliveries",
    "effect-relayer Draining",
    "effect-relayer EventFeed",
    "effect-relayer Intakes",
    "effect-relayer LaneLedger",
    "effect-relayer Ledger",
    "effect-relayer LedgerMemory",
    "effect-relayer MasterKeyStore",
    "effect-relayer MasterKeys",
    "effect-relayer MessageSigning",
    "effect-relayer Networks",
    "effect-relayer NodePassing",
    "effect-relayer Nonces",
    "effect-relayer Notifications",
    "effect-relayer Outbound",
    "effect-relayer OutboundWork",
    "effect-relayer PriceSource",
    "effect-relayer RateLimits",
    "effect-relayer Readiness",
    "effect-relayer RelayerHealth",
    "effect-relayer RelayerTargets",
    "effect-relayer Relayers",
    "effect-relayer RpcNodes",
    "effect-relayer Secrets",
    "effect-relayer SignerBackends",
    "effect-relayer SignerSettings",
    "effect-relayer Signers",
    "effect-relayer Sponsoring",
    "effect-relayer TransactionSigning",
    "effect-relayer Transactions",
    "effect-relayer/client ApiClient",
    "effect-relayer/testkit EventFeed",
    "effect-relayer/testkit Networks",
    "effect-relayer/testkit Relayers",
    "effect-relayer/testkit Signers",
    "effect-relayer/testkit TestChain",
    "effect-relayer/testkit TestRelayer",
    "effect-relayer/testkit Transactions",
    "effect-relayer/domain CurrentCaller"
  ],
  "a function that makes layers, effects or clients": [
    "effect-relayer Server.drainFirst",
    "effect-relayer Server.layer",
    "effect-relayer Server.mount",
    "effect-relayer Server.refuseEarly",
    "effect-relayer Server.routes",
    "effect-relayer Services.layer",
    "effect-relayer Services.layerLedgerMemory",
    "effect-relayer Services.layerNoAuthentication",
    "effect-relayer Services.layerNoDeps",
    "effect-relayer Services.layerSecrets",
    "effect-relayer Sql.layer",
    "effect-relayer Sql.layerOpen",
    "effect-relayer Sql.maintenance",
    "effect-relayer Sql.migrate",
    "effect-relayer Sql.open",
    "effect-relayer trustedProxies",
    "effect-relayer/client verifyWebhook",
    "effect-relayer/promise createClient",
    "effect-relayer/promise orThrow",
    "effect-relayer/webhook verifyWebhook",
    "effect-relayer/webhook/node verifyWebhook"
  ],
  "an error that only tests see": [
    "effect-relayer/testkit AnswerLost",
    "effect-relayer/testkit NotReached",
    "effect-relayer/testkit Scenario.ScenarioFailed"
  ],
  "a scenario of the test kit": [
    "effect-relayer/testkit Scenario.answerLost",
    "effect-relayer/testkit Scenario.deadlinePasses",
    "effect-relayer/testkit Scenario.dropped",
    "effect-relayer/testkit Scenario.eventsTwiceAndLate",
    "effect-relayer/testkit Scenario.nonceTakenByForeign",
    "effect-relayer/testkit Scenario.priceSpike",
    "effect-relayer/testkit Scenario.providerDies",
    "effect-relayer/testkit Scenario.providerLies",
    "effect-relayer/testkit Scenario.reorgOfDepth",
    "effect-relayer/testkit Scenario.reverts"
  ],
  "arbitrary values of a schema": [
    "effect-relayer/testkit Arbitraries.createNetwork",
    "effect-relayer/testkit Arbitraries.createRelayer",
    "effect-relayer/testkit Arbitraries.createSigner",
    "effect-relayer/testkit Arbitraries.event",
    "effect-relayer/testkit Arbitraries.evmTransaction",
    "effect-relayer/testkit Arbitraries.loadSolana",
    "effect-relayer/testkit Arbitraries.loadStellar",
    "effect-relayer/testkit Arbitraries.network",
    "effect-relayer/testkit Arbitraries.relayer",
    "effect-relayer/testkit Arbitraries.replaceEvmTransaction",
    "effect-relayer/testkit Arbitraries.sendEvmTransaction",
    "effect-relayer/testkit Arbitraries.signer",
    "effect-relayer/testkit Arbitraries.updateRelayer"
  ],
  "an error for programs without Effect": ["effect-relayer/webhook/node WebhookInvalid"],
  "a function that tells network types apart": [
    "effect-relayer/client isOfNetwork",
    "effect-relayer/promise isOfNetwork"
  ],
  "a setting of a layer or of a router": ["effect-relayer Server.defaults", "effect-relayer Server.routerConfig"],
  "a network type, for `Services.layer`": [
    "effect-relayer/evm evm",
    "effect-relayer/solana solana",
    "effect-relayer/stellar stellar"
  ],
  "the contract, or middleware of it": [
    "effect-relayer Api",
    "effect-relayer/api Api",
    "effect-relayer/client Api",
    "effect-relayer/api Authorization",
    "effect-relayer/api DecodeErrors",
    "effect-relayer/api Idempotency",
    "effect-relayer/api RequestBody"
  ],
  "a function that makes schemas or texts": [
    "effect-relayer/api Envelope.created",
    "effect-relayer/api Envelope.deleted",
    "effect-relayer/api Envelope.listOf",
    "effect-relayer/api Envelope.of",
    "effect-relayer/api Envelope.pageOf",
    "effect-relayer/api Envelope.pageOrListOf",
    "effect-relayer/api Envelope.pageText",
    "effect-relayer/api Envelope.pagination",
    "effect-relayer/api Envelope.text"
  ],
  "a constant of the contract": [
    "effect-relayer/api Envelope.createdStatus",
    "effect-relayer/api Errors.retryAfterBusy",
    "effect-relayer/api Errors.retryAfterUnavailable"
  ],
  "a list of schemas, which are exports of their own": ["effect-relayer/api Errors.any"]
}

/** JSON that the service passes on as it is, such as the error of a solana transaction, arguments of contracts, and the file of a service account of Google, which Google writes. */
const free = new Set([
  "after",
  "args",
  "attributes",
  "before",
  "cause",
  "constructor_args",
  "data",
  "error",
  "message",
  "payload",
  "policies",
  "service_account"
])

/** Positions of a log that someone has tampered with, and the order among transactions. */
const unbounded = new Set(["position", "broken_at", "priority"])

const account = /^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|[CG][A-Z2-7]{55})$/

const isYear = (text: string) => /^20\d\d-/.test(text) && !Number.isNaN(Date.parse(text))

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "")

/** What the values of a property are, by the name of the property. */
const rules: ReadonlyArray<readonly [name: RegExp, isPlausible: (value: string) => boolean]> = [
  [/(^|_)(at|since|until)$|^not_before$|_timestamp$/, isYear],
  [/(^|_)urls?$/, isHttp],
  [/(^|_)hash$/, (text) => /^(0x)?[0-9a-f]{64}$/i.test(text)],
  [/^(evm|solana|stellar|contract_address|mint)$/, (text) => account.test(text)],
  [/^address$/, (text) => account.test(text) || isHttp(text)],
  [/^(id|(event|key|relayer|request|resource|signer)_id)$/, (text) => /^[!-~]{1,64}$/.test(text) || text.includes(":")]
]

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** The implausible values of an encoded value, with their names. */
const implausible = (value: unknown, name: string): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item) => implausible(item, name))
  if (JSON.isRawJSON(value)) return implausible(Number(value.rawJSON), name)
  if (isObject(value))
    return Object.entries(value).flatMap(([key, child]) => (free.has(key) ? [] : implausible(child, key)))
  const isOut =
    (typeof value === "number" &&
      (value < 0 || (name === "status" && (value < 100 || value > 599))) &&
      !unbounded.has(name)) ||
    (typeof value === "string" && rules.some(([names, isPlausible]) => names.test(name) && !isPlausible(value)))
  return isOut ? [`${name}: ${String(value)}`] : []
}

const exported = await Exports.all()
const schemas = await Exports.schemas()

describe("the exports of the package", () => {
  it("are schemas, or are listed with a reason", () => {
    const unlisted = exported.filter(({ value }) => !Schema.isSchema(value)).map(({ name }) => name)
    assert.deepStrictEqual(unlisted.toSorted(), Object.values(others).flat().toSorted())
  })

  for (const [schema, name] of schemas) {
    it.prop(
      `${name} decodes what it encodes`,
      [schema],
      ([value]) => {
        const encoded = Schema.encodeSync(schema)(value)
        assert.isTrue(Equal.equals(Schema.decodeSync(schema)(encoded), value), JSON.stringify(encoded))
      },
      property()
    )

    it.prop(
      `${name} generates plausible values`,
      [schema],
      ([value]) => {
        assert.deepStrictEqual(implausible(Schema.encodeSync(schema)(value), ""), [])
      },
      property()
    )

    it.prop(
      `${name} has a message if it is an error`,
      [schema],
      ([value]) => {
        if (value instanceof Error) assert.notStrictEqual(value.message, "")
      },
      property()
    )
  }

  it("have a name for each type that a served network is made of", () => {
    const imported = [...read("src/server/ServedNetworks.ts").matchAll(/^import type \{([^}]*)\} from "\.\.?\//gm)]
    const exporting = [...read("src/index.ts").matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
    const namesOf = (found: ReadonlyArray<RegExpMatchArray>) =>
      found.flatMap(([, names = ""]) => names.match(/\w+/g) ?? [])
    assert.isAbove(namesOf(imported).length, 20)
    assert.isEmpty(namesOf(imported).filter((name) => !namesOf(exporting).includes(name)))
  })

  it("have each service that a program may call", () => {
    const [, callable = ""] = /^export type Callable =([^]*?)\n\n/m.exec(read("src/server/Services.ts")) ?? []
    const services = callable.match(/\w+(?=\n|$)/g) ?? []
    assert.isAbove(services.length, 20)
    const names = new Set(exported.map(({ name }) => name))
    assert.isEmpty(services.filter((name) => !names.has(`effect-relayer ${name}`)))
  })

  it("have the schemas of requests and responses of each network type", () => {
    const names = exported.map(({ name }) => name)
    for (const type of ["Evm", "Solana", "Stellar"])
      for (const name of [`Send${type}Transaction`, `Replace${type}Transaction`, `${type}Transaction`, `${type}Policy`])
        assert.include(names, `effect-relayer/domain ${name}`)
  })

  it("are the same of `effect-relayer/X` and of `@effect-relayer/client/X`", () => {
    const client: { readonly exports: Readonly<Record<string, string | { readonly default: string }>> } = JSON.parse(
      read("packages/client/package.json")
    )
    for (const [entry, target] of Object.entries(client.exports)) {
      if (typeof target === "string") continue
      const name = entry === "." ? "./client" : entry
      assert.strictEqual(Reflect.get(manifest.exports, name)?.default, target.default, entry)
    }
  })
})
