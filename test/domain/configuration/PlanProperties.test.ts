// Applying a plan gives what the document says, and the plan after it is empty.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { nameOf } from "../../../src/domain/configuration/Comparison.ts"
import type { FoundState, WantedState } from "../../../src/domain/configuration/Comparison.ts"
import { kinds } from "../../../src/domain/configuration/Document.ts"
import type { Kind } from "../../../src/domain/configuration/Document.ts"
import type { Plan } from "../../../src/domain/configuration/Plan.ts"
import type * as Planning from "../../../src/domain/configuration/Planning.ts"
import { foundOf, name, planOf, sepolia, wantedOf } from "./PlanInput.ts"
import { property } from "../../../testkit/Depth.ts"

const Digits = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 }))).check(
  Schema.isBetweenLength(60, 60)
)

/** A world of few ids, so that references often meet. The digits decide what exists. */
const worldOf = (digits: ReadonlyArray<number>) => {
  let next = 0
  const pick = (count: number) => (digits[next++ % digits.length] ?? 0) % count
  const objects: Array<{ kind: Kind; id: string; fields: Record<string, unknown>; owner: string | undefined }> = []
  const put = (kind: Kind, id: string, fields: Record<string, unknown>) => {
    const owner = [undefined, name, name, "billing"][pick(4)]
    if (pick(4) > 0) objects.push({ kind, id, fields, owner })
  }
  for (const index of [0, 1, 2]) {
    const from = pick(4)
    put("networks", `evm:n${index}`, { ...(from < index ? { from: `n${from}` } : {}), required_confirmations: pick(3) })
  }
  for (const index of [0, 1])
    put("notifications", `m${index}`, { url: `https://h${pick(2)}.example`, paused: pick(2) === 0 })
  for (const index of [0, 1]) put("signers", `s${index}`, { type: pick(5) === 0 ? "local" : "plain" })
  for (const index of [0, 1]) {
    put("relayers", `r${index}`, {
      name: `R${pick(2)}`,
      network_type: "evm",
      network: `n${pick(3)}`,
      signer_id: `s${pick(2)}`,
      ...(pick(2) === 0 ? {} : { notification_id: `m${pick(2)}` }),
      policies: pick(2) === 0 ? {} : { gas_price_cap: BigInt(pick(4)) },
      paused: pick(2) === 0
    })
  }
  put("api_keys", "k0", { name: "K", scopes: ["relayers:read"], relayer_ids: ["r0"] })
  return objects
}

const allNames = new Set(
  kinds.flatMap((kind) => [0, 1, 2].flatMap((index) => ["s", "r"].map((letter) => `${kind}.${letter}${index}`)))
)

const permissive: Planning.Options = {
  prune: true,
  takeOver: true,
  replace: allNames,
  destroyKeys: new Set(["s0", "s1"])
}

/** The objects after the plan. */
const applied = (plan: Plan, wanted: ReadonlyArray<WantedState>, found: ReadonlyArray<FoundState>) => {
  const objects = new Map(found.map((object) => [nameOf(object), object]))
  const byName = new Map(wanted.map((object) => [nameOf(object), object]))
  for (const { kind, id, action } of plan.steps) {
    const key = nameOf({ kind, id })
    if (action === "delete") objects.delete(key)
    if (action === "none" || action === "keep" || action === "delete") continue
    const { fields = {}, managesPaused = true } = byName.get(key) ?? {}
    const before = objects.get(key)?.fields
    const paused = managesPaused || before === undefined ? fields["paused"] : before["paused"]
    objects.set(key, foundOf(kind, id, { ...fields, paused }))
  }
  return [...objects.values()]
}

const referenced = ({ fields, kind }: WantedState | FoundState): ReadonlyArray<string> => {
  if (kind === "networks") return fields["from"] === undefined ? [] : [`networks.evm:${String(fields["from"])}`]
  if (kind === "api_keys") return ["relayers.r0"]
  if (kind !== "relayers") return []
  const notification = fields["notification_id"]
  return [
    `networks.evm:${String(fields["network"])}`,
    `signers.${String(fields["signer_id"])}`,
    ...(notification === undefined ? [] : [`notifications.${String(notification)}`])
  ]
}

/** The objects whose references exist. */
const consistent = <S extends WantedState | FoundState>(objects: ReadonlyArray<S>): ReadonlyArray<S> => {
  const names = new Set(objects.map(nameOf))
  const kept = objects.filter((object) => referenced(object).every((reference) => names.has(reference)))
  return kept.length === objects.length ? kept : consistent(kept)
}

/** A consistent service, and a document. */
const generated = (one: ReadonlyArray<number>, other: ReadonlyArray<number>) => ({
  found: consistent(worldOf(one).map(({ kind, id, fields, owner }) => foundOf(kind, id, fields, { owner }))),
  wanted: consistent(
    worldOf(other).map(({ kind, id, fields }, index) => wantedOf(kind, id, fields, { managesPaused: index % 2 === 0 }))
  )
})

describe("properties", () => {
  it.prop(
    "a plan gives what the document says, the plan after it is empty, and its order respects references",
    [Digits, Digits],
    ([one, other]) => {
      const { found, wanted } = generated(one, other)
      const result = planOf(wanted, found, permissive)
      if (Result.isFailure(result)) return
      const plan = result.success
      assert.deepStrictEqual(planOf(wanted.toReversed(), found.toReversed(), permissive), result)
      const after = applied(plan, wanted, found)
      const again = Result.getOrThrow(planOf(wanted, after, permissive))
      assert.deepStrictEqual(
        again.steps.filter(({ action }) => action !== "none"),
        []
      )
      const owners = new Map(found.map((object) => [nameOf(object), object.owner]))
      const existing = new Set(found.map(nameOf))
      const byName = new Map([...found, ...wanted].map((object) => [nameOf(object), object]))
      for (const step of plan.steps) {
        const key = nameOf(step)
        if (step.action === "delete") {
          assert.strictEqual(owners.get(key), name)
          existing.delete(key)
          // An API key that is not in the document loses the relayer.
          const bound = [...existing].filter((left) => !left.startsWith("api_keys."))
          for (const left of bound) assert.notInclude(referenced(byName.get(left) ?? sepolia), key)
        } else {
          const object = byName.get(key)
          for (const reference of object === undefined ? [] : referenced(object))
            assert.isTrue(existing.has(reference), `${key} before ${reference}`)
          existing.add(key)
        }
      }
    },
    property(2000)
  )

  it("many generated worlds give plans, not only refusals", () => {
    const digitsOf = (seed: number) =>
      Array.from({ length: 60 }, (_, at) => (seed * 7919 + at * at * 104_729 + at * seed * 31) % 12)
    const made = Array.from({ length: 500 }, (_, seed) => generated(digitsOf(seed), digitsOf(seed + 1000))).filter(
      ({ found, wanted }) => Result.isSuccess(planOf(wanted, found, permissive))
    )
    assert.isAbove(made.length, 25)
  })
})
