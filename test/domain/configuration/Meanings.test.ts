// What changes of fields mean: each field of a request says it, and a new one that does not is found.
import { assert, describe, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import {
  alternatives,
  itemsOf,
  keyFields,
  kinds,
  meaningsIn,
  meaningsOf,
  requests
} from "../../../src/domain/configuration/Document.ts"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { EvmPolicy } from "../../../src/domain/relayer/Policy.ts"
import * as Change from "../../../src/domain/request/Change.ts"
import { judged, meaningOf } from "../../../src/domain/request/Field.ts"
import { maybe } from "../../../src/domain/request/Shown.ts"

/** The paths of all values that no other value contains. */
const leavesOf = (shapes: ReadonlyArray<SchemaAST.AST>, path: string): ReadonlyArray<string> => {
  const members = shapes.filter(SchemaAST.isObjects).flatMap(({ propertySignatures }) => propertySignatures)
  const items = itemsOf(shapes)
  const inside = [
    ...members.flatMap(({ name, type }) =>
      leavesOf(alternatives(type), path === "" ? String(name) : `${path}.${String(name)}`)
    ),
    ...(items.some(SchemaAST.isObjects) ? leavesOf(items, `${path}.*`) : [])
  ]
  return inside.length === 0 ? [path] : inside
}

/** The fields of a request that do not say what a change of them means. The RPC URLs say it as lists. */
const silentIn = (schema: Schema.Constraint): ReadonlyArray<string> => {
  const meanings = meaningsIn(schema.ast)
  return [...new Set(leavesOf(alternatives(schema.ast), ""))].filter((path) => {
    const list = path.slice(0, Math.max(0, path.lastIndexOf(".*")))
    return !meanings.has(path) && meanings.get(list)?.as !== "providers"
  })
}

describe("the meaning of a change", () => {
  it("is said by each field of a request that is compared, except by its key and by the keys of signers", () => {
    for (const kind of kinds.filter((kind) => kind !== "signers")) {
      const silent = silentIn(requests[kind]).filter(
        (path) => !(keyFields[kind] as ReadonlyArray<string>).includes(path)
      )
      assert.deepStrictEqual(silent, [], kind)
    }
  })

  it("is this one for the fields whose changes a plan marks", () => {
    const nameOf = (meaning: Change.Meaning) =>
      Object.entries(Change).find(([, known]) => known === meaning)?.[0] ?? "its own"
    const unmarked = new Set(["harmless", "labels", "identity", "providerUrls"])
    const marked = kinds.flatMap((kind) =>
      [...meaningsOf(kind)]
        .map(([path, meaning]) => `${kind}.${path}: ${nameOf(meaning)}`)
        .filter((line) => !unmarked.has(line.slice(line.lastIndexOf(" ") + 1)))
    )
    assert.deepStrictEqual(
      marked.filter((line) => !/price_(source|bounds)\.|channels\./.test(line)),
      [
        "networks.finality_by_one: its own",
        "networks.chain_id: its own",
        "networks.required_confirmations: lowerLimit",
        "networks.tip_cap: upperLimit",
        "networks.passphrase: its own",
        "notifications.url: receiverUrl",
        "notifications.paused: pause",
        "signers.config.passphrase: decisive",
        "relayers.paused: pause",
        "relayers.policies.gas_price_cap: upperLimit",
        "relayers.policies.private_transactions: secrecy",
        "relayers.policies.private_fallback_after_seconds: lowerLimit",
        "relayers.policies.private_estimates: audience",
        "relayers.policies.whitelist_receivers: onlyListed",
        "relayers.policies.whitelist_selectors: onlyListed",
        "relayers.policies.top_up: decisive",
        "relayers.policies.top_up.from: decisive",
        "relayers.policies.top_up.below: decisive",
        "relayers.policies.top_up.to: decisive",
        "relayers.policies.top_up.max_per_day: upperLimit",
        "relayers.policies.top_up.runway_hours: decisive",
        "relayers.policies.top_up_out_per_day: upperLimit",
        "relayers.policies.allowed_delegates: alsoListed",
        "relayers.policies.allowed_programs: onlyListed",
        "relayers.policies.allowed_accounts: onlyListed",
        "relayers.policies.disallowed_accounts: exceptListed",
        "relayers.policies.allowed_tokens: payableTokens",
        "relayers.policies.allowed_tokens.*: tokenEntry",
        "relayers.policies.allowed_tokens.*.max_allowed_fee: upperLimit",
        "relayers.policies.allowed_tokens.*.price_bounds: decisive",
        "relayers.policies.allowed_tokens.*.swap_config.slippage_percentage: upperLimit",
        "relayers.policies.max_allowed_fee_lamports: upperLimit",
        "relayers.policies.slippage_percentage: upperLimit",
        "relayers.policies.price_source: decisive",
        "relayers.policies.allowed_extensions: besidesListed",
        "relayers.policies.fee_payer_as_authority: decisive",
        "relayers.policies.authority_programs: alsoListed",
        "relayers.policies.max_lamports_out: upperLimit",
        "relayers.policies.max_fee: upperLimit",
        "relayers.policies.channels: decisive",
        "relayers.policies.allowed_operations: besidesListed",
        "api_keys.scopes: alsoListed",
        "api_keys.relayer_ids: onlyListed",
        "api_keys.expires_at: decisive",
        "api_keys.transaction_limits.max_value: upperLimit",
        "api_keys.transaction_limits.max_fee_per_day: upperLimit",
        "api_keys.transaction_limits.receivers: onlyListed",
        "api_keys.transaction_limits.selectors: onlyListed",
        "api_keys.transaction_limits.solana.max_value: upperLimit",
        "api_keys.transaction_limits.solana.max_fee_per_day: upperLimit",
        "api_keys.transaction_limits.solana.receivers: onlyListed",
        "api_keys.transaction_limits.stellar.max_value: upperLimit",
        "api_keys.transaction_limits.stellar.max_fee_per_day: upperLimit",
        "api_keys.transaction_limits.stellar.receivers: onlyListed"
      ]
    )
  })

  it("is missed if a new field of a policy does not say it", () => {
    const withField = (field: Schema.Constraint) =>
      Schema.Struct({ policies: Schema.Struct({ ...EvmPolicy.fields, new_cap: field }) })
    assert.deepStrictEqual(silentIn(withField(maybe(Schema.BigInt))), ["policies.new_cap"])
    assert.deepStrictEqual(silentIn(withField(judged(Schema.BigInt, Change.harmless))), [])
    assert.deepStrictEqual(
      silentIn(withField(maybe(Schema.BigInt, { change: Change.harmless, description: "New." }))),
      []
    )
  })

  it("is the same for all types of a kind, because a plan has one table for them", () => {
    const seen = new Map<string, unknown>()
    const visit = (shapes: ReadonlyArray<SchemaAST.AST>, path: string): void => {
      for (const { name, type } of shapes.filter(SchemaAST.isObjects).flatMap((struct) => struct.propertySignatures)) {
        const at = `${path}.${String(name)}`
        const meaning = meaningOf(type)
        if (meaning !== undefined) {
          assert.strictEqual(seen.get(at) ?? meaning, meaning, at)
          seen.set(at, meaning)
        }
        visit([...alternatives(type), ...itemsOf(alternatives(type))], at)
      }
    }
    for (const kind of kinds) visit(alternatives(requests[kind].ast), kind)
    assert.isTrue(seen.has("relayers.policies.slippage_percentage"))
    assert.isAbove(seen.size, 80)
    assert.isAbove(meaningsIn(CreateRelayer.ast).size, 50)
  })
})
