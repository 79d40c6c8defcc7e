// Agave's virtual machine, in the native package of litesvm: `tools/svm` installs it. It ends the process if it gets bytes that it
// cannot decode, so only bytes that the strict reader accepts are given to it.
import { Predicate, Result } from "effect"
import { createRequire } from "node:module"
import type { Message } from "../../src/networks/solana/rules/Message.ts"
import { decodeTransaction } from "../../src/networks/solana/rules/Wire.ts"
import * as Bank from "./Bank.ts"

interface Meta {
  computeUnitsConsumed(): bigint
  logs(): ReadonlyArray<string>
}

/** Of a transaction that failed, it has `err` and `meta`; of one that succeeded, it is the meta itself. */
type Outcome = Meta | { err(): unknown; meta(): Meta }

interface NativeAccount {
  owner(): Uint8Array
  data(): Uint8Array
  lamports(): bigint
  executable(): boolean
}

type MakeAccount = new (
  lamports: bigint,
  data: Uint8Array,
  owner: Uint8Array,
  executable: boolean,
  rentEpoch: bigint
) => NativeAccount

interface Native {
  setBuiltins(): void
  setLamports(lamports: bigint): void
  setSysvars(): void
  setPrecompiles(): void
  setDefaultPrograms(): void
  setSigverify(isChecked: boolean): void
  setBlockhashCheck(isChecked: boolean): void
  setTransactionHistory(entries: bigint): void
  airdrop(address: Uint8Array, lamports: bigint): unknown
  getBalance(address: Uint8Array): bigint
  getAccount(address: Uint8Array): NativeAccount | null
  setAccount(address: Uint8Array, account: NativeAccount): void
  latestBlockhash(): string
  expireBlockhash(): void
  sendLegacyTransaction(raw: Uint8Array): Outcome
  sendVersionedTransaction(raw: Uint8Array): Outcome
}

/** Lamports of the account that airdrops come from. */
const supply = 1_000_000_000_000_000n

/** Undefined: this platform has no package. */
export const packageName = ["linux-x64", "linux-arm64"].includes(`${process.platform}-${process.arch}`)
  ? `litesvm-${process.platform}-${process.arch}-gnu`
  : process.platform === "darwin"
    ? `litesvm-darwin-${process.arch}`
    : undefined

const require = createRequire(new URL("../../tools/svm/package.json", import.meta.url))

/** Undefined: the package is not installed. */
export const installed = (): string | undefined => {
  if (packageName === undefined) return undefined
  try {
    require.resolve(packageName)
    return packageName
  } catch {
    return undefined
  }
}

/** Whether the machine executes version 1: 1.4.1, the newest package for other platforms, ends the process. */
export const executesVersion1 = (name: string): boolean => {
  const { version }: { readonly version: string } = require(`${name}/package.json`)
  return !version.startsWith("1.4.")
}

/** The error of an instruction. Numbers that the machine gives stand for errors of the runtime, without their names. */
const instructionError = (error: unknown): unknown => {
  if (Predicate.hasProperty(error, "code") && typeof error.code === "number") return { Custom: error.code }
  return typeof error === "number" ? `InstructionError${error}` : String(error)
}

const chainError = (error: unknown): Bank.ChainError => {
  if (Predicate.hasProperty(error, "index") && typeof error.index === "number" && Predicate.hasProperty(error, "err")) {
    const inner = typeof error.err === "function" ? error.err() : error.err
    return { InstructionError: [error.index, instructionError(inner)] }
  }
  // Such as `TransactionErrorInsufficientFundsForRent { account_index: 1 }`.
  const index = /^TransactionErrorInsufficientFundsForRent \{ account_index: (\d+)/.exec(String(error))?.[1]
  if (index !== undefined) return Bank.rentError(Number(index))
  return /^TransactionError(\w+)/.exec(String(error))?.[1] ?? String(error)
}

const isFailed = (outcome: Outcome): outcome is Extract<Outcome, { err(): unknown }> => "err" in outcome

interface Options {
  /** Whether signatures, blockhashes and repetitions are left to the caller. */
  readonly isTrusting?: boolean
}

export const make = (name: string, { isTrusting = false }: Options = {}) => {
  const { Account, LiteSvm }: { readonly Account: MakeAccount; readonly LiteSvm: new () => Native } = require(name)
  const native = new LiteSvm()
  native.setBuiltins()
  native.setLamports(supply)
  native.setSysvars()
  native.setPrecompiles()
  native.setDefaultPrograms()
  native.setSigverify(!isTrusting)
  native.setBlockhashCheck(!isTrusting)
  native.setTransactionHistory(isTrusting ? 1n : 1_000_000n)

  const sent = (raw: Uint8Array, version: Message["version"]): Outcome =>
    version === "legacy" ? native.sendLegacyTransaction(raw) : native.sendVersionedTransaction(raw)

  return {
    put: (address: Uint8Array, { lamports, owner, data }: { lamports: bigint; owner: Uint8Array; data: Uint8Array }) =>
      native.setAccount(address, new Account(lamports, data, owner, false, 0n)),
    /** Undefined: there is no such account. */
    accountOf: (address: Uint8Array) => {
      const account = native.getAccount(address)
      return account === null
        ? undefined
        : {
            lamports: account.lamports(),
            owner: account.owner(),
            data: account.data(),
            isExecutable: account.executable()
          }
    },
    /** Bytes that the strict reader has accepted. */
    execute: (raw: Uint8Array, version: Message["version"]) => {
      const outcome = sent(raw, version)
      const meta = isFailed(outcome) ? outcome.meta() : outcome
      return {
        error: isFailed(outcome) ? chainError(outcome.err()) : null,
        units: Number(meta.computeUnitsConsumed()),
        logs: meta.logs()
      }
    },
    fund: (address: Uint8Array, lamports: bigint) => void native.airdrop(address, lamports),
    balanceOf: (address: Uint8Array) => native.getBalance(address),
    isPlain: (address: Uint8Array): boolean => {
      const account = native.getAccount(address)
      return account !== null && account.owner().every((byte) => byte === 0) && account.data().length === 0
    },
    blockhash: () => native.latestBlockhash(),
    /** Every blockhash of before dies. */
    expire: () => native.expireBlockhash(),
    /** Whether it was executed with success. Undefined: the machine does not take the bytes. */
    send: (raw: Uint8Array): boolean | undefined => {
      const decoded = decodeTransaction(raw)
      if (Result.isFailure(decoded)) return undefined
      return !isFailed(sent(raw, decoded.success.message.version))
    }
  }
}
