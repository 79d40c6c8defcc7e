// Messages as plain data for tests of the rules, compiled from instructions as clients do it.
import { getAddressDecoder } from "@solana/addresses"
import type { Form, Guarded, GuardTerms, ReadAccounts } from "../../src/networks/solana/rules/Guard.ts"
import type { Message, WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import type { AccountState, Derivations } from "../../src/networks/solana/rules/Programs.ts"

const decoder = getAddressDecoder()

export const bytesOf = (number: number): ReadonlyArray<number> => Array.from({ length: 32 }, () => number)

/** The address with 32 equal bytes. */
export const address = (number: number): string => decoder.decode(Uint8Array.from(bytesOf(number)))

export const relayer = address(1)
export const user = address(2)
export const other = address(3)

/** Derived addresses in a form that tests can read. */
export const derivations: Derivations = {
  encode: (key) => decoder.decode(key),
  withSeed: (base, seed, owner) => `seed ${base} ${Buffer.from(seed).toString()} ${owner}`,
  associated: (wallet, mint, program) => `account ${wallet} ${mint} ${program}`
}

export const u32 = (value: number): ReadonlyArray<number> => [...new Uint8Array(Uint32Array.of(value).buffer)]
export const u64 = (value: bigint | number): ReadonlyArray<number> => [
  ...new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)
]

export interface Given {
  readonly program: string
  readonly accounts: ReadonlyArray<string>
  readonly data: ReadonlyArray<number>
}

/** The relayer pays, and `signers` sign besides it. */
export const compiled = (instructions: ReadonlyArray<Given>, signers: ReadonlyArray<string> = []): Message => {
  const keys = [
    ...new Set([relayer, ...signers, ...instructions.flatMap(({ accounts, program }) => [...accounts, program])])
  ]
  return {
    version: "legacy",
    signers: 1 + signers.length,
    readonlySigners: 0,
    readonlyOthers: 0,
    keys,
    blockhash: address(9),
    instructions: instructions.map(({ program, accounts, data }) => ({
      program: keys.indexOf(program),
      accounts: accounts.map((account) => keys.indexOf(account)),
      data: Uint8Array.from(data)
    })),
    tables: []
  }
}

export const wire = (message: Message): WireTransaction => ({
  message,
  messageBytes: new Uint8Array(200),
  signatures: Array.from({ length: message.signers }, () => undefined),
  size: 300
})

const terms: GuardTerms = {
  relayer,
  maxFee: 1_000_000n,
  authority: "own_instructions",
  authorityPrograms: [],
  feeMints: []
}

export const guarded = (
  message: Message,
  form: Form = "prebuilt",
  changed: Partial<GuardTerms> = {},
  read?: ReadAccounts
): Guarded => ({
  transaction: wire(message),
  form,
  terms: { ...terms, ...changed },
  derivations,
  ...(read === undefined ? {} : { read })
})

export const reading = (accounts: Readonly<Record<string, AccountState>>): ReadAccounts => ({
  tables: new Map(),
  accounts: new Map(Object.entries(accounts))
})
