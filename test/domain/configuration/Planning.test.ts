// Plans: what is compared and how, what is refused, and what is shown.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { hasChanges } from "../../../src/domain/configuration/Plan.ts"
import type { Plan } from "../../../src/domain/configuration/Plan.ts"
import * as PlanText from "../../../src/domain/configuration/PlanText.ts"
import { wantedState } from "../../../src/domain/configuration/States.ts"
import type { WantedState } from "../../../src/domain/configuration/States.ts"
import * as Wanted from "../../../src/domain/configuration/Wanted.ts"
import { foundOf, planOf, sepolia, wantedOf } from "./PlanInput.ts"

const problemsOf = (result: Result.Result<Plan, ReadonlyArray<{ field: string; message: string }>>) =>
  Result.match(result, {
    onSuccess: () => [],
    onFailure: (violations) => violations.map(({ field, message }) => `${field}: ${message}`)
  })

const textOf = (result: ReturnType<typeof planOf>) => PlanText.text(Result.getOrThrow(result))

const hot = foundOf("signers", "hot", { type: "plain" })

const relayer = (policies: object, more: object = {}) => ({
  name: "Treasury",
  network_type: "evm",
  network: "sepolia",
  signer_id: "hot",
  policies,
  ...more
})

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
      const object = Result.getOrThrow(Wanted.decodeObject("api_keys", "k", { name: "K", scopes: ["*"], expires_at }))
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
    const markdown = PlanText.markdown(Result.getOrThrow(result))
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

describe("rules", () => {
  it("paused is only compared if the document has it, and resuming is a warning", () => {
    const before = foundOf("notifications", "ops", { url: "https://a.example", paused: true })
    const after = { url: "https://a.example", paused: false }
    const unmanaged = planOf([wantedOf("notifications", "ops", after, { managesPaused: false })], [before])
    assert.isFalse(hasChanges(Result.getOrThrow(unmanaged)))
    assert.include(textOf(planOf([wantedOf("notifications", "ops", after)], [before])), "!     paused  true -> false")
  })

  it("another signer needs --replace", () => {
    const wanted = [
      wantedOf("relayers", "treasury", relayer({}, { signer_id: "cold" })),
      wantedOf("signers", "hot", { type: "plain" }),
      wantedOf("signers", "cold", { type: "plain" })
    ]
    const found = [foundOf("relayers", "treasury", relayer({}), { openTransactions: 0 }), hot, sepolia]
    assert.deepStrictEqual(problemsOf(planOf(wanted, found)), [
      "relayers.treasury.signer_id: cannot be changed; --replace relayers.treasury deletes the object and creates it again: its transactions are no longer listed under this id, and open transactions prevent it"
    ])
    const replace = new Set(["relayers.treasury"])
    assert.include(textOf(planOf(wanted, found, { replace })), "! ± relayers.treasury (replace)")
    const open = found.map((object) => (object.kind === "relayers" ? { ...object, openTransactions: 2 } : object))
    assert.deepStrictEqual(problemsOf(planOf(wanted, open, { replace })), [
      "relayers.treasury: cannot be replaced: 2 of its transactions are open"
    ])
  })

  it("a new login of a signer is an update, and another key is not", () => {
    const config = { address: "https://vault.example", key_name: "hot" }
    const secrets = (token: string) => new Map([["config.secret_id", token]])
    const before = foundOf("signers", "v", { type: "vault", config }, { secrets: secrets("1") })
    const login = planOf([wantedOf("signers", "v", { type: "vault", config }, { secrets: secrets("2") })], [before])
    assert.deepStrictEqual(
      Result.getOrThrow(login).steps.map(({ action }) => action),
      ["update"]
    )
    const other = wantedOf(
      "signers",
      "v",
      { type: "vault", config: { ...config, key_name: "cold" } },
      { secrets: secrets("1") }
    )
    assert.match(
      problemsOf(planOf([other], [before])).join(),
      /^signers\.v\.config\.key_name: cannot be changed; --replace/
    )
  })

  it("an object of another configuration needs --take-over, and an unmanaged one is adopted", () => {
    const wanted = [wantedOf("notifications", "ops", { url: "https://a.example" })]
    const found = (owner: string | undefined) => [
      foundOf("notifications", "ops", { url: "https://a.example" }, { owner })
    ]
    assert.deepStrictEqual(problemsOf(planOf(wanted, found("billing"))), [
      "notifications.ops: belongs to the configuration billing; --take-over moves it to payments"
    ])
    assert.include(textOf(planOf(wanted, found("billing"), { takeOver: true })), "~ notifications.ops (adopt)")
    assert.include(textOf(planOf(wanted, found(undefined))), "~ notifications.ops (adopt)")
  })

  it("objects that are not in the document are kept, unless --prune, and never without their section", () => {
    const found = [foundOf("notifications", "old", { url: "https://a.example" })]
    assert.include(textOf(planOf([], found)), "notifications.old (not in the document; kept, use --prune)")
    assert.include(textOf(planOf([], found, { prune: true })), "- notifications.old")
    const without = planOf([], found, { prune: true }, { sections: new Set() })
    assert.isFalse(hasChanges(Result.getOrThrow(without)))
  })

  it("the only copy of a key needs --destroy-key, and channels have to be released", () => {
    const key = [foundOf("signers", "hot", { type: "plain" }, { hasOnlyCopyOfKey: true })]
    assert.deepStrictEqual(problemsOf(planOf([], key, { prune: true })), [
      "signers.hot: cannot be deleted: its key exists only in the service; --destroy-key hot deletes the key, too"
    ])
    assert.include(textOf(planOf([], key, { prune: true, destroyKeys: new Set(["hot"]) })), "- signers.hot")
    const stellar = [foundOf("relayers", "s", { name: "S" }, { channels: 3 })]
    assert.match(problemsOf(planOf([], stellar, { prune: true })).join(), /it has 3 channels: release them first/)
  })

  it("references to nothing, cycles, and networks in use are named", () => {
    const wanted = [
      wantedOf("networks", "evm:a", { from: "b" }),
      wantedOf("networks", "evm:b", { from: "a" }),
      wantedOf("relayers", "r", relayer({}, { network: "c", notification_id: "ops" }))
    ]
    assert.deepStrictEqual(problemsOf(planOf(wanted, [hot])), [
      "relayers.r.network: no network with this id, in the file or in the service",
      "relayers.r.notification_id: no notification with this id, in the file or in the service",
      "networks.evm:a.from: would make the network inherit from itself",
      "networks.evm:b.from: would make the network inherit from itself"
    ])
    const own = foundOf("networks", "evm:own", { chain_id: 1 })
    const user = foundOf("relayers", "r", relayer({}, { network: "own" }), { owner: "billing" })
    assert.deepStrictEqual(problemsOf(planOf([wantedOf("networks", "evm:own", { chain_id: 2 })], [own, user, hot])), [
      "networks.evm:own.chain_id: cannot be changed, because it is used by relayers.r"
    ])
    assert.deepStrictEqual(
      problemsOf(planOf([], [own, { ...user, owner: undefined }, { ...hot, owner: undefined }], { prune: true })),
      ["networks.evm:own: cannot be deleted: it is used by relayers.r"]
    )
  })
})
