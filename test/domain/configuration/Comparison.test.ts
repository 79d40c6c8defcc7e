// Comparisons: which values are equal, how a difference is shown, and which are warnings.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { wantedState } from "../../../src/domain/configuration/Comparison.ts"
import type { WantedState } from "../../../src/domain/configuration/Comparison.ts"
import { decodeObject } from "../../../src/domain/configuration/Document.ts"
import { hasChanges, planMarkdown } from "../../../src/domain/configuration/Plan.ts"
import { foundOf, hot, planOf, problemsOf, relayer, sepolia, textOf, wantedOf } from "./PlanInput.ts"

const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

describe("comparison", () => {
  const changes = (before: object, after: object) =>
    Result.getOrThrow(
      planOf(
        [wantedOf("relayers", "treasury", relayer(after)), wantedOf("signers", "hot", { type: "plain" })],
        [foundOf("relayers", "treasury", relayer(before)), hot, sepolia]
      )
    ).steps.flatMap((step) => step.changes)

  it("equal values in another form are no change", () => {
    const before = { whitelist_receivers: [address.toLowerCase(), "contract_creation"], min_balance: 10n ** 18n }
    const after = { min_balance: 10n ** 18n, whitelist_receivers: ["contract_creation", address] }
    assert.deepStrictEqual(changes(before, after), [])
    assert.deepStrictEqual(changes({}, { gas_price_cap: undefined }), [])
  })

  it("an amount beyond 2^53 is compared and shown exactly", () => {
    assert.deepStrictEqual(changes({ gas_price_cap: 2n ** 64n }, { gas_price_cap: 2n ** 64n + 1n }), [
      {
        path: "policies.gas_price_cap",
        before: "18446744073709551616",
        after: "18446744073709551617",
        isSecret: false,
        isWarning: true
      }
    ])
    const [lower] = changes({ gas_price_cap: 2n ** 64n + 1n }, { gas_price_cap: 2n ** 64n })
    assert.isFalse(lower?.isWarning)
  })

  it("a moment is one value, in ISO 8601", () => {
    const stateOf = (expires_at: string) => {
      const object = Result.getOrThrow(decodeObject("api_keys", "k", { name: "K", scopes: ["*"], expires_at }))
      return wantedState(object, (secret) => secret)
    }
    const [before, after] = [stateOf("2030-01-01T00:00:00Z"), stateOf("2031-01-01T00:00:00Z")]
    const found = foundOf("api_keys", "k", before.fields)
    const changesTo = (wanted: WantedState) =>
      Result.getOrThrow(planOf([wanted], [found])).steps.flatMap((step) => step.changes)
    assert.deepStrictEqual(changesTo(before), [])
    assert.deepStrictEqual(changesTo(after), [
      {
        path: "expires_at",
        before: "2030-01-01T00:00:00.000Z",
        after: "2031-01-01T00:00:00.000Z",
        isSecret: false,
        isWarning: true
      }
    ])
  })

  it("an empty list of receivers is not the same as none", () => {
    const [removed] = changes({ whitelist_receivers: [] }, {})
    assert.isTrue(removed?.isWarning)
    const [added] = changes({}, { whitelist_receivers: [] })
    assert.isFalse(added?.isWarning)
  })

  it("members of an object that one side does not have are compared one by one", () => {
    assert.deepStrictEqual(
      changes({}, { gas_price_cap: 9n }).map(({ path, before, after }) => [path, before, after]),
      [["policies.gas_price_cap", undefined, "9"]]
    )
    const state = (policies: object | undefined) => {
      const { policies: _, ...fields } = relayer({})
      return policies === undefined ? fields : { ...fields, policies }
    }
    const plan = planOf(
      [wantedOf("relayers", "treasury", state(undefined)), wantedOf("signers", "hot", { type: "plain" })],
      [foundOf("relayers", "treasury", state({ gas_price_cap: 9n, whitelist_receivers: [address] })), hot, sepolia]
    )
    const text = textOf(plan)
    assert.include(text, "!     policies.gas_price_cap        9 -> (absent)")
    assert.include(text, "!     policies.whitelist_receivers  ")
  })

  it("limits of an API key that are removed as a whole are warnings", () => {
    const transaction_limits = { max_value: 5n, solana: { max_fee_per_day: 7n, receivers: ["a"] } }
    const key = { name: "K", scopes: ["transactions:*"] }
    const plan = (before: WantedState["fields"], after: WantedState["fields"]) =>
      Result.getOrThrow(planOf([wantedOf("api_keys", "k", after)], [foundOf("api_keys", "k", before)])).steps.flatMap(
        ({ changes }) => changes.map(({ path, isWarning }) => [path, isWarning])
      )
    assert.deepStrictEqual(plan({ ...key, transaction_limits }, key), [
      ["transaction_limits.max_value", true],
      ["transaction_limits.solana.max_fee_per_day", true],
      ["transaction_limits.solana.receivers", true]
    ])
    assert.deepStrictEqual(plan(key, { ...key, transaction_limits: { max_value: 5n } }), [
      ["transaction_limits.max_value", false]
    ])
  })

  it("a new list is a warning if the service allows less without it", () => {
    const marks = (name: string) => changes({}, { [name]: ["a"] }).map(({ isWarning }) => isWarning)
    for (const name of ["allowed_tokens", "allowed_extensions", "allowed_operations", "authority_programs"])
      assert.deepStrictEqual(marks(name), [true], name)
    for (const name of ["allowed_programs", "allowed_accounts", "whitelist_receivers", "disallowed_accounts"])
      assert.deepStrictEqual(marks(name), [false], name)
  })

  it("a change with which more of private transactions is seen is a warning, and one with which less is seen is none", () => {
    for (const [name, secret, open] of [
      ["private_transactions", true, false],
      ["private_transactions", true, undefined],
      ["private_fallback_after_seconds", 120, 30],
      ["private_fallback_after_seconds", undefined, 600],
      ["private_estimates", "private", "normal"],
      ["private_estimates", undefined, "normal"]
    ] as const) {
      const marks = (before: unknown, after: unknown) =>
        changes({ [name]: before }, { [name]: after }).map(({ isWarning }) => isWarning)
      assert.deepStrictEqual(marks(secret, open), [true], name)
      assert.deepStrictEqual(marks(open, secret), [false], name)
    }
  })

  it("addresses of solana have case", () => {
    const mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    const solana = (allowed_programs: ReadonlyArray<string>) => ({
      name: "S",
      network_type: "solana",
      network: "devnet",
      signer_id: "hot",
      policies: { allowed_programs }
    })
    const devnet = foundOf("networks", "solana:devnet", {}, { isBuiltin: true, owner: undefined })
    const plan = planOf(
      [wantedOf("relayers", "s", solana([mint.toLowerCase()])), wantedOf("signers", "hot", { type: "plain" })],
      [foundOf("relayers", "s", solana([mint])), hot, devnet]
    )
    assert.deepStrictEqual(
      Result.getOrThrow(plan).steps.map(({ action }) => action),
      ["none", "update"]
    )
  })
})

describe("secrets", () => {
  const key = "https://hooks.example/0123456789abcdef0123"
  const before = foundOf("notifications", "ops", { url: key }, { secrets: new Map([["signing_key", "token-1"]]) })

  it("no secret and no URL with a key is in a plan", () => {
    const after = wantedOf(
      "notifications",
      "ops",
      { url: `${key}4` },
      { secrets: new Map([["signing_key", "token-2"]]) }
    )
    const result = planOf([after], [before])
    const markdown = planMarkdown(Result.getOrThrow(result))
    for (const text of [textOf(result), markdown, JSON.stringify(Result.getOrThrow(result))]) {
      assert.notMatch(text, /token|0123456789/)
    }
    assert.include(textOf(result), "signing_key  (secret) changed")
  })

  it("stored secrets and masked URLs are no change, and need an object", () => {
    const after = wantedOf(
      "notifications",
      "ops",
      { url: "https://hooks.example/***" },
      { kept: new Set(["signing_key"]) }
    )
    assert.isFalse(hasChanges(Result.getOrThrow(planOf([after], [before]))))
    assert.deepStrictEqual(problemsOf(planOf([after], [])), [
      "notifications.ops.url: is masked, and the stored URL has another mask: send the URL itself",
      "notifications.ops.signing_key: there is no stored value, because the object does not exist"
    ])
  })

  it("the value of a variable is shown as the variable", () => {
    const plan = planOf(
      [wantedOf("notifications", "ops", { url: key, label: "resolved" })],
      [foundOf("notifications", "ops", { url: key, label: "earlier" })],
      {},
      { templates: new Map([["notifications.ops.label", "${RELAYER_X}"]]) }
    )
    assert.include(textOf(plan), "label  (not shown) -> ${RELAYER_X}")
    assert.notMatch(textOf(plan), /resolved|earlier/)
  })

  it("values of variables are not shown inside of lists, tokens, URLs and objects that are new", () => {
    const wanted = wantedOf("relayers", "one", {
      network_type: "solana",
      network: "devnet",
      custom_rpc_urls: [{ url: "https://hunter2.example/hunter2", weight: 100 }],
      policies: {
        allowed_accounts: ["hunter2", "literal"],
        allowed_tokens: [{ mint: "mintaddress", symbol: "hunter2" }],
        price_source: { type: "http", url: "https://hunter2.example" },
        swap_config: { strategies: ["hunter2"] }
      }
    })
    const devnet = foundOf("networks", "solana:devnet", {}, { isBuiltin: true, owner: undefined })
    const at = (path: string, text: string): readonly [string, string] => [`relayers.one.${path}`, text]
    const templates = new Map([
      at("custom_rpc_urls.0.url", "https://${RELAYER_HOST}/${RELAYER_KEY}"),
      at("policies.allowed_accounts.0", "${RELAYER_ACCOUNT}"),
      at("policies.allowed_tokens.0.symbol", "${RELAYER_SYMBOL}"),
      at("policies.price_source.url", "https://${RELAYER_HOST}"),
      at("policies.swap_config.strategies.0", "${RELAYER_STRATEGY}")
    ])
    const withMint = new Map([...templates, at("policies.allowed_tokens.0.mint", "${RELAYER_MINT}")])
    const before = [
      { network_type: "solana", network: "devnet", policies: {} },
      {
        network_type: "solana",
        network: "devnet",
        custom_rpc_urls: [{ url: "https://earlier.example/earlier", weight: 100 }],
        policies: {
          allowed_accounts: ["earlier", "literal"],
          allowed_tokens: [{ mint: "mintaddress", symbol: "earlier" }],
          price_source: { type: "http", url: "https://earlier.example" },
          swap_config: { strategies: ["earlier"] }
        }
      }
    ]
    for (const fields of before) {
      const plan = planOf([wanted], [foundOf("relayers", "one", fields), devnet], {}, { templates })
      const text = textOf(plan)
      assert.notMatch(JSON.stringify(Result.getOrThrow(plan)), /hunter2|earlier/)
      assert.notMatch(text, /hunter2|earlier/)
      for (const name of ["HOST", "ACCOUNT", "SYMBOL", "STRATEGY"]) assert.include(text, `\${RELAYER_${name}}`)
      const byMint = planOf([wanted], [foundOf("relayers", "one", fields), devnet], {}, { templates: withMint })
      assert.notInclude(JSON.stringify(Result.getOrThrow(byMint)), "mintaddress")
      assert.include(textOf(byMint), "${RELAYER_MINT}")
    }
  })

  it("a limit whose value comes from a variable is a warning, because it may be higher", () => {
    const relayer = (cap: string) => ({ network_type: "evm", network: "sepolia", policies: { gas_price_cap: cap } })
    const plan = planOf(
      [wantedOf("relayers", "one", relayer("1"))],
      [foundOf("relayers", "one", relayer("2")), sepolia],
      {},
      { templates: new Map([["relayers.one.policies.gas_price_cap", "${RELAYER_CAP}"]]) }
    )
    assert.include(textOf(plan), "!     policies.gas_price_cap  (not shown) -> ${RELAYER_CAP}")
  })

  it("a new host of a provider is a warning", () => {
    const urls = (url: string) => relayer({}, { custom_rpc_urls: [{ url, weight: 100 }] })
    const plan = (url: string) =>
      textOf(
        planOf(
          [wantedOf("relayers", "r", urls(url)), wantedOf("signers", "hot", { type: "plain" })],
          [foundOf("relayers", "r", urls("https://one.example/key1")), hot, sepolia]
        )
      )
    assert.include(plan("https://one.example/key2"), "custom_rpc_urls.0.url  (secret) changed, same host")
    assert.include(plan("https://two.example/key2"), "!     custom_rpc_urls.0.url  (secret) changed, new host")
    assert.notInclude(plan("https://two.example/key2"), "key2")
  })
})
