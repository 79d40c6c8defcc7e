// Prebuilt transactions and own instructions that would take something from a relayer if it signed them without rules.
// `docs/security/solana.md` has the numbers of the attacks.
import { createHash } from "node:crypto"
import * as Base58 from "../../src/domain/transaction/solana/Base58.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../src/domain/transaction/solana/Programs.ts"
import { base64Of, bytesOf } from "../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import * as Wire from "../../src/domain/transaction/solana/WireEncoding.ts"
import type { BuiltInstruction } from "../../src/domain/transaction/solana/WireEncoding.ts"
import * as Attacks from "./Attacks.ts"
import { address as addressOf, relayer as model, u32, u64 } from "./Messages.ts"
import type { Given } from "./Messages.ts"

const ed25519Program = "Ed25519SigVerify111111111111111111111111111"

/** `Attacks` names derived addresses by texts. Here a hash of the text replaces each: only the relayer's address matters. */
const accountOf = (named: string, relayer: string): string => {
  if (named === model) return relayer
  return Base58.decode(named) === undefined ? Base58.encode(createHash("sha256").update(named).digest()) : named
}

/** An instruction of `Attacks` with the address of a real relayer, for a prebuilt message. */
export const built = ({ program, accounts, data }: Given, relayer: string): BuiltInstruction => ({
  program,
  accounts: accounts.map((one) => ({ address: accountOf(one, relayer), isWritable: true })),
  data: Uint8Array.from(data)
})

/** The same instruction, for a request with own instructions. */
export const own = ({ program, accounts, data }: Given, relayer: string) => ({
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

/** A precompile instruction whose data claims `count` signatures, and has none. */
const claiming = (count: number): BuiltInstruction => ({
  program: ed25519Program,
  accounts: [],
  data: Uint8Array.of(count, 0)
})

/** A prebuilt transaction, without signatures. */
export const prebuilt = (payer: string, blockhash: string, instructions: ReadonlyArray<BuiltInstruction>): string => {
  const message = Wire.build({ payer, instructions, blockhash })
  const slots = Array.from({ length: message.signers }, () => undefined)
  return base64Of(Wire.transactionBytes(slots, Wire.messageBytes(message)))
}

const memo: BuiltInstruction = { program: memoProgram, accounts: [], data: Uint8Array.from(Buffer.from("attack")) }

const withMemo = (...instructions: ReadonlyArray<BuiltInstruction>) => [...instructions, memo]

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

/** The numbers that stand before the name of an attack. */
export const numbersOf = (name: string): ReadonlyArray<string> =>
  name.includes(":") ? name.slice(0, name.indexOf(":")).split(", ") : []

/** The relayer in an instruction. */
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
  // Two rules forbid this one; the guard reports `durable_nonce`.
  ofInstructions("9: AdvanceNonce by the relayer", "durable_nonce", (relayer) => withMemo(advanceNonce(relayer))),
  ofInstructions("10: AdvanceNonce by a user", "durable_nonce", () => withMemo(advanceNonce(addressOf(52)))),
  ofInstructions(
    "16: the relayer as read-only account of an associated account",
    "fee_payer_in_instruction",
    (relayer) => {
      const instruction = built(Attacks.createAssociated(), relayer)
      return [{ ...instruction, accounts: instruction.accounts.map((one) => ({ ...one, isWritable: false })) }]
    }
  ),
  {
    name: "25: the relayer twice",
    code: "malformed",
    raw: (relayer, blockhash) =>
      changed(prebuilt(relayer, blockhash, [{ ...memo, program: addressOf(60) }]), (bytes) => {
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

export const attacks: ReadonlyArray<Attack> = [...inInstruction, ...others]

/** Bodies of requests with own instructions that no shape of a spending allows (O1 to O9). */
export const ownAttacks = (relayer: string) =>
  Attacks.takingOver.map(([, given]) => ({ instructions: [own(given, relayer)] }))
