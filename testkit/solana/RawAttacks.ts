// Prebuilt transactions and own instructions that would take something from a relayer if it signed them without rules.
// `docs/security/solana.md` has the numbers of the attacks.
import { createHash } from "node:crypto"
import type { Message, MessageConfig } from "../../src/networks/solana/rules/Message.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../src/networks/solana/rules/Programs.ts"
import { base64Of, bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { maxLoadedBytes } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { decodeBase58, encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import type { BuiltInstruction } from "../../src/networks/solana/rules/Wire.ts"
import * as Attacks from "./Attacks.ts"
import { address as addressOf, relayer as model, u32, u64 } from "./Messages.ts"
import type { Given } from "./Messages.ts"

const ed25519Program = "Ed25519SigVerify111111111111111111111111111"

/** `Attacks` names derived addresses by texts. Here a hash of the text replaces each: only the relayer's address matters. */
const accountOf = (named: string, relayer: string): string => {
  if (named === model) return relayer
  return decodeBase58(named) === undefined ? encodeBase58(createHash("sha256").update(named).digest()) : named
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

/** The legacy form stands for version 0 as well: both are read and guarded by the same code. */
export const versions = ["legacy", 1] as const
export type Version = (typeof versions)[number]

/** What version 1 asks for. The others say nothing, and get enough. */
const configOf = (version: Version): MessageConfig | undefined =>
  version === 1 ? { computeUnitLimit: 100_000, loadedBytes: maxLoadedBytes } : undefined

const unsigned = (message: Message): string => {
  const slots = Array.from({ length: message.signers }, () => undefined)
  return base64Of(Wire.transactionBytes(slots, Wire.messageBytes(message)))
}

/** A prebuilt transaction, without signatures. */
export const prebuilt = (
  payer: string,
  blockhash: string,
  instructions: ReadonlyArray<BuiltInstruction>,
  version: Version = "legacy"
): string => unsigned(Wire.buildMessage({ payer, instructions, blockhash, config: configOf(version) }))

const memo: BuiltInstruction = { program: memoProgram, accounts: [], data: Uint8Array.from(Buffer.from("attack")) }

const withMemo = (...instructions: ReadonlyArray<BuiltInstruction>) => [...instructions, memo]

interface Attack {
  readonly name: string
  readonly code: string
  /** Base64. */
  readonly raw: (relayer: string, blockhash: string) => string
}

/** The numbers that stand before the name of an attack. */
export const numbersOf = (name: string): ReadonlyArray<string> =>
  name.includes(":") ? name.slice(0, name.indexOf(":")).split(", ") : []

const advanceNonce = (authority: string): BuiltInstruction => ({
  program: systemProgram,
  accounts: [addressOf(50), addressOf(51), authority].map((address) => ({ address, isWritable: true })),
  data: Uint8Array.from(u32(4))
})

/** Attacks that every version knows. */
const common = (version: Version): ReadonlyArray<Attack> => {
  const ofInstructions = (
    name: string,
    code: string,
    instructions: (relayer: string) => ReadonlyArray<BuiltInstruction>
  ): Attack => ({
    name,
    code,
    raw: (relayer, blockhash) => prebuilt(relayer, blockhash, instructions(relayer), version)
  })
  return [
    /** The relayer in an instruction. */
    ...[...Attacks.takingOver, ...Attacks.sending].map(([name, given]) =>
      ofInstructions(name, "fee_payer_in_instruction", (relayer) => [built(given, relayer)])
    ),
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
      raw: (relayer, blockhash) => {
        const instructions = [{ ...memo, program: addressOf(60) }]
        const message = Wire.buildMessage({ payer: relayer, instructions, blockhash, config: configOf(version) })
        return unsigned({ ...message, keys: message.keys.map(() => relayer) })
      }
    },
    ofInstructions("27: 200 claimed signatures", "fee_above_cap", () => withMemo(claiming(200))),
    ofInstructions("28: 50 entries of precompiles", "fee_above_cap", () => withMemo(claiming(50))),
    {
      name: "31: a signature that is missing",
      code: "signature_missing",
      raw: (relayer, blockhash) =>
        prebuilt(
          relayer,
          blockhash,
          [
            {
              program: memoProgram,
              accounts: [{ address: addressOf(3), isWritable: false, isSigner: true }],
              data: Uint8Array.of(104)
            }
          ],
          version
        )
    },
    changing(version, "34: a byte behind the transaction", (bytes) => [...bytes, 0])
  ]
}

const changing = (
  version: Version,
  name: string,
  change: (bytes: Uint8Array) => Iterable<number>,
  code = "malformed"
): Attack => ({
  name,
  code,
  raw: (relayer, blockhash) =>
    base64Of(Uint8Array.from(change(bytesOf(prebuilt(relayer, blockhash, withMemo(), version)))))
})

/** Bytes of a transaction before its message: one signature. */
const beforeMessage = 65

/** Bytes before the count of the keys: the header follows the signature. */
const beforeKeys = beforeMessage + 3

const inserted = (bytes: Uint8Array, at: number, ...more: ReadonlyArray<number>) => [
  ...bytes.slice(0, at),
  ...more,
  ...bytes.slice(at)
]

const ofLegacy: ReadonlyArray<Attack> = [
  {
    name: "26: a price of 2^40",
    code: "fee_above_cap",
    raw: (relayer, blockhash) => prebuilt(relayer, blockhash, withMemo(budget(3, ...u64(2n ** 40n))))
  },
  {
    name: "29: two prices",
    code: "malformed",
    raw: (relayer, blockhash) => prebuilt(relayer, blockhash, withMemo(budget(3, ...u64(1)), budget(3, ...u64(2))))
  },
  changing("legacy", "34: a length that is not canonical", (bytes) => [
    ...bytes.slice(0, beforeKeys),
    0x80 | (bytes[beforeKeys] ?? 0),
    0,
    ...bytes.slice(beforeKeys + 1)
  ]),
  changing("legacy", "34: version 1 behind its signatures", (bytes) => inserted(bytes, beforeMessage, 0x81)),
  changing("legacy", "34: version 2", (bytes) => inserted(bytes, beforeMessage, 0x82), "unsupported_version")
]

/** Place of the lowest byte of the mask in a message of version 1: behind the version and the header. */
const maskAt = 4

const masked = (name: string, mask: number): Attack =>
  changing(1, name, (bytes) => bytes.map((byte, index) => (index === maskAt ? mask : byte)))

const configured = (name: string, code: string, config: MessageConfig): Attack => ({
  name,
  code,
  raw: (payer, blockhash) =>
    unsigned(Wire.buildMessage({ payer, instructions: withMemo(), blockhash, config: { ...configOf(1), ...config } }))
})

/** There are no lookup tables in version 1, so an index of what one would load is out of range. */
const ofVersion1: ReadonlyArray<Attack> = [
  {
    name: "22, 23, 24: an account behind the keys",
    code: "malformed",
    raw: (relayer, blockhash) => {
      const message = Wire.buildMessage({ payer: relayer, instructions: withMemo(), blockhash, config: configOf(1) })
      const loading = message.instructions.map((one) => ({ ...one, accounts: [message.keys.length] }))
      return unsigned({ ...message, instructions: loading })
    }
  },
  configured("26: a fee of 2^40", "fee_above_cap", { priorityFee: 2n ** 40n }),
  // The limit of units would be read as the other half of the fee.
  masked("29: one half of a fee", 0b1101),
  masked("34: a value that is not known", 0b101100),
  configured("34: a heap that is no multiple of 1024", "malformed", { heapBytes: 40_000 }),
  changing(1, "34: version 1 behind its signatures", (bytes) => {
    const message = bytes.slice(0, -64)
    return [1, ...new Uint8Array(64), ...message]
  }),
  changing(1, "34: version 2", (bytes) => [0x82, ...bytes.slice(1)], "unsupported_version"),
  changing(1, "34: version 0 in front of its signatures", (bytes) => [0x80, ...bytes.slice(1)])
]

export const attacksIn = (version: Version): ReadonlyArray<Attack> => [
  ...common(version),
  ...(version === 1 ? ofVersion1 : ofLegacy)
]

/** Bodies of requests with own instructions that no shape of a spending allows (O1 to O9). */
export const ownAttacks = (relayer: string, version: Version = "legacy") =>
  Attacks.takingOver.map(([, given]) => ({
    instructions: [own(given, relayer)],
    ...(version === 1 ? { version } : {})
  }))
