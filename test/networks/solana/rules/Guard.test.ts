// The rules that keep the relayer from being drained: one case per rule, and one per attack.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import {
  brokenRule,
  brokenSignature,
  brokenSimulation,
  spendingOf
} from "../../../../src/networks/solana/rules/Guard.ts"
import type { Form, Guarded, GuardTerms, SimulatedAccounts } from "../../../../src/networks/solana/rules/Guard.ts"
import type { Message, MessageConfig } from "../../../../src/networks/solana/rules/Message.ts"
import * as Programs from "../../../../src/networks/solana/rules/Programs.ts"
import type { AccountState } from "../../../../src/networks/solana/rules/Programs.ts"
import { noBlockhash, unsignedOf } from "../../../../src/networks/solana/rules/RequestBytes.ts"
import * as Attacks from "../../../../testkit/solana/Attacks.ts"
import {
  address,
  compiled,
  derivations,
  guarded,
  other,
  reading,
  relayer,
  u32,
  u64,
  user,
  wire
} from "../../../../testkit/solana/Messages.ts"
import type { Given } from "../../../../testkit/solana/Messages.ts"

const userTransfer: Given = { program: Programs.systemProgram, accounts: [user, other], data: [...u32(2), ...u64(1)] }
const sound = compiled([userTransfer], [user])

const code = (checked: Guarded) => brokenRule(checked)?.code ?? "passes"

const own = (
  instruction: Given,
  changed: Partial<GuardTerms> = {},
  accounts?: Readonly<Record<string, AccountState>>
) => guarded(compiled([instruction]), "instructions", changed, accounts === undefined ? undefined : reading(accounts))

const budget = (...data: ReadonlyArray<number>): Given => ({
  program: Programs.computeBudgetProgram,
  accounts: [],
  data
})
const price = budget(3, ...u64(1_000_000))
const precompile = (signatures: number): Given => ({
  program: "Ed25519SigVerify111111111111111111111111111",
  accounts: [],
  data: [signatures, 0]
})
const many = (count: number): ReadonlyArray<Given> => Array.from({ length: count }, () => userTransfer)
const long = (count: number): Given => ({ ...userTransfer, accounts: Array.from({ length: count }, () => user) })
const loading = (count: number) => ({
  table: "table",
  writable: [],
  readonly: Array.from({ length: count }, (_, index) => index)
})
const withTable = { ...sound, version: 0 as const, tables: [{ table: "table", writable: [1], readonly: [0] }] }
const tables = (...addresses: ReadonlyArray<string>) => ({
  tables: new Map([["table", { _tag: "Active" as const, addresses }]]),
  accounts: new Map()
})

/** The same with so many bytes without signatures. */
const guardedBytes = (checked: Guarded, bytes: number): Guarded => ({
  ...checked,
  transaction: { ...checked.transaction, messageBytes: new Uint8Array(bytes) }
})

const cases: ReadonlyArray<readonly [string, Guarded, string]> = [
  ["a sound message of a user", guarded(sound), "passes"],
  ["S1: more bytes than the policy allows", guarded(sound, "prebuilt", { maxBytes: 328 }), "too_large"],
  ["S1: as many bytes as the policy allows", guarded(sound, "prebuilt", { maxBytes: 329 }), "passes"],
  ["S1: a price that occurs twice", guarded(compiled([price, price, userTransfer], [user])), "malformed"],
  [
    "S1: a limit of compute units that is too short",
    guarded(compiled([budget(2, 1), userTransfer], [user])),
    "malformed"
  ],
  ["S1: an empty instruction of the compute budget", guarded(compiled([budget(), userTransfer], [user])), "malformed"],
  [
    "S1: an instruction of the compute budget that the runtime has given up",
    guarded(compiled([budget(0, ...u32(1000), ...u32(0)), userTransfer], [user])),
    "malformed"
  ],
  [
    "S1: a heap, and a limit of loaded bytes",
    guarded(compiled([budget(1, ...u32(32_768)), budget(4, ...u32(65_536)), userTransfer], [user])),
    "passes"
  ],
  ["S1: 64 instructions", guarded(compiled(many(64), [user])), "passes"],
  ["S1: 65 instructions", guarded(compiled(many(65), [user])), "malformed"],
  ["S1: an instruction with 255 accounts", guarded(compiled([long(255)], [user])), "passes"],
  ["S1: an instruction with 256 accounts", guarded(compiled([long(256)], [user])), "malformed"],
  [
    "S1: 257 accounts, most of them of tables",
    guarded({ ...sound, version: 0, tables: [loading(257 - sound.keys.length)] }),
    "malformed"
  ],
  [
    "S1: 256 accounts, most of them of tables",
    guarded({ ...sound, version: 0, tables: [loading(256 - sound.keys.length)] }),
    "passes"
  ],
  ["S1: a table that loads nothing", guarded({ ...sound, version: 0, tables: [loading(0)] }), "malformed"],
  ["S2: another fee payer", guarded(sound, "prebuilt", { relayer: other }), "fee_payer_mismatch"],
  ["S2: too many signatures", guarded(sound, "prebuilt", { maxSignatures: 1 }), "too_many_signatures"],
  ["S2: a foreign signer of instructions", guarded(sound, "instructions"), "foreign_signer"],
  [
    "S3: a durable nonce of the user",
    guarded(compiled([{ ...userTransfer, data: u32(4) }, userTransfer], [user])),
    "durable_nonce"
  ],
  [
    "S5: a table that loads the relayer",
    guarded(withTable, "prebuilt", {}, tables(user, relayer)),
    "fee_payer_in_lookup_table"
  ],
  [
    "S6: a price without a limit, of a program that is no builtin",
    guarded(compiled([budget(3, ...u64(5_000_000)), { ...userTransfer, program: Programs.memoProgram }], [user])),
    "fee_above_cap"
  ],
  [
    "S6: the same price, of builtins",
    guarded(compiled([budget(3, ...u64(5_000_000)), userTransfer], [user])),
    "passes"
  ],
  ["S6: a price of 2^40", guarded(compiled([budget(3, ...u64(2n ** 40n)), userTransfer], [user])), "fee_above_cap"],
  [
    "S6: 200 signatures that a precompile claims",
    guarded(compiled([precompile(200), userTransfer], [user])),
    "fee_above_cap"
  ],
  [
    "S6: nine cheap signatures that a precompile claims",
    guarded(compiled([precompile(9), userTransfer], [user])),
    "fee_above_cap"
  ],
  ["S6: eight signatures that a precompile claims", guarded(compiled([precompile(8), userTransfer], [user])), "passes"],
  ["S6: a fee of one lamport above the cap", guarded(sound, "prebuilt", { maxFee: 9999n }), "fee_above_cap"],
  ["S6: a fee that is the cap", guarded(sound, "prebuilt", { maxFee: 10_000n }), "passes"],
  [
    "S7: a program that is not allowed",
    guarded(sound, "prebuilt", { allowedPrograms: [other] }),
    "program_not_allowed"
  ],
  [
    "S7: the compute budget, which is always allowed",
    guarded(compiled([budget(2, ...u32(5000)), userTransfer], [user]), "prebuilt", {
      allowedPrograms: [Programs.systemProgram]
    }),
    "passes"
  ],
  [
    "S5: a fee that counts the signatures of precompiles, at the cap",
    guarded(compiled([precompile(2), userTransfer], [user]), "prebuilt", { maxFee: 20_000n }),
    "passes"
  ],
  [
    "S5: a fee that counts the signatures of precompiles, above the cap",
    guarded(compiled([precompile(2), userTransfer], [user]), "prebuilt", { maxFee: 19_999n }),
    "fee_above_cap"
  ],
  ["S7: a disallowed account", guarded(sound, "prebuilt", { disallowedAccounts: [other] }), "account_disallowed"],
  [
    "S7: an account that is not allowed",
    guarded(sound, "prebuilt", { allowedAccounts: [relayer, user] }),
    "account_not_allowed"
  ],
  [
    "S7: a disallowed account in a table",
    guarded(withTable, "prebuilt", { disallowedAccounts: [address(70)] }, tables(user, address(70))),
    "account_disallowed"
  ],
  ["S8: a table that is too short", guarded(withTable, "prebuilt", {}, tables(user)), "lookup_table_unresolved"],
  ["S8: a table that is missing", guarded(withTable, "prebuilt", {}, reading({})), "lookup_table_unresolved"],
  ["S8: tables are not read at admission", guarded(withTable), "passes"],
  ["a message that spends more than the limit", own(Attacks.transfer(1001), { maxSpent: 1000n }), "value_above_cap"],
  ["a message that spends the limit", own(Attacks.transfer(1000), { maxSpent: 1000n }), "passes"],
  ["a receiver that is not listed", own(Attacks.transfer(1), { receivers: [user] }), "receiver_not_allowed"],
  ["a receiver that is listed", own(Attacks.transfer(1), { receivers: [other] }), "passes"],
  ["tokens for the account of a listed wallet", own(Attacks.tokenTransferChecked(), { receivers: [other] }), "passes"],
  [
    "tokens for a listed account, without their mint",
    own(Attacks.tokenTransfer, { receivers: [Attacks.othersTokens] }),
    "receiver_not_allowed"
  ],
  [
    "a vouched program",
    own({ program: address(60), accounts: [relayer], data: [1] }, { authorityPrograms: [address(60)] }),
    "passes"
  ],
  [
    "a vouched program that is not listed as a receiver",
    own(
      { program: address(60), accounts: [relayer], data: [1] },
      { authorityPrograms: [address(60)], receivers: [other] }
    ),
    "receiver_not_allowed"
  ],
  [
    "a vouched loader that gives its authority away",
    own(
      { program: Programs.loaderProgram, accounts: [relayer], data: u32(4) },
      { authorityPrograms: [Programs.loaderProgram] }
    ),
    "fee_payer_in_instruction"
  ],
  [
    "a vouched program of the table",
    own(
      { program: Programs.systemProgram, accounts: [relayer], data: u32(8) },
      { authorityPrograms: [Programs.systemProgram] }
    ),
    "fee_payer_in_instruction"
  ],
  [
    "an allowed program that nobody vouches for",
    own({ program: address(60), accounts: [relayer], data: [1] }, { allowedPrograms: [address(60)] }),
    "fee_payer_in_instruction"
  ],
  ["a fee account that is closed", own(Attacks.closeOwn, { feeMints: [Attacks.mint] }), "fee_payer_in_instruction"],
  [
    "a transfer hook that nobody vouches for",
    own(Attacks.tokenTransferChecked(Attacks.mint, [address(61)])),
    "fee_payer_in_instruction"
  ],
  [
    "a vouched transfer hook",
    own(Attacks.tokenTransferChecked(Attacks.mint, [address(61)]), { authorityPrograms: [address(61)] }),
    "passes"
  ]
]

const enough: MessageConfig = { computeUnitLimit: 100_000, loadedBytes: 1_000_000 }

/** The same message in version 1. */
const inVersion1 = (message: Message, config: MessageConfig = {}): Message => ({
  ...message,
  version: 1,
  config: { ...enough, ...config }
})

const dear = budget(3, ...u64(2n ** 40n))

const casesOfVersion1: ReadonlyArray<readonly [string, Guarded, string]> = [
  ["a sound message", guarded(inVersion1(sound)), "passes"],
  ["a message that asks for nothing, and can only fail", guarded({ ...sound, version: 1, config: {} }), "passes"],
  [
    "an instruction for a price of 2^40, which has no effect",
    guarded(inVersion1(compiled([dear, userTransfer], [user])), "prebuilt", { maxFee: 10_000n }),
    "passes"
  ],
  [
    "two instructions for a price, which have no effect",
    guarded(inVersion1(compiled([dear, dear, userTransfer], [user])), "prebuilt", { maxFee: 10_000n }),
    "passes"
  ],
  ["a fee that is the cap", guarded(inVersion1(sound, { priorityFee: 7n }), "prebuilt", { maxFee: 10_007n }), "passes"],
  [
    "a fee of one lamport above the cap",
    guarded(inVersion1(sound, { priorityFee: 8n }), "prebuilt", { maxFee: 10_007n }),
    "fee_above_cap"
  ],
  [
    "a fee of one lamport above the cap, for no unit",
    guarded({ ...sound, version: 1, config: { priorityFee: 1n } }, "prebuilt", { maxFee: 10_000n }),
    "fee_above_cap"
  ],
  [
    "a fee that counts the signatures of precompiles, above the cap",
    guarded(inVersion1(compiled([precompile(2), userTransfer], [user])), "prebuilt", { maxFee: 19_999n }),
    "fee_above_cap"
  ],
  ["more bytes than a packet has", guardedBytes(guarded(inVersion1(sound)), 4096 - 2 * 64), "passes"],
  ["more bytes than version 1 has", guardedBytes(guarded(inVersion1(sound)), 4097 - 2 * 64), "too_large"],
  ["more bytes than a packet has in the legacy form", guardedBytes(guarded(sound), 1232 - 2 * 64), "too_large"],
  ["as many bytes as a packet has in the legacy form", guardedBytes(guarded(sound), 1231 - 2 * 64), "passes"],
  [
    "more bytes than the policy allows",
    guardedBytes(guarded(inVersion1(sound), "prebuilt", { maxBytes: 1232 }), 1233 - 2 * 64),
    "too_large"
  ],
  [
    "65 accounts of own instructions",
    guarded(
      inVersion1(
        compiled([{ ...userTransfer, accounts: Array.from({ length: 63 }, (_, index) => address(100 + index)) }])
      ),
      "instructions"
    ),
    "malformed"
  ],
  [
    "64 accounts of own instructions",
    guarded(
      inVersion1(
        compiled([{ ...userTransfer, accounts: Array.from({ length: 62 }, (_, index) => address(100 + index)) }])
      ),
      "instructions"
    ),
    "passes"
  ],
  [
    "a durable nonce of the user",
    guarded(inVersion1(compiled([{ ...userTransfer, data: u32(4) }, userTransfer], [user]))),
    "durable_nonce"
  ],
  ["another fee payer", guarded(inVersion1(sound), "prebuilt", { relayer: other }), "fee_payer_mismatch"]
]

describe("before a signature of version 1", () => {
  it("64 instructions pass, and 65 do not", () => {
    const [most, more] = [64, 65].map((count) => guarded(inVersion1(compiled(many(count), [user]))))
    assert.deepStrictEqual([most && code(most), more && code(more)], ["passes", "malformed"])
  })

  it("what the service builds without a limit of units gets what the runtime allows the other versions", () => {
    const request = (...programs: ReadonlyArray<string>) => ({
      version: 1 as const,
      instructions: programs.map((program_id) => ({ program_id, accounts: [], data: "" }))
    })
    const built = (...programs: ReadonlyArray<string>) => {
      const chosen = { blockhash: noBlockhash, computeUnitPrice: 1_000_000n }
      const unsigned = unsignedOf(request(...programs), { payer: relayer, tables: new Map() }, chosen)
      const { config } = Result.getOrThrow(unsigned).message
      return [config?.computeUnitLimit, config?.priorityFee]
    }
    assert.deepStrictEqual(built(Programs.systemProgram, Programs.memoProgram), [203_000, 203_000n])
    assert.deepStrictEqual(built(...Array.from({ length: 8 }, () => Programs.memoProgram)), [1_400_000, 1_400_000n])
  })

  for (const [name, checked, expected] of casesOfVersion1)
    it(`${name}: ${expected}`, () => assert.strictEqual(code(checked), expected))
})

describe("before a signature", () => {
  for (const [name, checked, expected] of cases)
    it(`${name}: ${expected}`, () => assert.strictEqual(code(checked), expected))
})

const isOwn: AccountState = { _tag: "Token", program: Programs.tokenProgram, mint: Attacks.nativeMint, owner: relayer }

describe("accounts that own instructions spend from", () => {
  const states: ReadonlyArray<readonly [string, AccountState | undefined, string]> = [
    ["of the relayer", isOwn, "passes"],
    ["of a user who approved the relayer, or of a multisig", { ...isOwn, owner: user }, "fee_payer_in_instruction"],
    ["of another token program", { ...isOwn, program: Programs.token2022Program }, "fee_payer_in_instruction"],
    ["that is a mint", { _tag: "Other", isProgram: false }, "fee_payer_in_instruction"],
    ["that cannot be read", { _tag: "Unreadable" }, "account_unavailable"],
    ["that was not read", undefined, "account_unavailable"]
  ]
  for (const [name, state, expected] of states) {
    for (const [kind, instruction] of [
      ["Transfer", Attacks.tokenTransfer],
      ["TransferChecked", Attacks.tokenTransferChecked()],
      ["CloseAccount", Attacks.closeOwn]
    ] as const) {
      it(`an account ${name}, ${kind}: ${expected}`, () => {
        const accounts = state === undefined ? {} : { [Attacks.ownTokens]: state }
        assert.strictEqual(code(own(instruction, {}, accounts)), expected)
      })
    }
  }

  it("wrapped lamports count as spent, also if the instruction does not name their mint", () => {
    const spending = spendingOf(own(Attacks.tokenTransfer, {}, { [Attacks.ownTokens]: isOwn }))
    assert.strictEqual("spent" in spending ? spending.spent : spending.code, 5n)
  })
})

const others: ReadonlyArray<readonly [Form, Partial<GuardTerms>]> = [
  ["prebuilt", {}],
  ["sponsored", { authority: "always", authorityPrograms: [address(60)] }],
  ["sign_transaction", { authority: "always", authorityPrograms: [address(60)] }],
  ["instructions", { authority: "never" }],
  ["prebuilt", { authority: "never" }]
]

/** The same message in each version. */
const inEach = (message: Message): ReadonlyArray<Message> => [message, inVersion1(message)]

describe("the relayer in an instruction", () => {
  for (const [name, attack] of Attacks.takingOver) {
    it(`${name} is refused in every form and version`, () => {
      for (const [form, changed] of [...others, ["instructions", {}], ["prebuilt", { authority: "always" }]] as const) {
        for (const message of inEach(compiled([attack]))) {
          assert.strictEqual(code(guarded(message, form, changed)), "fee_payer_in_instruction", form)
        }
      }
    })
  }

  for (const [name, instruction, out, spent] of Attacks.sending) {
    it(`${name} is sending, and counts as ${out} out and ${spent} spent`, () => {
      for (const [form, changed] of others) {
        for (const message of inEach(compiled([instruction]))) {
          assert.strictEqual(code(guarded(message, form, changed)), "fee_payer_in_instruction", form)
        }
      }
      const checks = inEach(compiled([instruction])).flatMap((message) => [
        guarded(message, "instructions"),
        guarded(message, "prebuilt", { authority: "always" })
      ])
      for (const checked of checks) {
        assert.strictEqual(code(checked), "passes")
        const spending = spendingOf(checked)
        assert.deepStrictEqual("out" in spending ? [spending.out, spending.spent] : spending.code, [out, spent])
      }
    })

    it(`${name} is refused with a byte or an account more`, () => {
      const bytes = own({ ...instruction, data: [...instruction.data, 0xff] })
      const account = own({ ...instruction, accounts: [...instruction.accounts, relayer] })
      assert.strictEqual(code(bytes), "fee_payer_in_instruction")
      assert.strictEqual(code(account), "fee_payer_in_instruction")
    })
  }
})

describe("a new token account", () => {
  const created: Given = {
    program: Programs.associatedTokenProgram,
    accounts: [
      relayer,
      derivations.associated(user, other, Programs.tokenProgram),
      user,
      other,
      Programs.systemProgram,
      Programs.tokenProgram
    ],
    data: []
  }
  const spent = (rent?: bigint) => {
    const read = { ...reading({}), ...(rent === undefined ? {} : { rent }) }
    const spending = spendingOf(guarded(compiled([created]), "instructions", {}, read))
    return "out" in spending ? [spending.out, spending.spent] : spending.code
  }

  it("takes the rent of the cluster, and the most that any cluster asks if no provider says it", () =>
    assert.deepStrictEqual(
      [spent(650_240n), spent(890_880n), spent()],
      [
        [1_488_440n, 1_488_440n],
        [2_039_280n, 2_039_280n],
        [2_039_280n, 2_039_280n]
      ]
    ))
})

describe("a memo of the relayer", () => {
  for (const program of [Programs.memoProgram, Programs.memo4Program]) {
    it(`passes: ${program}`, () =>
      assert.strictEqual(code(own({ program, accounts: [relayer], data: [...Buffer.from("hello")] })), "passes"))
  }
})

describe("signatures of others (S10)", () => {
  const message = wire(compiled([userTransfer], [user]))
  const signature = new Uint8Array(64).fill(7)
  const verify = (checked: Uint8Array) => checked[0] === 7

  it("must be there and valid; that of the relayer may be absent", () => {
    const check = (...signatures: ReadonlyArray<Uint8Array | undefined>) =>
      brokenSignature({ ...message, signatures }, verify)?.code ?? "passes"
    assert.strictEqual(check(undefined, signature), "passes")
    assert.strictEqual(check(undefined, undefined), "signature_missing")
    assert.strictEqual(check(undefined, new Uint8Array(64).fill(8)), "signature_invalid")
    assert.strictEqual(check(new Uint8Array(64).fill(8), signature), "signature_invalid")
    assert.strictEqual(check(signature, signature), "passes")
  })
})

describe("a simulation", () => {
  const before = { lamports: 100_000n, owner: Programs.systemProgram, dataBytes: 0 }
  const authorities = { owner: relayer, amount: 7n }
  const check = (changed: Partial<SimulatedAccounts>) =>
    brokenSimulation({ before, after: before, tokens: new Map(), closed: [], ...changed }, 5000n)?.code ?? "passes"
  const token = (after?: typeof authorities & { readonly delegate?: string; readonly closeAuthority?: string }) =>
    new Map([[Attacks.ownTokens, { before: authorities, ...(after === undefined ? {} : { after }) }]])

  it("may take what is declared and no lamport more (S11)", () => {
    assert.strictEqual(check({ after: { ...before, lamports: 95_000n } }), "passes")
    assert.strictEqual(check({ after: { ...before, lamports: 94_999n } }), "lamports_out")
  })

  it("leaves the relayer an account of the System program without data (S11)", () => {
    assert.strictEqual(check({ after: { ...before, owner: other } }), "fee_payer_changed")
    assert.strictEqual(check({ after: { ...before, dataBytes: 10 } }), "fee_payer_changed")
  })

  it("leaves the relayer the power over its token accounts (S12)", () => {
    assert.strictEqual(check({ tokens: token(authorities) }), "passes")
    assert.strictEqual(check({ tokens: token({ ...authorities, owner: other }) }), "authority_changed")
    assert.strictEqual(check({ tokens: token({ ...authorities, delegate: other }) }), "authority_changed")
    assert.strictEqual(check({ tokens: token({ ...authorities, closeAuthority: other }) }), "authority_changed")
    assert.strictEqual(check({ tokens: token() }), "authority_changed")
    assert.strictEqual(check({ tokens: token(), closed: [Attacks.ownTokens] }), "passes")
  })
})

describe("a refusal of an instruction", () => {
  const assign: Given = {
    program: Programs.systemProgram,
    accounts: [relayer],
    data: [1, 0, 0, 0, ...Array(32).fill(7)]
  }

  it("has the number that the instruction has in the request, in each form", () => {
    const message = (
      form: Guarded["form"],
      given: ReadonlyArray<Given>,
      added: number,
      changed: Partial<GuardTerms> = {}
    ) => brokenRule({ ...guarded(compiled(given), form, changed), added })?.message ?? ""
    const budgets = [budget(2, 1, 0, 0, 0), price]
    assert.match(message("instructions", [...budgets, userTransfer, assign], 2), /^instruction 1: /)
    assert.match(message("instructions", [...budgets, userTransfer, assign], 0), /^instruction 3: /)
    assert.match(
      message("instructions", [price, assign], 1, { authority: "never" }),
      /^instruction 0 lists the relayer/
    )
    assert.match(message("prebuilt", [price, assign], 0), /^instruction 1 lists the relayer/)
  })
})
