// Each policy of a solana relayer, at both places: a send that it forbids is refused, and one that was accepted before the policy was
// narrowed ends without a signature. The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { memoProgram, systemProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { address as addressOf, relayer as model } from "../../../../testkit/solana/Messages.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import { memo, receiver, sol, transfer } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { countingApi, countingAt, dataOf, memoOf, prebuilt, recent } from "./Relayers.ts"

type Relayer = Effect.Success<ReturnType<typeof countingAt>>

interface Case {
  /** What the relayer has besides, before and after. */
  readonly base?: object
  readonly policy: object
  readonly body: (relayer: Relayer) => object
  /** A part of the error of a send. Absent: the chain has to be read first, so it is accepted. */
  readonly refused?: string
  /** The code with which an accepted one ends, or waits. */
  readonly code: string
  readonly status?: "failed" | "pending"
}

const vouched = addressOf(60)

const bytesOf = ({ address, cluster }: Relayer) => ({
  transaction: prebuilt(address, recent(cluster), memoOf("policy"))
})

/** The user signs a memo, and the relayer pays. */
const ofUser = ({ address, cluster }: Relayer) => {
  const accounts = [{ address: Paying.user, isWritable: false, isSigner: true }]
  const instruction = { program: memoProgram, accounts, data: Buffer.from("policy") }
  return { transaction: Paying.signedByUser(prebuilt(address, recent(cluster), [instruction])) }
}

const paid = ({ address, cluster }: Relayer) => ({
  transaction: Paying.paying({ relayer: address, blockhash: recent(cluster), amount: Paying.fee.units })
})

const cases: Readonly<Record<string, Case>> = {
  max_tx_data_size: { policy: { max_tx_data_size: 100 }, body: bytesOf, refused: "too_large", code: "too_large" },
  max_signatures: {
    policy: { max_signatures: 1 },
    body: ofUser,
    refused: "too_many_signatures",
    code: "too_many_signatures"
  },
  allowed_programs: {
    policy: { allowed_programs: [systemProgram] },
    body: () => memo("policy"),
    refused: "program_not_allowed",
    code: "program_not_allowed"
  },
  allowed_accounts: {
    policy: { allowed_accounts: [receiver] },
    body: () => memo("policy"),
    refused: "account_not_allowed",
    code: "account_not_allowed"
  },
  disallowed_accounts: {
    policy: { disallowed_accounts: [receiver] },
    body: ({ address }) => transfer(address, sol),
    refused: "account_disallowed",
    code: "account_disallowed"
  },
  max_allowed_fee_lamports: {
    policy: { max_allowed_fee_lamports: 4999 },
    body: bytesOf,
    refused: "fee_above_cap: costs up to 5000 lamports; at most 4999 are allowed",
    code: "fee_above_cap"
  },
  fee_payer_as_authority: {
    policy: { fee_payer_as_authority: "never" },
    body: ({ address }) => transfer(address, sol),
    refused: "fee_payer_in_instruction",
    code: "fee_payer_in_instruction"
  },
  authority_programs: {
    base: { authority_programs: [vouched] },
    policy: { authority_programs: [] },
    body: ({ address }) => ({
      instructions: [RawAttacks.own({ program: vouched, accounts: [model], data: [1] }, address)]
    }),
    refused: "fee_payer_in_instruction",
    code: "fee_payer_in_instruction"
  },
  max_lamports_out: {
    policy: { max_lamports_out: Number(sol) - 1 },
    body: ({ address }) => transfer(address, sol),
    refused: `value_above_cap: spends ${sol} lamports; at most ${sol - 1n} are allowed`,
    code: "value_above_cap"
  },
  fee_payment_strategy: {
    policy: { fee_payment_strategy: "user" },
    body: () => memo("policy"),
    refused: "fee_payment_strategy",
    code: "policy_changed"
  },
  allowed_tokens: {
    base: Paying.policies,
    policy: { allowed_tokens: [{ ...Paying.token, mint: addressOf(61) }] },
    body: paid,
    refused: "payment_missing",
    code: "payment_missing"
  },
  "decimals of a token": {
    base: Paying.policies,
    policy: { allowed_tokens: [{ ...Paying.token, decimals: 9 }] },
    body: paid,
    code: "payment_missing"
  },
  "price of a token": {
    base: Paying.policies,
    policy: { allowed_tokens: [{ ...Paying.token, price: { units: "300000000", native: "1000000000" } }] },
    body: paid,
    code: "payment_missing"
  },
  "price_bounds of a token": {
    base: Paying.policies,
    policy: {
      allowed_tokens: [
        {
          ...Paying.token,
          price_bounds: {
            min: { units: "2", native: "1000000000" },
            max: { units: "1", native: "1000000000" }
          }
        }
      ]
    },
    body: paid,
    code: "price_unavailable",
    status: "pending"
  },
  fee_margin_percentage: {
    base: Paying.policies,
    policy: { fee_margin_percentage: 50 },
    body: paid,
    code: "payment_missing"
  }
}

layer(countingApi, { excludeTestServices: true, concurrent: true })("the policy of a solana relayer", (it) => {
  for (const [name, { base = {}, body, code, policy, refused, status = "failed" }] of Object.entries(cases)) {
    it.effect(`${name} is enforced when a transaction is accepted, and again before its signature`, () =>
      Effect.gen(function* () {
        // More than there is has to stay, so that nothing is signed before the policy is narrowed.
        const policies = { fee_payment_strategy: "relayer", min_balance: Number(10n * sol), ...base }
        // Blocks come slowly, so that the blockhash of prebuilt bytes lives until they are examined.
        const relayer = yield* countingAt(policies, { blockMs: 400 })
        const { address, becomes, call, cluster, kept, send, waits } = relayer
        Paying.prepare(cluster, address)
        const accepted = yield* send(body(relayer))
        assert.strictEqual(accepted.status, 200, accepted.text)
        const changed = yield* call(relayer.relayer, {
          method: "PATCH",
          body: { policies: { ...policies, ...policy } }
        })
        assert.strictEqual(changed.status, 200, changed.text)
        if (refused !== undefined) {
          const answer = yield* send(body(relayer))
          assert.strictEqual(answer.status, 400, answer.text)
          assert.include(answer.json.error ?? "", refused)
        }
        const { id } = dataOf(accepted)
        if (status === "failed") assert.strictEqual((yield* becomes(id, "failed")).code, code)
        else yield* waits(id, code)
        assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 0 })
      })
    )
  }
})
