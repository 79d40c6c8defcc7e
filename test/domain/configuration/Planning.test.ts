// Plans: what is refused, kept, adopted, deleted and replaced.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { hasChanges } from "../../../src/domain/configuration/Plan.ts"
import { foundOf, hot, planOf, problemsOf, relayer, sepolia, textOf, wantedOf } from "./PlanInput.ts"

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
    const adopted = textOf(planOf(wanted, found(undefined)))
    assert.include(adopted, "~ notifications.ops (adopt)")
    assert.include(adopted, "\nno changes, except that objects are adopted\n")
  })

  it("objects that are not in the document are kept, unless --prune, and never without their section", () => {
    const found = [foundOf("notifications", "old", { url: "https://a.example" })]
    assert.include(textOf(planOf([], found)), "notifications.old (not in the file; kept, use --prune)")
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
