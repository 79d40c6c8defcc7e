// A plan says what a new object is: its chain, its key, its receiver or its rights, and no value that came from outside of the file.
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { wantedState } from "../../../src/domain/configuration/Comparison.ts"
import { decodeObject } from "../../../src/domain/configuration/Document.ts"
import type { Kind } from "../../../src/domain/configuration/Document.ts"
import { summaryOf } from "../../../src/domain/configuration/Planning.ts"
import { foundOf, planOf, wantedOf } from "./PlanInput.ts"

const uuid = "2a1f3c7e-1111-4222-8333-444455556666"

/** The summary of an object that a document contains. */
const summary = (kind: Kind, id: string, body: object, templates: Readonly<Record<string, string>> = {}) => {
  const object = Result.getOrThrow(decodeObject(kind, id, body))
  const state = wantedState(object, () => "a token")
  return summaryOf(state, new Map(Object.entries(templates)))
}

const relayer = { name: "R", network_type: "evm", network: "sepolia", signer_id: "hot" }

describe("summaries of new objects", () => {
  const cases: ReadonlyArray<readonly [expected: ReadonlyArray<string>, kind: Kind, id: string, body: object]> = [
    [["evm:sepolia", "signer hot"], "relayers", "r", relayer],
    [["evm:sepolia", "signer hot", "notification ops"], "relayers", "r", { ...relayer, notification_id: "ops" }],
    [["from base", "chain id 84005"], "networks", "evm:acme", { from: "base", chain_id: 84_005 }],
    [["https://hooks.example.com/***"], "notifications", "ops", { url: "https://hooks.example.com/a-secret-path" }],
    [["plain"], "signers", "hot", { type: "plain", config: { key: "1".repeat(64) } }],
    [
      ["aws_kms", "eu-west-1", "alias/hot"],
      "signers",
      "hot",
      { type: "aws_kms", config: { region: "eu-west-1", key_id: "alias/hot" } }
    ],
    [
      ["vault", "https://vault.example", "secret", "hot"],
      "signers",
      "hot",
      {
        type: "vault",
        config: {
          address: "https://vault.example",
          role_id: "hunter2",
          secret_id: "hunter2",
          key_name: "hot",
          mount_point: "secret"
        }
      }
    ],
    [
      ["turnkey", uuid, uuid],
      "signers",
      "hot",
      {
        type: "turnkey",
        config: {
          api_public_key: `02${"f".repeat(64)}`,
          api_private_key: "4".repeat(64),
          organization_id: uuid,
          private_key_id: uuid,
          public_key: `02${"a".repeat(64)}`
        }
      }
    ],
    [
      ["relayers:read, transactions:*", "relayers a, b", "until 2030-01-01T00:00:00.000Z"],
      "api_keys",
      "k",
      {
        name: "K",
        scopes: ["relayers:read", "transactions:*"],
        relayer_ids: ["a", "b"],
        expires_at: "2030-01-01T00:00:00Z"
      }
    ],
    [
      ["relayers:read", "relayers r0, r1, r2, r3, r4 and 2 more"],
      "api_keys",
      "k",
      { name: "K", scopes: ["relayers:read"], relayer_ids: Array.from({ length: 7 }, (_, index) => `r${index}`) }
    ]
  ]
  it.each(cases)("%j", (expected, kind, id, body) => {
    assert.deepStrictEqual(summary(kind, id, body), expected)
  })

  it("a value of a variable or of a reference is shown as in the file", () => {
    const url = { url: "https://hooks.example.com/hunter2" }
    const template = "https://hooks.example.com/${RELAYER_PATH}"
    assert.deepStrictEqual(summary("notifications", "ops", url, { "notifications.ops.url": template }), [template])
    assert.notInclude(summary("notifications", "ops", url, { "notifications.ops.url": "(hidden)" }).join(), "hooks")
    const key = { type: "aws_kms", config: { region: "eu-west-1", key_id: "alias/hunter2" } }
    assert.deepStrictEqual(summary("signers", "hot", key, { "signers.hot.config.key_id": "${RELAYER_KEY}" }), [
      "aws_kms",
      "eu-west-1",
      "${RELAYER_KEY}"
    ])
  })

  it("the state that they are made of has no secret", () => {
    const object = Result.getOrThrow(decodeObject("signers", "hot", { type: "plain", config: { key: "1".repeat(64) } }))
    const state = wantedState(object, (secret) => `token of ${secret.length} characters`)
    assert.notInclude(JSON.stringify(state.fields), "1111")
    assert.isTrue(Redacted.isRedacted((object.request["config"] as { readonly key: unknown }).key))
  })

  it("only steps that create an object have one", () => {
    const wanted = wantedOf("notifications", "ops", { url: "https://hooks.example.com" })
    const { steps } = Result.getOrThrow(planOf([wanted], []))
    assert.deepStrictEqual(
      steps.map(({ action, summary }) => [action, summary]),
      [["create", ["https://hooks.example.com"]]]
    )
    const found = foundOf("notifications", "ops", { url: "https://other.example.com" })
    const changed = Result.getOrThrow(planOf([wanted], [found])).steps
    assert.deepStrictEqual(
      changed.map(({ action, summary }) => [action, summary]),
      [["update", undefined]]
    )
  })
})
