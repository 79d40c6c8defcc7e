// 2,000 random envelopes, valid and broken, sent to the stand-in ledger and to the model of its rules: the answers agree.
import { assert, describe, it } from "@effect/vitest"
import { Operation } from "@stellar/stellar-sdk/base"
import type { Keypair } from "@stellar/stellar-sdk/base"
import { call, envelope, feeBump, keyNamed as key } from "../../../testkit/stellar/Building.ts"
import { Model } from "./Model.ts"
import type { Plan } from "./Model.ts"
import { World, xlm } from "./World.ts"

/** A small generator of numbers (mulberry32), so that a seed gives the same run. */
const randomOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const names = ["ann", "bob", "cleo", "dan", "poor", "nobody"] as const
const envelopes = 2000
const resource = 100_000n

const signersOf = (name: string, signed: Plan["signed"]): ReadonlyArray<Keypair> => {
  if (signed === "not") return []
  if (signed === "wrong") return [key("stranger")]
  return signed === "well" ? [key(name)] : [key(name), key("stranger")]
}

interface Bounds {
  readonly minTime: number
  readonly maxTime: number
}

/** Seconds from now, as often as they are drawn. 0 as `minTime`: none. */
const bounds: readonly [Bounds, ...ReadonlyArray<Bounds>] = [
  { minTime: 0, maxTime: 60 },
  { minTime: 0, maxTime: 60 },
  { minTime: 0, maxTime: 60 },
  { minTime: 0, maxTime: 500 },
  { minTime: 0, maxTime: 500 },
  { minTime: 0, maxTime: 500 },
  { minTime: 0, maxTime: 12 },
  { minTime: 0, maxTime: 10 },
  { minTime: 0, maxTime: 9 },
  { minTime: 3, maxTime: 60 }
]

const textOf = (plan: Plan, fee: bigint): { readonly inner: string; readonly outer: string } => {
  const operation = plan.isSoroban ? call("increment") : Operation.bumpSequence({ bumpTo: "0" })
  const inner = envelope(
    key(plan.source),
    Array.from({ length: Number(plan.operations) }, () => operation),
    {
      sequence: plan.sequence,
      fee,
      minTime: plan.minTime,
      maxTime: plan.maxTime,
      signers: signersOf(plan.source, plan.signed),
      ...(plan.isSoroban ? { resourceFee: plan.resource } : {})
    }
  )
  const { bump } = plan
  return {
    inner,
    outer:
      bump === undefined
        ? inner
        : feeBump(key(bump.payer), inner, bump.fee, { signers: signersOf(bump.payer, bump.signed) })
  }
}

const runOf = (seed: number): ReadonlyMap<string, number> => {
  const random = randomOf(seed)
  const pick = <A>(...options: readonly [A, ...ReadonlyArray<A>]): A =>
    options[Math.floor(random() * options.length)] ?? options[0]
  const boundsAt = (seconds: number) => {
    const { minTime, maxTime } = pick(...bounds)
    return { minTime: minTime && seconds + minTime, maxTime: seconds + maxTime }
  }
  const world = new World()
  for (const name of names) {
    if (name !== "nobody") world.network.grant(key(name).publicKey(), name === "poor" ? xlm + 1000n : 100n * xlm)
  }
  const accounts = names.filter((name) => name !== "nobody")
  const model = new Model(
    new Map(
      accounts.map((name) => [
        name,
        { balance: world.account(key(name)).balance, sequence: world.account(key(name)).sequence }
      ])
    )
  )
  const sent: Array<{ readonly plan: Plan; readonly text: string }> = []
  const answers = new Map<string, number>()
  const ids = new Map<string, number>()
  const idOf = (content: string) => {
    const id = ids.get(content) ?? ids.size
    ids.set(content, id)
    return id
  }

  const planOf = (): { readonly plan: Plan; readonly text: string } => {
    const source = pick("ann", "bob", "cleo", "dan", "poor", "ann", "bob", ...(random() < 0.1 ? ["nobody"] : []))
    const isSoroban = random() < 0.2
    const operations = isSoroban ? 1 : pick(1, 1, 1, 2, 3, ...(random() < 0.1 ? [0] : []))
    const rate = pick(100n, 100n, 150n, 1000n, 5000n, 99n)
    const fee = rate * BigInt(operations)
    const signed = (): Plan["signed"] => (random() < 0.85 ? "well" : pick("not", "wrong", "twice"))
    const given = isSoroban ? resource : 0n
    const base: Plan = {
      id: 0,
      innerId: 0,
      source,
      sequence: (model.holdings.get(source)?.sequence ?? 0n) + pick(1n, 1n, 1n, 1n, 1n, 1n, 0n, 2n, 5n),
      operations: BigInt(operations),
      fee: fee + given,
      resource: given,
      isSoroban,
      ...boundsAt(world.seconds),
      signed: signed()
    }
    const isBump = random() < 0.35
    const outer = rate * BigInt(operations + 1) * pick(1n, 1n, 2n, 10n, 20n) - pick(0n, 0n, 0n, 1n)
    const plan: Plan = isBump
      ? {
          ...base,
          bump: { payer: pick("ann", "dan", "poor", "nobody", "dan"), fee: outer + given, signed: signed() }
        }
      : base
    const { inner, outer: text } = textOf(plan, rate)
    // A hash covers no signatures of its own envelope. That of a fee bump covers the signatures of the inner one.
    const { signed: _, ...content } = base
    const innerId = idOf(Object.values(content).join(" "))
    const id = plan.bump === undefined ? innerId : idOf(`${inner} ${plan.bump.payer} ${plan.bump.fee}`)
    if (isBump) sent.push({ plan: { ...base, id: innerId, innerId }, text: inner })
    return { plan: { ...plan, id, innerId }, text }
  }

  for (let count = 0; count < envelopes; count++) {
    if (random() < 0.25) {
      world.close()
      model.close(world.network.latest.closeTime, world.seconds)
    }
    const again = random() < 0.2 ? sent[Math.floor(random() * sent.length)] : undefined
    const one = again ?? planOf()
    const expected = model.send(one.plan, world.seconds, world.network.latest.closeTime)
    const answer = world.answer(one.text)
    assert.strictEqual(answer, expected, `seed ${seed}, envelope ${count}`)
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
    sent.push(one)
  }
  for (const name of accounts) {
    const { balance, sequence } = world.account(key(name))
    assert.deepStrictEqual(model.holdings.get(name), { balance, sequence }, `${name}, seed ${seed}`)
  }
  return answers
}

describe("the rules of the stand-in ledger", () => {
  it("agree with a model of them on 2,000 random envelopes, and the envelopes reach every answer", () => {
    const answers = runOf(20_261_123)
    const reached = [
      "PENDING",
      "DUPLICATE",
      "TRY_AGAIN_LATER",
      "txBadSeq",
      "txBadAuth",
      "txBadAuthExtra",
      "txInsufficientFee",
      "txInsufficientBalance",
      "txMissingOperation",
      "txNoAccount",
      "txTooEarly",
      "txTooLate",
      "txFeeBumpInnerFailed"
    ]
    assert.includeMembers([...answers.keys()], reached)
  })
})
