// What bad input to solana relayers gets: a status, and the field or the rule. Nothing is stored, and nothing is signed.
// The cluster makes blocks by the clock of the machine.
import { DateTime, Duration, Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import {
  computeBudgetProgram,
  memoProgram,
  systemProgram,
  tokenProgram
} from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of, bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { decodeBase58 } from "../../../../src/networks/solana/rules/Wire.ts"
import * as Attacks from "../../../../testkit/solana/Attacks.ts"
import { address as addressOf, u64 } from "../../../../testkit/solana/Messages.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { memo, receiver, transfer } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { countingApi, countingAt, dataOf, memoOf, prebuilt, recent } from "./Relayers.ts"

type Case = readonly [what: string, expected: string | RegExp, body: object]

const memoInstruction = { program_id: memoProgram, accounts: [], data: "aGVsbG8=" }

const meta = (pubkey: string, isSigner = false) => ({ pubkey, is_signer: isSigner, is_writable: true })

/** So many instructions, with so many different accounts each. */
const instructions = (count: number, accounts = 0) => ({
  instructions: Array.from({ length: count }, (_, index) => ({
    ...memoInstruction,
    accounts: Array.from({ length: accounts }, (_, account) => meta(addressOf(1 + index * accounts + account)))
  }))
})

const budget = (...data: ReadonlyArray<number>) => ({
  program: computeBudgetProgram,
  accounts: [],
  data: Uint8Array.from(data)
})

/** Bytes of a transaction before its message: one signature. */
const beforeMessage = 65

const changed = (transaction: string, change: (bytes: ReadonlyArray<number>) => ReadonlyArray<number>): string =>
  base64Of(Uint8Array.from(change([...bytesOf(transaction)])))

/** A transaction with a signature that is required, and one slot of zero bytes for the relayer. */
const byBoth = (relayer: string, blockhash: string, signature: number): string => {
  const alone = prebuilt(relayer, blockhash, [
    { program: memoProgram, accounts: [{ address: receiver, isWritable: true }], data: Buffer.from("x") }
  ])
  const [, ...rest] = [...bytesOf(alone)].slice(beforeMessage)
  const slots = [2, ...new Uint8Array(64), ...new Uint8Array(64).fill(signature)]
  return base64Of(Uint8Array.from([...slots, 2, ...rest]))
}

/** Each body is refused with this status and text. Afterwards nothing is stored, and nothing was signed. */
const refusing = (relayer: Relayer, status = 400) =>
  Effect.fnUntraced(function* (cases: ReadonlyArray<Case>, key?: string) {
    for (const [what, expected, body] of cases) {
      const answer = yield* relayer.send(body, key === undefined ? {} : { key })
      assert.strictEqual(answer.status, status, `${what}: ${answer.text}`)
      const error = answer.json.error ?? ""
      if (typeof expected === "string") assert.include(error, expected, what)
      else assert.match(error, expected, what)
    }
    assert.deepStrictEqual(yield* relayer.kept, { stored: 0, signatures: 0 })
  })

type Relayer = Effect.Success<ReturnType<typeof countingAt>>

/** Own instructions in a form that no shape of a spending has. */
const misshapen = [
  "O6: bytes behind a transfer",
  "O6: an account behind a transfer",
  "O1: TransferChecked by a multisig",
  "O7: Batch of a token program",
  "18, O9: an unknown program"
].map((wanted) => {
  const found = Attacks.takingOver.find(([name]) => name === wanted)
  return found ?? assert.fail(`there is no attack with the name ${wanted}`)
})

layer(countingApi, { excludeTestServices: true })("bad input to a solana relayer", (it) => {
  it.effect("in a field is refused with its name", () =>
    Effect.gen(function* () {
      const relayer = yield* countingAt()
      const { address, becomes, cluster, send } = relayer
      const good = prebuilt(address, recent(cluster), memoOf("x"))
      const later = DateTime.formatIso(DateTime.addDuration(yield* DateTime.now, Duration.days(8)))
      yield* refusing(relayer)([
        ["both forms", "transaction: cannot be given together with instructions", { ...memo("x"), transaction: good }],
        ["no form", "transaction: is required unless instructions is given", {}],
        ["an unknown key", "unknown", { ...memo("x"), unknown: 1 }],
        ["no base64", "transaction: Expected base64", { transaction: "AQ=" }],
        ["0 bytes", "transaction: Expected 1 to 4096 bytes", { transaction: "" }],
        ["0 bytes as an array", "transaction: Expected", { transaction: [] }],
        ["4097 bytes", "transaction: Expected 1 to 4096 bytes", { transaction: base64Of(new Uint8Array(4097)) }],
        ["4097 bytes as an array", "transaction: Expected", { transaction: Array.from({ length: 4097 }, () => 0) }],
        ["65 instructions", "instructions: Expected 1 to 64 instructions", instructions(65)],
        ["no instruction", "instructions: Expected 1 to 64 instructions", { instructions: [] }],
        [
          "65 accounts of one instruction",
          "instructions.0.accounts: Expected at most 64 accounts",
          instructions(1, 65)
        ],
        ["65 accounts of several", "instructions: names 65 different accounts; at most 64", instructions(13, 5)],
        [
          "a deadline in the past",
          "valid_until: must be in the future",
          { ...memo("x"), valid_until: "2020-01-01T00:00:00Z" }
        ],
        ["a deadline in 8 days", "valid_until", { ...memo("x"), valid_until: later }],
        ["a deadline without a zone", "valid_until", { ...memo("x"), valid_until: "2099-01-01T00:00:00" }],
        [
          "a foreign signer",
          "instructions.0.accounts.0.is_signer",
          { instructions: [{ ...memoInstruction, accounts: [meta(receiver, true)] }] }
        ]
      ])
      // What is accepted is stored and signed, so both counts count.
      yield* becomes(dataOf(yield* send({ transaction: good })).id, "confirmed")
      assert.deepStrictEqual(yield* relayer.kept, { stored: 1, signatures: 1 })
    })
  )

  it.effect("in bytes is refused with the rule", () =>
    Effect.gen(function* () {
      const relayer = yield* countingAt()
      const { address, cluster } = relayer
      const blockhash = recent(cluster)
      const good = prebuilt(address, blockhash, memoOf("x"))
      const built = (...given: Parameters<typeof prebuilt>[2]) => ({ transaction: prebuilt(address, blockhash, given) })
      const bytes = (change: Parameters<typeof changed>[1]) => ({ transaction: changed(good, change) })
      const accounts = (...addresses: ReadonlyArray<string>) =>
        addresses.map((one) => ({ address: one, isWritable: false }))
      const ownKey = [...(decodeBase58(address) ?? [])]
      const keys = beforeMessage + 4
      const nonce = { program: systemProgram, accounts: accounts(receiver), data: Uint8Array.of(4, 0, 0, 0) }
      const claims = {
        program: "Ed25519SigVerify111111111111111111111111111",
        accounts: [],
        data: Uint8Array.of(200, 0)
      }
      const dear = budget(3, ...u64(2n ** 40n))
      yield* refusing(relayer)([
        ["a byte left over", "transaction: malformed", bytes((all) => [...all, 0])],
        ["version 2", "transaction: unsupported_version", bytes((all) => all.with(beforeMessage, 0x82))],
        ["version 1 behind signatures", "transaction: malformed", bytes((all) => all.with(beforeMessage, 0x81))],
        ["1233 bytes", "too_large", built(...memoOf("x".repeat(1100)))],
        [
          "66 accounts in version 1",
          "instructions: malformed: has 66 accounts",
          { ...instructions(1, 64), version: 1 }
        ],
        ["an index out of range", "transaction: malformed", bytes((all) => all.with(all.length - 4, 77))],
        [
          "an account twice",
          "transaction: malformed",
          bytes((all) => [...all.slice(0, keys + 32), ...ownKey, ...all.slice(keys + 64)])
        ],
        ["a length that is not canonical", "transaction: malformed", bytes(([, ...rest]) => [0x81, 0, ...rest])],
        [
          "a length of keys that is not canonical",
          "transaction: malformed",
          bytes((all) => [...all.slice(0, keys - 1), 0x82, 0, ...all.slice(keys)])
        ],
        ["a price twice", "transaction: malformed", built(budget(3, ...u64(1)), budget(3, ...u64(2)))],
        ["a limit twice", "transaction: malformed", built(budget(2, 1, 0, 0, 0), budget(2, 1, 0, 0, 0))],
        ["another fee payer", "fee_payer_mismatch", { transaction: prebuilt(receiver, blockhash, memoOf("x")) }],
        ["a missing signature", "transaction: signature_missing", { transaction: byBoth(address, blockhash, 0) }],
        ["a wrong signature", "transaction: signature_invalid", { transaction: byBoth(address, blockhash, 7) }],
        [
          "the relayer as a read-only account",
          new RegExp(
            `^transaction: fee_payer_in_instruction: instruction 0 lists the relayer, ${address}, .*fee_payer_as_authority own_instructions$`,
            "u"
          ),
          built({ program: memoProgram, accounts: accounts(address), data: Buffer.from("x") })
        ],
        ["a durable nonce", "transaction: durable_nonce", built(nonce)],
        [
          "a price of 2^40",
          /^transaction: fee_above_cap: costs up to \d{9,} lamports; at most 1000000 are allowed$/u,
          built(dear, ...memoOf("x"))
        ],
        [
          "a price of 2^40 for instructions",
          /^instructions: fee_above_cap: costs at least \d{9,} lamports; at most 1000000 are allowed$/u,
          { ...memo("x"), compute_unit_price: 2 ** 40 }
        ],
        [
          "200 claimed signatures",
          "transaction: fee_above_cap: precompiles claim 200 signatures; at most 8 are allowed",
          built(claims)
        ]
      ])
    })
  )

  it.effect(
    "in own instructions, in no shape of a spending, is refused although allowed_programs names the program",
    () =>
      Effect.gen(function* () {
        const programs = [...new Set(misshapen.map(([, { program }]) => program))]
        const named = yield* countingAt({ allowed_programs: [...programs, memoProgram] })
        for (const relayer of [yield* countingAt(), named]) {
          yield* refusing(relayer)(
            misshapen.map(([name, given]): Case => [
              name,
              "instructions: fee_payer_in_instruction",
              { instructions: [RawAttacks.own(given, relayer.address)] }
            ])
          )
          const [[, given] = []] = misshapen
          assert(given !== undefined)
          const second = { instructions: [memoInstruction, RawAttacks.own(given, relayer.address)] }
          yield* refusing(relayer)([
            ["the second one", /^instructions: fee_payer_in_instruction: instruction 1: /u, second],
            // The service puts two instructions of the compute budget before them.
            [
              "with a price",
              /^instructions: fee_payer_in_instruction: instruction 1: /u,
              { ...second, compute_unit_limit: 9999, compute_unit_price: 1 }
            ],
            [
              "with own instructions of the compute budget",
              /^instructions: fee_payer_in_instruction: instruction 2: /u,
              {
                instructions: [
                  {
                    program_id: computeBudgetProgram,
                    accounts: [],
                    data: base64Of(Uint8Array.from([2, 15, 39, 0, 0]))
                  },
                  ...second.instructions
                ]
              }
            ]
          ])
        }
      })
  )

  it.effect("of an API key beyond its limits is 403, and the member is named", () =>
    Effect.gen(function* () {
      const relayer = yield* countingAt()
      const { address, call, cluster, kept, path, post, send } = relayer
      const keyWith = (transaction_limits: object) =>
        makeKey(["transactions:*", "transactions:sign"], { transaction_limits })
      const listed = yield* keyWith({ solana: { max_value: "1000000", receivers: [receiver] } })
      const none = yield* keyWith({ max_value: "1" })
      const unnamed = {
        instructions: [
          {
            program_id: tokenProgram,
            accounts: [meta(addressOf(20)), meta(receiver), meta(address, true)],
            data: base64Of(Uint8Array.from([3, ...u64(1)]))
          }
        ]
      }
      const refuse = refusing(relayer, 403)
      yield* refuse([["no member", "transaction_limits.solana: is absent", memo("x")]], none)
      yield* refuse(
        [
          ["over max_value", "max_value of the API key", transfer(address, 1_000_001n)],
          ["not listed", "is not in receivers of the API key", transfer(address, 1n, memoProgram)],
          ["Transfer (3)", "use TransferChecked with an API key that has receivers", unnamed]
        ],
        listed
      )
      const bytes = { transaction: prebuilt(address, recent(cluster), memoOf("limited")) }
      const signing = yield* post("/sign-transaction", bytes, { key: none })
      assert.strictEqual(signing.status, 403)
      assert.include(signing.json.error ?? "", "transaction_limits.solana")
      assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 0 })

      const not_before = DateTime.formatIso(DateTime.addDuration(yield* DateTime.now, Duration.hours(1)))
      const { id } = dataOf(yield* send({ ...transfer(address, 1n), not_before }, { key: listed }))
      const replace = (key: string, body: object) => call(`${path}/${id}`, { method: "PUT", body, key })
      for (const [key, body, member] of [
        [none, memo("y"), "transaction_limits.solana"],
        [listed, transfer(address, 1_000_001n), "max_value"],
        [listed, transfer(address, 1n, memoProgram), "receivers"],
        [listed, unnamed, "receivers"]
      ] as const) {
        const { json, status } = yield* replace(key, body)
        assert.strictEqual(status, 403, member)
        assert.include(json.error ?? "", member)
      }
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 0 })
    })
  )

  it.effect("without the policy that it needs is refused with the field of the policy", () =>
    Effect.gen(function* () {
      const without = yield* countingAt({ fee_payment_strategy: "user" })
      const own = { transaction: prebuilt(without.address, recent(without.cluster), memoOf("x")) }
      yield* refusing(without)([
        ["instructions", "fee_payment_strategy", memo("x")],
        ["no tokens", "the relayer's policy has fee_payment_strategy user and no allowed_tokens", own]
      ])
      const unpaid = yield* countingAt(Paying.policies)
      yield* refusing(unpaid)([
        ["instructions with tokens", "fee_payment_strategy", memo("x")],
        [
          "no payment",
          "transaction: payment_missing",
          { transaction: prebuilt(unpaid.address, recent(unpaid.cluster), memoOf("x")) }
        ]
      ])
    })
  )

  it.effect("in a policy is refused if it vouches for a program with shapes, or for none", () =>
    Effect.gen(function* () {
      const { call, relayer } = yield* countingAt()
      const patch = (policies: object) => call(relayer, { method: "PATCH", body: { policies } })
      for (const policies of [{ authority_programs: [systemProgram] }, { fee_payer_as_authority: "always" }]) {
        const { json, status } = yield* patch(policies)
        assert.strictEqual(status, 400)
        assert.include(json.error ?? "", "policies.authority_programs")
      }
      const allowed = { fee_payer_as_authority: "always", authority_programs: [addressOf(8)] }
      assert.strictEqual((yield* patch(allowed)).status, 200)
    })
  )
})
