// The attacks of the design on the fee payer, over HTTP, by each of the ways in: send, batch, sign-transaction and JSON-RPC. The
// numbers are those of `docs/security/solana.md`.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { base64Of, bytesOf } from "../../../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../../../src/domain/transaction/solana/Programs.ts"
import * as Base58 from "../../../../src/domain/transaction/solana/Base58.ts"
import * as Wire from "../../../../src/domain/transaction/solana/WireEncoding.ts"
import type { BuiltInstruction } from "../../../../src/domain/transaction/solana/WireEncoding.ts"
import * as Attacks from "../../../domain/transaction/solana/Attacks.ts"
import { address as addressOf, relayer as model, u32, u64 } from "../../../domain/transaction/solana/Messages.ts"
import type { Given } from "../../../domain/transaction/solana/Messages.ts"
import { sol } from "../../lanes/solana/World.ts"
import type { Reply } from "../wallet/fixtures.ts"
import { api, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

const tableProgram = "AddressLookupTab1e1111111111111111111111111"
const ed25519Program = "Ed25519SigVerify111111111111111111111111111"

/** The table names derived addresses by texts. Any address takes their place here: it is the relayer that matters. */
const accountOf = (named: string, relayer: string): string => {
  if (named === model) return relayer
  return Base58.decode(named) === undefined ? Base58.encode(createHash("sha256").update(named).digest()) : named
}

/** The instruction of the table with the address of a real relayer, as a prebuilt message has it. */
const built = ({ program, accounts, data }: Given, relayer: string): BuiltInstruction => ({
  program,
  accounts: accounts.map((one) => ({ address: accountOf(one, relayer), isWritable: true })),
  data: Uint8Array.from(data)
})

/** The same as an own instruction. */
const own = ({ program, accounts, data }: Given, relayer: string) => ({
  program_id: program,
  accounts: accounts.map((one) => ({
    pubkey: accountOf(one, relayer),
    is_signer: one === model,
    is_writable: true
  })),
  data: base64Of(Uint8Array.from(data))
})

const budget = (...data: ReadonlyArray<number>): BuiltInstruction => ({
  program: computeBudgetProgram,
  accounts: [],
  data: Uint8Array.from(data)
})

/** Claims signatures that it does not have. */
const claiming = (count: number): BuiltInstruction => ({
  program: ed25519Program,
  accounts: [],
  data: Uint8Array.of(count, 0)
})

const [memo] = memoOf("attack").map((one) => ({ ...one, data: Uint8Array.from(one.data) }))
const withMemo = (...instructions: ReadonlyArray<BuiltInstruction>) => [...instructions, ...(memo ? [memo] : [])]

const changed = (raw: string, change: (bytes: Uint8Array) => Iterable<number>): string =>
  base64Of(Uint8Array.from(change(bytesOf(raw))))

interface Attack {
  readonly name: string
  readonly code: string
  /** Base64. */
  readonly raw: (relayer: string, blockhash: string) => string
}

const ofInstructions = (
  name: string,
  code: string,
  instructions: (relayer: string) => ReadonlyArray<BuiltInstruction>
): Attack => ({
  name,
  code,
  raw: (relayer, blockhash) => prebuilt(relayer, blockhash, instructions(relayer))
})

/** 1 to 8, 11 to 21, 35: the relayer in an instruction. */
const inInstruction = [...Attacks.takingOver, ...Attacks.sending].map(([name, given]) =>
  ofInstructions(name, "fee_payer_in_instruction", (relayer) => [built(given, relayer)])
)

const advanceNonce = (authority: string): BuiltInstruction => ({
  program: systemProgram,
  accounts: [addressOf(50), addressOf(51), authority].map((address) => ({ address, isWritable: true })),
  data: Uint8Array.from(u32(4))
})

const good = (relayer: string, blockhash: string) => prebuilt(relayer, blockhash, withMemo())

/** Bytes of a transaction before its message: one signature. */
const beforeMessage = 65

const others: ReadonlyArray<Attack> = [
  // The rule about the relayer in an instruction and this one both hold.
  ofInstructions("9: AdvanceNonce by the relayer", "durable_nonce", (relayer) => withMemo(advanceNonce(relayer))),
  ofInstructions("10: AdvanceNonce by a user", "durable_nonce", () => withMemo(advanceNonce(addressOf(52)))),
  ofInstructions(
    "16: the relayer as read-only account of an associated account",
    "fee_payer_in_instruction",
    (relayer) => {
      const instruction = built(Attacks.sending[7]?.[1] ?? assert.fail("no attack"), relayer)
      return [{ ...instruction, accounts: instruction.accounts.map((one) => ({ ...one, isWritable: false })) }]
    }
  ),
  {
    name: "25: the relayer twice",
    code: "malformed",
    raw: (relayer, blockhash) =>
      changed(prebuilt(relayer, blockhash, [{ ...(memo ?? assert.fail()), program: addressOf(60) }]), (bytes) => {
        const key = Base58.decode(relayer) ?? []
        // The key behind the relayer's is the program's: signature, header of three bytes, count of keys.
        return [...bytes.slice(0, beforeMessage + 4 + 32), ...key, ...bytes.slice(beforeMessage + 4 + 64)]
      })
  },
  ofInstructions("26: a price of 2^40", "fee_above_cap", () => withMemo(budget(3, ...u64(2n ** 40n)))),
  ofInstructions("27: 200 claimed signatures", "fee_above_cap", () => withMemo(claiming(200))),
  ofInstructions("28: 50 entries of precompiles", "fee_above_cap", () => withMemo(claiming(50))),
  ofInstructions("29: two prices", "malformed", () => withMemo(budget(3, ...u64(1)), budget(3, ...u64(2)))),
  {
    name: "31: a signature that is missing",
    code: "signature_missing",
    raw: (relayer, blockhash) =>
      prebuilt(relayer, blockhash, [
        {
          program: memoProgram,
          accounts: [{ address: addressOf(3), isWritable: false, isSigner: true }],
          data: Uint8Array.of(104)
        }
      ])
  },
  {
    name: "34: a byte behind the message",
    code: "malformed",
    raw: (relayer, blockhash) => changed(good(relayer, blockhash), (bytes) => [...bytes, 0])
  },
  {
    name: "34: a length that is not canonical",
    code: "malformed",
    raw: (relayer, blockhash) => changed(good(relayer, blockhash), (bytes) => [0x81, 0x00, ...bytes.slice(1)])
  },
  {
    name: "34: version 1",
    code: "unsupported_version",
    raw: (relayer, blockhash) =>
      changed(good(relayer, blockhash), (bytes) => [
        ...bytes.slice(0, beforeMessage),
        0x81,
        ...bytes.slice(beforeMessage)
      ])
  }
]

const attacking = Effect.gen(function* () {
  const relayer = yield* relayerAt()
  const { post, send } = relayer
  const rpc = (method: string, transaction: string) =>
    Effect.map(post("/rpc", { method, params: { transaction } }), ({ text }) => {
      const { error }: Reply = JSON.parse(text)
      return { isRefused: error?.code === -32_602, text }
    })
  const refusal = Effect.map(({ status, text }: { readonly status: number; readonly text: string }) => ({
    isRefused: status === 400,
    text
  }))
  const ways = (transaction: string) => ({
    send: refusal(send({ transaction })),
    batch: refusal(post("/transactions/batch", { transactions: [{ transaction }] })),
    sign: refusal(post("/sign-transaction", { transaction })),
    "rpc signTransaction": rpc("signTransaction", transaction),
    "rpc signAndSendTransaction": rpc("signAndSendTransaction", transaction)
  })
  /** Nothing was stored or sent, and the relayer's account is as it was. */
  const isUntouched = Effect.gen(function* () {
    const { json } = yield* relayer.call(relayer.path)
    assert.deepStrictEqual(json.data, [])
    assert.strictEqual(relayer.cluster.sent.size, 0)
    const account = relayer.cluster.accountOf(relayer.address)
    assert.deepStrictEqual([account?.lamports, account?.owner, account?.data.length], [10n * sol, systemProgram, 0])
  })
  return { ...relayer, ways, isUntouched }
})

layer(api, { excludeTestServices: true })("attacks on the fee payer", (it) => {
  it.effect("in prebuilt messages are refused by every way in, and leave nothing behind", () =>
    Effect.gen(function* () {
      const { address, cluster, isUntouched, ways } = yield* attacking
      for (const { name, code, raw } of [...inInstruction, ...others]) {
        for (const [way, answer] of Object.entries(ways(raw(address, recent(cluster))))) {
          const { isRefused, text } = yield* answer
          assert.isTrue(isRefused, `${name}, ${way}: ${text}`)
          assert.include(text, code, `${name}, ${way}`)
        }
      }
      yield* isUntouched
    })
  )

  it.effect("in own instructions are refused unless they have the shape of a spending (O1 to O9)", () =>
    Effect.gen(function* () {
      const { address, isUntouched, post, send } = yield* attacking
      for (const [name, given] of Attacks.takingOver) {
        const body = { instructions: [own(given, address)] }
        for (const answer of [send(body), post("/transactions/batch", { transactions: [body] })]) {
          const { status, text } = yield* answer
          assert.strictEqual(status, 400, `${name}: ${text}`)
          assert.include(text, "fee_payer_in_instruction", name)
        }
      }
      yield* isUntouched
    })
  )

  it.effect("22, 23: through lookup tables are refused when the tables are read, before a signature", () =>
    Effect.gen(function* () {
      const { address, becomes, call, cluster, post, relayer, send } = yield* attacking
      const table = addressOf(70)
      const put = (addresses: ReadonlyArray<string>) => {
        const header = [...u32(1), ...u64(2n ** 64n - 1n), ...new Uint8Array(44)]
        const data = Uint8Array.from([...header, ...addresses.flatMap((one) => [...(Base58.decode(one) ?? [])])])
        cluster.put({ [table]: { lamports: sol, owner: tableProgram, data } })
        cluster.produce(2)
      }
      /** A memo that lists the entry with an index of the table. */
      const loading = (index: number) => {
        const message = Wire.build({ payer: address, instructions: memoOf(`${index}`), blockhash: recent(cluster) })
        const { keys, instructions } = message
        const changed = {
          ...message,
          version: 0 as const,
          instructions: instructions.map((one) => ({ ...one, accounts: [keys.length] })),
          tables: [{ table, writable: [index], readonly: [] }]
        }
        return base64Of(Wire.transactionBytes([undefined], Wire.messageBytes(changed)))
      }
      const ends = Effect.fnUntraced(function* (transaction: string, code: string) {
        const signed = yield* post("/sign-transaction", { transaction })
        assert.strictEqual(signed.status, 400, signed.text)
        assert.include(signed.text, code)
        const { id } = dataOf(yield* send({ transaction }))
        const failed = yield* becomes(id, "failed")
        assert.strictEqual(failed.code, code)
        assert.isUndefined(failed.signature)
      })
      put([address])
      yield* ends(loading(0), "fee_payer_in_lookup_table")
      put([addressOf(3)])
      yield* ends(loading(5), "lookup_table_unresolved")
      // 24: an account that the policy forbids, hidden in a table.
      yield* call(relayer, { method: "PATCH", body: { policies: { disallowed_accounts: [addressOf(3)] } } })
      yield* ends(loading(0), "account_disallowed")
    })
  )
})
