// Forms that the build derives from openapi.json: every schema is covered, secrets are secret, and values keep their meaning.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as Types from "../../scripts/client/Types.ts"
import { formNames, formOf, formsOf, secretNames } from "../../scripts/console/Forms.ts"
import type { OpenApiDocument } from "../../scripts/console/Forms.ts"
import { smallestUnits } from "../../web/src/data/Amounts.ts"
import type { Unit } from "../../web/src/data/Amounts.ts"
import { unitOf } from "../../web/src/data/Chains.ts"
import {
  bodyOf,
  changesOf,
  enteredOf,
  fieldOfMoment,
  hintOf,
  patchOf,
  unitKey,
  withText
} from "../../web/src/data/FormFields.ts"

const root = new URL("../../", import.meta.url)
const document = JSON.parse(fs.readFileSync(new URL("openapi.json", root), "utf8")) as OpenApiDocument
const forms = formsOf(document)
const ether = { ...smallestUnits.evm, symbol: "ETH" }

describe("forms", () => {
  it("cover every request that creates a relayer, a network or a signer, or sends a transaction, and every policy", () => {
    const needed = Object.keys(document.components.schemas).filter((name) =>
      /^(Create\w+(Relayer|Network|Signer|Key)Request|Send\w+TransactionRequest|(Evm|Solana|Stellar)Policy)$/.test(name)
    )
    for (const name of needed) assert.include<string>(formNames, name)
    for (const [name, form] of Object.entries(forms)) assert.isAbove(form.length, 0, name)
  })

  it("fail for a shape that no kind of field covers", () => {
    const strange = { components: { schemas: { Strange: { properties: { a: { type: "tuple" } } } } } }
    assert.throws(() => formOf("Strange", strange), /a: no field of a form covers/)
  })

  it("hide every field that the client types as redacted", () => {
    const client = Types.ofClient()
    for (const name of formNames.filter((name) => /Signer|Notification/.test(name))) {
      const start = client.indexOf(`export interface ${name} `)
      const type = client.slice(start, client.indexOf("\n}\n", start))
      const redacted = [...type.matchAll(/readonly (\w+)\??: Redacted/g)].flatMap(([, field]) => field ?? [])
      const secrets = (forms[name] ?? []).filter(({ kind }) => kind === "secret")
      assert.deepStrictEqual(secrets.map((field) => field.name.split(".").at(-1)).toSorted(), redacted.toSorted(), name)
      for (const field of secrets) assert.isTrue(secretNames.has(field.name))
    }
  })

  it("say what an amount is for without the smallest unit, and its default in the unit in which it is entered", () => {
    const named = Object.values(forms)
      .flat()
      .filter(({ unit }) => unit !== undefined)
      .map((field) => hintOf(field, ether))
    for (const hint of named) assert.notMatch(hint, /\b(lamports|stroops)\b|\bwei\b(?<!\d wei)/i, hint)
    const hints = (name: string, unit: Unit) => (forms[name] ?? []).map((field) => [field.name, hintOf(field, unit)])
    assert.includeDeepMembers(hints("SendEvmTransactionRequest", ether), [
      ["value", "Amount that is sent. The default is 0 ETH."],
      ["max_fee_per_gas", "Highest total fee (EIP-1559)."]
    ])
    assert.includeDeepMembers(hints("SolanaPolicy", smallestUnits.solana), [
      ["min_balance", "Amount that must stay on the account. The default is 0.01 SOL."]
    ])
  })

  it("have each amount of a policy in the same unit, also in the form of a new relayer", () => {
    for (const type of ["Evm", "Solana", "Stellar"]) {
      const created = new Map((forms[`Create${type}RelayerRequest`] ?? []).map((field) => [field.name, field]))
      for (const { name, unit } of forms[`${type}Policy`] ?? [])
        assert.strictEqual(created.get(`policies.${name}`)?.unit, unit, `${type} ${name}`)
    }
    for (const [name, field] of [
      ["StellarPolicy", "max_fee"],
      ["CreateStellarRelayerRequest", "policies.max_fee"]
    ] as const)
      assert.strictEqual(forms[name]?.find((one) => one.name === field)?.unit, "native", name)
  })

  it("make a body of what is entered, with amounts as decimal text and constants of the kind", () => {
    const made = bodyOf(
      forms["CreateEvmRelayerRequest"] ?? [],
      {
        name: " Payouts ",
        network: "sepolia",
        paused: "false",
        signer_id: "hot-1",
        custom_rpc_urls: "https://a.example/key 70\nhttps://b.example",
        "policies.gas_price_cap": "90",
        "policies.min_balance": "340282366920938463463374607431768211455",
        [unitKey("policies.min_balance")]: "0"
      },
      ether
    )
    assert.deepStrictEqual(made, {
      json: {
        name: "Payouts",
        network: "sepolia",
        paused: false,
        signer_id: "hot-1",
        custom_rpc_urls: [{ url: "https://a.example/key", weight: 70 }, { url: "https://b.example" }],
        network_type: "evm",
        policies: { gas_price_cap: "90000000000", min_balance: "340282366920938463463374607431768211455" }
      },
      problems: {}
    })
  })

  it("take the deadline of a transaction as a moment, on each network", () => {
    for (const type of ["Evm", "Solana", "Stellar"]) {
      const form = (forms[`Send${type}TransactionRequest`] ?? []).filter(({ name }) => name === "valid_until")
      assert.deepStrictEqual(
        form.map(({ kind }) => kind),
        ["moment"],
        type
      )
    }
  })

  it("take prices of a network in gwei, and send them as the numbers that its fields are", () => {
    const prices = new Set(["tip_cap", "minimum_priority_fee"])
    const form = (forms["CreateEvmNetworkRequest"] ?? []).filter(({ name }) => prices.has(name))
    const json = { minimum_priority_fee: 25_000_000_000, tip_cap: 1_500_000_000 }
    const entered = { minimum_priority_fee: "25", tip_cap: "1.5" }
    assert.deepStrictEqual(bodyOf(form, entered, ether), { json, problems: {} })
    assert.deepStrictEqual(enteredOf(form, json, ether), entered)
    const { problems } = bodyOf(form, { tip_cap: "9007200", minimum_priority_fee: "0.0000000001" }, ether)
    assert.deepStrictEqual(problems, { tip_cap: "too_large", minimum_priority_fee: "too_many_decimals" })
  })

  it("take a top-up in the unit of the chain, and remove it as a whole when nothing of it is left", () => {
    const form = forms["EvmPolicy"] ?? []
    const entered = {
      "top_up.from": "treasury",
      "top_up.below": "0.05",
      "top_up.to": "0.2",
      "top_up.max_per_day": "1",
      min_balance: "0.01"
    }
    const { json, problems } = patchOf(form, {}, entered, ether)
    assert.deepStrictEqual(problems, {})
    assert.deepStrictEqual(json, {
      min_balance: String(10n ** 16n),
      top_up: {
        from: "treasury",
        below: String(5n * 10n ** 16n),
        to: String(2n * 10n ** 17n),
        max_per_day: String(10n ** 18n)
      }
    })
    assert.deepStrictEqual(patchOf(form, entered, { min_balance: "0.01" }, ether).json, { top_up: null })
    const partly = patchOf(form, entered, { ...entered, "top_up.to": "" }, ether).json
    assert.deepStrictEqual(partly, { top_up: { to: null } })
  })

  it("keep the unit in which an amount was typed when the network becomes known", () => {
    const form = forms["SendEvmTransactionRequest"] ?? []
    const wei = unitOf("evm", "sepolia", undefined)
    const typed = withText(form, withText(form, {}, "value", "5", wei), "to", "0xab", wei)
    assert.deepStrictEqual(bodyOf(form, typed, wei).json, { to: "0xab", value: "5" })
    assert.deepStrictEqual(bodyOf(form, typed, ether).json, { to: "0xab", value: "5" })
    const inEther = withText(form, {}, "value", "5", ether)
    assert.deepStrictEqual(bodyOf(form, inEther, ether).json, { value: String(5n * 10n ** 18n) })
  })

  it("take the limits of an API key in units of their networks, whatever the form is about, and moments in UTC", () => {
    const form = forms["CreateApiKeyRequest"] ?? []
    const entered = {
      "transaction_limits.max_value": "1.5",
      "transaction_limits.solana.max_value": "2",
      "transaction_limits.stellar.max_fee_per_day": "0.5",
      expires_at: "2036-01-01T12:30"
    }
    const { json } = bodyOf(form, entered, unitOf("key", undefined, undefined))
    assert.deepStrictEqual(json, {
      expires_at: "2036-01-01T12:30:00.000Z",
      transaction_limits: {
        max_value: "1500000000000000000",
        solana: { max_value: "2000000000" },
        stellar: { max_fee_per_day: "5000000" }
      }
    })
    const [hint] = form.flatMap((field) =>
      field.name === "transaction_limits.solana.max_value" ? [hintOf(field, ether)] : []
    )
    assert.strictEqual(hint, "Most that one transaction may send.")
    assert.deepStrictEqual(["2036-01-01T12:30:00.000Z", "2036-01-01T12:30:05Z", "tomorrow"].map(fieldOfMoment), [
      "2036-01-01T12:30:00",
      "2036-01-01T12:30:05",
      ""
    ])
  })

  it("name what is wrong at each field, and send nothing of it", () => {
    const entered = { value: "1,5", nonce: "x", valid_until: "tomorrow", priority: "1" }
    const { json, problems } = bodyOf(forms["SendEvmTransactionRequest"] ?? [], entered, ether)
    assert.deepStrictEqual(problems, { value: "not_decimal", nonce: "not_integer", valid_until: "not_moment" })
    assert.deepStrictEqual(json, { priority: 1 })
  })

  it("patch only what has changed: an emptied field is null, and another unit of the same amount is no change", () => {
    const form = forms["EvmPolicy"] ?? []
    const before = enteredOf(
      form,
      { gas_price_cap: 90_000_000_000n, min_balance: 5n, whitelist_receivers: ["0xab"] },
      ether
    )
    assert.strictEqual(before["gas_price_cap"], "90")
    const sameInWei = { ...before, gas_price_cap: "90000000000", [unitKey("gas_price_cap")]: "0" }
    assert.deepStrictEqual(changesOf(form, before, sameInWei, ether), [])
    const after = { ...sameInWei, min_balance: "", whitelist_receivers: "0xab\n0xcd" }
    assert.deepStrictEqual(patchOf(form, before, after, ether).json, {
      min_balance: null,
      whitelist_receivers: ["0xab", "0xcd"]
    })
  })
})
