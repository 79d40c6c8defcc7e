// Bad input for calls, authorizations and delegations: what curl, the client and the form of the console get. Each names the field, and nothing
// is stored. The tests of the command line are in `test/cli/commands/TransactionsCommand.test.ts`.
import { assert } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as fs from "node:fs"
import { formsOf } from "../../../scripts/console/Forms.ts"
import type { OpenApiDocument } from "../../../scripts/console/Forms.ts"
import { createClient } from "../../../src/client/promise/createClient.ts"
import * as Violations from "../../../src/domain/request/Violations.ts"
import { Delegate } from "../../../src/networks/evm/rules/DelegationSchemas.ts"
import { SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { smallestUnits } from "../../../web/src/data/Amounts.ts"
import { bodyOf, unitKey } from "../../../web/src/data/FormFields.ts"

const document = JSON.parse(
  fs.readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")
) as OpenApiDocument

const forms = formsOf(document)
const ether = { ...smallestUnits.evm, symbol: "ETH" }

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
const scalar = `0x${"1a".repeat(32)}`
const authorization = { chain_id: 31_337, address: receiver, nonce: 7, y_parity: 0, r: scalar, s: scalar }

type Reader = Schema.ConstraintDecoder<unknown>

interface Kind {
  readonly path: string
  readonly form: string
  readonly schema: Reader
  readonly rest: object
}

const path = `/api/v1/relayers/${evmRelayer.id}`

const kinds = {
  calls: { path: `${path}/transactions`, form: "SendEvmTransactionRequest", schema: SendEvmTransaction, rest: {} },
  authorization_list: {
    path: `${path}/transactions`,
    form: "SendEvmTransactionRequest",
    schema: SendEvmTransaction,
    rest: { to: receiver }
  },
  address: { path: `${path}/delegation`, form: "DelegateRequest", schema: Delegate, rest: {} }
} satisfies Record<string, Kind>

type Field = keyof typeof kinds

/** The form and the client have no checksums: the service refuses what they send, and the form shows it at the field. */
const byService = Symbol("by the service")

/**
 * The field, its value in a body, the path that is named, the words of service and client, and the words of the form. Absent: those of the
 * service; `null`: the form has no way to enter it.
 */
const table: ReadonlyArray<
  readonly [field: Field, value: unknown, named: string, words: string, ofForm?: string | null | typeof byService]
> = [
  ["calls", [{ to: receiver }], "calls", "2 to 50 calls"],
  ["calls", Array.from({ length: 51 }, () => ({ to: receiver })), "calls", "2 to 50 calls"],
  ["calls", [{ to: receiver }, { value: "1" }], "calls.1.to", "is required", "required"],
  ["calls", [{ to: receiver }, { to: "0xab" }], "calls.1.to", "Expected an address"],
  ["calls", [{ to: receiver }, { to: receiver.replace("C8", "c8") }], "calls.1.to", "checksum", byService],
  ["calls", [{ to: receiver, value: "-1" }, { to: receiver }], "calls.0.value", "whole number of wei", "not_decimal"],
  ["calls", [{ to: receiver, value: "0.5" }, { to: receiver }], "calls.0.value", "of wei", "too_many_decimals"],
  ["calls", [{ to: receiver }, { to: receiver, data: "0xabc" }], "calls.1.data", "two hex digits per byte"],
  ["calls", [{ to: receiver }, { to: receiver, gas: 1 }], "calls.1.gas", "is not a known field", null],
  ["calls", "0xab", "calls", "", null],
  ["authorization_list", [], "authorization_list", "1 to 10 authorizations"],
  [
    "authorization_list",
    Array.from({ length: 11 }, () => authorization),
    "authorization_list",
    "1 to 10 authorizations"
  ],
  ["authorization_list", ["0xab"], "authorization_list.0", "RLP of the six fields"],
  ["authorization_list", [{ ...authorization, r: 5 }], "authorization_list.0.r", "send hex strings"],
  ["authorization_list", [{ ...authorization, r: "0x0" }], "authorization_list.0.r", "is zero"],
  [
    "authorization_list",
    [{ ...authorization, s: `0x${"7f".repeat(32)}00` }],
    "authorization_list.0.s",
    "64 hex digits"
  ],
  ["authorization_list", [{ ...authorization, s: `0x${"90".repeat(32)}` }], "authorization_list.0.s", "upper half"],
  ["authorization_list", [{ ...authorization, y_parity: 2 }], "authorization_list.0.y_parity", "Expected 0 or 1"],
  ["authorization_list", [{ ...authorization, nonce: undefined }], "authorization_list.0.nonce", "is required"],
  ["authorization_list", [{ ...authorization, address: "0xab" }], "authorization_list.0.address", "40 hex digits"],
  ["authorization_list", "hello", "authorization_list", "", "not_authorizations"],
  ["address", undefined, "address", "is required", "required"],
  ["address", "0xab", "address", "Expected an address"],
  ["address", receiver.replace("C8", "c8"), "address", "checksum", byService]
]

/** What a person enters to make the body. Amounts are entered in wei. */
const enteredOf = (field: Field, value: unknown): Record<string, string> => ({
  ...(field === "authorization_list" ? { to: receiver } : {}),
  [unitKey(field)]: "0",
  [field]: value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)
})

/** By path: what the form finds itself, else what it reads as the service does. */
const problemsOf = Effect.fnUntraced(function* (field: Field, value: unknown) {
  const { form, schema } = kinds[field]
  const { json, problems } = bodyOf(forms[form] ?? [], enteredOf(field, value), ether)
  if (Object.keys(problems).length > 0) return problems
  const decode = Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>)
  const read = yield* Effect.result(decode(json, { errors: "all", onExcessProperty: "error" }))
  if (Result.isSuccess(read)) return {}
  return Object.fromEntries(
    Violations.ofIssue(read.failure.issue, "body").first.map(({ field, message }) => [field, message])
  )
})

/** A method of the client, as a program without types calls it. */
type Send = (request: object) => Promise<{ readonly ok: boolean; readonly error?: { readonly message: string } }>

const titleOf = (value: unknown) => `${JSON.stringify(value)?.slice(0, 120) ?? "nothing"}`

layerEach(Prepared.layer(Prepared.references))("bad calls, authorizations and delegates", (it) => {
  it.effect("get the same field from curl, the client and the form, and nothing is stored", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const made = yield* TestApi.call("/api/v1/relayers", { method: "POST", body: { ...evmRelayer } })
      assert.strictEqual(made.status, 201, made.text)
      let requests = 0
      const counting: typeof fetch = (...given) => {
        requests += 1
        return fetch(...given)
      }
      const client = createClient({ baseUrl, apiKey: TestApi.apiKey, fetch: counting })
      const params = { relayer_id: evmRelayer.id }
      for (const [field, value, named, words, ofForm = words] of table) {
        const title = `${field} ${titleOf(value)}`
        const { path, rest } = kinds[field]
        const body = { ...rest, [field]: value }
        const curl = yield* TestApi.call(path, { method: "POST", body })
        assert.strictEqual(curl.status, 400, `${title} ${curl.text}`)
        assert.include(curl.json.error ?? "", `${named}: `, title)
        assert.include(curl.json.error ?? "", words, title)
        // JavaScript checks no types: the client does, before it sends.
        const send: Send = Reflect.get<object, string>(
          field === "address" ? client.delegations : client.transactions,
          field === "address" ? "delegate" : "send"
        )
        const answered = yield* Effect.promise(() => send({ params, payload: body }))
        assert.isFalse(answered.ok, title)
        assert.include(answered.error?.message ?? "", `${named}: `, title)
        assert.include(answered.error?.message ?? "", words, title)
        if (ofForm === null) continue
        const problems: Readonly<Record<string, string>> = yield* problemsOf(field, value)
        if (ofForm === byService) assert.deepStrictEqual(problems, {}, title)
        else assert.include(problems[named] ?? "", ofForm, `${title} ${JSON.stringify(problems)}`)
      }
      const sent = table.filter(([, , , , ofForm]) => ofForm === byService)
      assert.strictEqual(requests, sent.length, "the client sends nothing of the others")
      const stored = yield* TestApi.call(`${path}/transactions`)
      assert.deepStrictEqual(stored.json.data, [])
    })
  )
})
